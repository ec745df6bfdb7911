/** The keys of a trust document as rows for a reader. */
import { encodeHex, sha256 } from "@runseal/canonical"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import type { Validity } from "@runseal/log/keys/validity"
import type { LogKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { unixTime } from "../vocabulary/utc-time.ts"

/** Path under which every Runseal service publishes its trust document. */
export const TRUST_PATH = "/.well-known/runseal-trust.json"

/** Maximum bytes of a trust document: more than one with every list at its bound. */
export const MAX_TRUST_BYTES = 1_048_576

type TrustRow = {
  readonly label: string
  readonly value: string
  /** Its validity. */
  readonly detail?: string
}

/**
 * Service, log and the fingerprints of all keys. A fingerprint is the SHA-256 of a key's SubjectPublicKeyInfo; of a timestamp
 * authority that of its own certificate.
 */
export function trustRows(keys: TrustedKeys): readonly TrustRow[] {
  return [
    { label: "service", value: keys.service },
    { label: "log", value: keys.origin },
    ...keys.serviceKeys.map(key => {
      const revoked = key.revokedFrom === undefined ? "" : `, revoked from ${unixTime(key.revokedFrom)}`
      return { label: "service key", value: key.keyId, detail: validity(key) + revoked }
    }),
    ...keys.logKeys.map(key => logRow("log key", key)),
    ...(keys.outside ?? []).flatMap(({ logKeys }) => logKeys.map(key => logRow("outside log", key))),
    ...(keys.timestampAuthorities ?? []).map(authority => ({
      label: "timestamps",
      value: encodeHex(sha256(authority.certificates[0] ?? new Uint8Array())),
      detail: `${validity(authority)}, ${authority.uri}`,
    })),
    ...keys.checkpointKeys.map(key => ({
      label: "checkpoint",
      value: `${key.name}+${key.keyId} (${key.algorithm})`,
    })),
    ...(keys.leafV7From === undefined ? [] : [{ label: "leaf v7 only", value: `from ${unixTime(keys.leafV7From)}` }]),
  ]
}

const logRow = (label: string, key: LogKey): TrustRow => ({
  label,
  value: encodeHex(keyIdOfSpki(key.spki)),
  detail: `${validity(key)}, ${key.baseUrl}`,
})

const validity = ({ validFrom, validTo }: Validity): string =>
  `valid from ${unixTime(validFrom)}${validTo === undefined ? "" : ` to ${unixTime(validTo)}`}`
