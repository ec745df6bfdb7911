/** What the verifier says about trust: whom a document names, what pinning means, how to do it. */
import { encodeHex } from "@runseal/canonical"
import { keyIdOfSpki } from "@runseal/core/transparency-log/spki"
import type { TrustedKeys, Validity } from "@runseal/core/transparency-log/trusted-keys"
import type { Line, Span } from "./print.ts"
import { unixTime } from "./unix-time.ts"

/** Where every Runseal service publishes its trust document. */
export const TRUST_PATH = "/.well-known/runseal-trust.json"

const LABEL_WIDTH = 13
const row = (label: string, ...value: readonly Span[]): Line => [`  ${label.padEnd(LABEL_WIDTH)}`, ...value]
const strong = (text: string): Span => ({ text, tone: "strong" })

/** Service, log and the fingerprints of all keys. A fingerprint is the SHA-256 of a key's SubjectPublicKeyInfo. */
export function trustLines(keys: TrustedKeys): readonly Line[] {
  return [
    row("service", strong(keys.service)),
    row("log", keys.origin),
    ...keys.serviceKeys.flatMap(key => {
      const revoked = key.revokedFrom === undefined ? "" : `, revoked from ${unixTime(key.revokedFrom)}`
      return [row("service key", key.keyId), row("", { text: validity(key) + revoked, tone: "quiet" })]
    }),
    ...keys.logKeys.flatMap(key => [
      row("log key", encodeHex(keyIdOfSpki(key.spki))),
      row("", { text: `${validity(key)}, ${key.baseUrl}`, tone: "quiet" }),
    ]),
    ...keys.checkpointKeys.map(key => row("checkpoint", `${key.name}+${key.keyId} (${key.algorithm})`)),
    ...(keys.leafV7From === undefined ? [] : [row("leaf v7 only", `from ${unixTime(keys.leafV7From)}`)]),
  ]
}

const validity = ({ validFrom, validTo }: Validity): string =>
  `valid from ${unixTime(validFrom)}${validTo === undefined ? "" : ` to ${unixTime(validTo)}`}`

/** What a pin does and what it is worth. */
export const PINNING_MEANS: readonly Line[] = [
  ["From now on a record sealed with these keys is verified as this service's, for your account on this machine."],
  ["That is worth as much as the way the document came to you: compare the fingerprints with those the service gives"],
  ["elsewhere, in a contract, in its repository or by voice. Whoever sent you a forged document chose its keys."],
  ["To undo it: verifier trust remove SERVICE"],
]

/** How to come to trust a service, said when nothing the user trusts vouches for a record. */
export const HOW_TO_PIN: readonly Line[] = [
  ["  No trust document of yours vouches for the log and the service key of this record. Keys inside a record prove"],
  ["  nothing: anybody can make some. To verify it:"],
  ["  1. Take the address of the service from where you know it (contract, documentation), not from the record."],
  ["  2. ", strong(`verifier trust add https://SERVICE${TRUST_PATH}`)],
  ["     or, for this one time: verifier --trust FILE … with that document saved to a file."],
  ["  3. Compare the fingerprints it shows with those the service gives elsewhere."],
  ["  Never rely on the trust document of the address that handed you this record alone: who forges a record there"],
  ["  serves the matching keys beside it. That is why the verifier fetches none by itself."],
]
