import type { JsonObject } from "@runseal/canonical"
import type { LogKey, ServiceKey, TrustedKeys } from "./trusted-keys.ts"
import { parseTrustedRoot } from "./trusted-root.ts"

/**
 * The key of the public log rekor.sigstore.dev, transcribed from Sigstore's public-good trusted_root.json (the `tlogs`
 * entry with this baseUrl), which Sigstore distributes through its TUF repository.
 */
export const PUBLIC_REKOR_ROOT: JsonObject = {
  mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
  tlogs: [
    {
      baseUrl: "https://rekor.sigstore.dev",
      hashAlgorithm: "SHA2_256",
      publicKey: {
        rawBytes:
          "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2G2Y+2tabdTV5BcGiBIx0a9fAFwrkBbmLSGtks4L3qX6yYY0zufBnhC8Ur/iy55GhWP/9A/bY2LhC30M9+RYtw==",
        keyDetails: "PKIX_ECDSA_P256_SHA_256",
        validFor: { start: "2021-01-12T11:53:27Z" },
      },
      logId: { keyId: "wNI9atQGlz+VWfO6LRygH4QUfY/8W4RFwiT5i5WRgB0=" },
    },
  ],
  certificateAuthorities: [],
  ctlogs: [],
  timestampAuthorities: [],
}

/** The shard public Rekor writes to; entries of earlier shards name another tree of the same host and key. */
export const PUBLIC_REKOR_ORIGIN = "rekor.sigstore.dev - 1193050959916656506"

const PUBLIC_REKOR_LOG_ID = "wNI9atQGlz+VWfO6LRygH4QUfY/8W4RFwiT5i5WRgB0="

/** An origin of a Rekor log of which only the host is known. */
export const originOfAnyTree = (host: string): string => `${host} - 0`

/** Whether a log key is public Rekor's: its log id is the hash of the key, so equal ids are equal keys. */
export function isPublicRekor(key: Pick<LogKey, "logId">): boolean {
  return key.logId === PUBLIC_REKOR_LOG_ID
}

/** Trust in public Rekor for the log and in these keys for the service; without service keys no entry passes `entry.body_key`. */
export function publicRekorTrust(service: string, serviceKeys: readonly ServiceKey[]): TrustedKeys {
  const logKeys = parseTrustedRoot(PUBLIC_REKOR_ROOT)
  if ("problem" in logKeys) throw new Error(logKeys.problem)
  return { service, origin: PUBLIC_REKOR_ORIGIN, serviceKeys, logKeys, checkpointKeys: [], rekor: true }
}

/** The public log's key is known to everyone; it vouches for no service key. */
export const PUBLIC_REKOR: TrustedKeys = publicRekorTrust("the public Rekor log", [])
