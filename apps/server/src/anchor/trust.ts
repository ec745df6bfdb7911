/** The trust documents the server publishes, made from its own keys. FORMATS §7. */
import { encodeBase64 } from "@runseal/canonical"
import { parseOrigin } from "@runseal/core/transparency-log/checkpoint"
import { formatVkey } from "@runseal/core/transparency-log/signed-note"
import type { TrustDocument } from "@runseal/core/transparency-log/trust-document"
import { parseTrust, TRUST_DOCUMENT_KIND } from "@runseal/core/transparency-log/trust-document"
import type { LogKey, TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { P256_KEY_DETAILS } from "@runseal/core/transparency-log/trusted-keys"
import { formatTrustedRoot } from "@runseal/core/transparency-log/trusted-root"
import type { LogIdentity } from "./embedded-log.ts"
import type { EcdsaKey, SigningKeys } from "./keys.ts"
import { checkpointNoteKey, spkiBase64 } from "./keys.ts"

/** A log key as trusted roots list it. The base URL holds the checkpoint name, as sigstore-js wants it. */
const logKey = (key: EcdsaKey, origin: string, validFrom: number): LogKey => ({
  logId: encodeBase64(key.id),
  spki: key.spki,
  keyDetails: P256_KEY_DETAILS,
  baseUrl: `https://${parseOrigin(origin)?.host ?? origin}`,
  validFrom,
})

const secondsText = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`

/**
 * Our trust document.
 * @param genesisAt Unix seconds from which the keys count: the log's birth.
 */
export function trustDocument(keys: SigningKeys, origin: string, service: string, genesisAt: number): TrustDocument {
  const host = parseOrigin(origin)?.host ?? origin
  const validFrom = secondsText(genesisAt)
  return {
    kind: TRUST_DOCUMENT_KIND,
    service,
    trusted_root: formatTrustedRoot([logKey(keys.log, origin, genesisAt)]),
    origin,
    service_keys: [{ key_id: keys.service.keyId, spki: spkiBase64(keys.service), valid_from: validFrom }],
    checkpoint_keys: [formatVkey(checkpointNoteKey(keys, host))],
    leaf_v7_from: validFrom,
  }
}

/** The keys of a trust document of ours, as its verifier reads them. */
export function trustedKeysOf(document: TrustDocument): TrustedKeys {
  const parsed = parseTrust(document)
  if ("problem" in parsed) throw new Error(`our own trust document is refused: ${parsed.problem}`)
  return parsed
}

/** Trust for a scratch log that nobody else will ever see. */
export const scratchTrust = ({ keys, origin }: LogIdentity, validFrom: number): TrustedKeys => ({
  service: "rehearsal",
  origin,
  serviceKeys: [{ keyId: keys.service.keyId, spki: keys.service.spki, validFrom }],
  logKeys: [logKey(keys.log, origin, validFrom)],
  checkpointKeys: [],
  rekor: false,
})
