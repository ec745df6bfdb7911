/** The trust documents the server publishes, made from its own keys. docs/formats.md section 15. */
import { encodeBase64 } from "@runseal/canonical"
import type { KeyRole } from "@runseal/core/vocabulary/key-roles"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import { formatUtcSeconds } from "@runseal/log/keys/validity"
import { parseOrigin } from "@runseal/log/notes/checkpoint"
import { formatVkey } from "@runseal/log/notes/signed-note"
import type { TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import { parseTrust, TRUST_DOCUMENT_KIND } from "@runseal/log/trust/trust-document"
import type { LogKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { P256_KEY_DETAILS } from "@runseal/log/trust/trusted-keys"
import { formatTrustedRoot } from "@runseal/log/trust/trusted-root"
import type { SigningKeyRow } from "../store/tables/signing-keys.ts"
import { checkpointNoteKey } from "./ecdsa-keys.ts"
import type { LogIdentity } from "./embedded-log.ts"

/** A log key as trusted roots list it. The base URL holds the checkpoint name, as sigstore-js wants it. */
const logKey = (spki: Uint8Array, origin: string, validFrom: number, validTo?: number): LogKey => ({
  logId: encodeBase64(keyIdOfSpki(spki)),
  spki,
  keyDetails: P256_KEY_DETAILS,
  baseUrl: `https://${parseOrigin(origin)?.host ?? origin}`,
  validFrom,
  ...(validTo === undefined ? {} : { validTo }),
})

/** The facts about a deployment that every verifier of its documents needs. */
export type Published = {
  readonly origin: string
  /** Unix seconds of the log's birth. */
  readonly genesisAt: number
  /** All keys that the log has or had, oldest first. */
  readonly signingKeys: readonly SigningKeyRow[]
}

/** Keys of others, which a trust document lists beside the deployment's own. */
type Listed = {
  /** Keys of the logs that also hold its entries. */
  readonly keys: readonly LogKey[]
  /** Timestamp authorities for entries in logs that sign no time. */
  readonly authorities: readonly TimestampAuthority[]
}

/**
 * Our trust document.
 * @param service the name printed beside verdicts
 */
export function trustDocument(
  { origin, genesisAt, signingKeys }: Published,
  service: string,
  { keys, authorities }: Listed = { keys: [], authorities: [] },
): TrustDocument {
  const of = (wanted: KeyRole): readonly SigningKeyRow[] => signingKeys.filter(({ role }) => role === wanted)
  const own = of("log").map(key => logKey(key.spki, origin, key.valid_from, lastSecondOf(key)))
  return {
    kind: TRUST_DOCUMENT_KIND,
    service,
    trusted_root: formatTrustedRoot([...own, ...keys], authorities),
    origin,
    service_keys: of("service").map(key => ({
      key_id: key.key_id,
      spki: encodeBase64(key.spki),
      valid_from: formatUtcSeconds(key.valid_from),
      ...(key.valid_to === 0 ? {} : { valid_to: formatUtcSeconds(key.valid_to) }),
      ...(key.revoked_from === 0 ? {} : { revoked_from: formatUtcSeconds(key.revoked_from) }),
    })),
    // A checkpoint holds no time with which a revocation could be compared, so a revoked checkpoint key is not listed at all.
    checkpoint_keys: of("checkpoint")
      .filter(({ revoked_from }) => revoked_from === 0)
      .map(({ spki }) => formatVkey(checkpointNoteKey(spki, origin))),
    leaf_v7_from: formatUtcSeconds(genesisAt),
  }
}

/** A trusted root has no field for a revocation, so a revoked log key is listed as one that ended before. Undefined for the key in force. */
function lastSecondOf({ valid_to, revoked_from }: SigningKeyRow): number | undefined {
  if (revoked_from !== 0) return revoked_from - 1
  return valid_to === 0 ? undefined : valid_to
}

/** The keys of a trust document of ours, as its verifier reads them. */
export function trustedKeysOf(document: TrustDocument): TrustedKeys {
  const parsed = parseTrust(document)
  if ("problem" in parsed) throw new Error(`our own trust document is refused: ${parsed.problem}`)
  return parsed
}

/** Trust for the scratch log of a rehearsal, which is never published. */
export const scratchTrust = ({ keys, origin }: LogIdentity, validFrom: number): TrustedKeys => ({
  service: "rehearsal",
  origin,
  serviceKeys: [{ keyId: keys.service.keyId, spki: keys.service.spki, validFrom }],
  logKeys: [logKey(keys.log.spki, origin, validFrom)],
  checkpointKeys: [],
  rekor: false,
})
