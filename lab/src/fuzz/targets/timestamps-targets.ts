/** Timestamps of RFC 3161 and certificates above them: nothing that an authority did not make passes, and nothing has two spellings. */
import { equalBytes } from "@runseal/canonical"
import { parseCertificate } from "@runseal/log/keys/x509-certificate"
import {
  MAX_TIMESTAMP_BYTES,
  parseTimestamp,
  storedTimestamp,
  verifyTimestamp,
} from "@runseal/log/timestamps/timestamp"
import { openAuthority, type TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import { corpusInputs } from "../corpus.ts"
import { bytesOf, type FuzzTarget, promise } from "../fuzz-target.ts"

/** The timestamped bytes of the corpus. OpenSSL made the timestamps and certificates: `openssl ts -reply`, `openssl req`, `openssl x509`. */
const STAMPED = bytesOf("stamped")
const CERTIFICATES = "certificate"
const KINDS = ["p256", "rsa"]

const corpusFile = (target: string, name: string): Uint8Array =>
  corpusInputs(target).find(input => input.name === `${name}.der`)?.bytes ?? new Uint8Array()

const authorities: readonly TimestampAuthority[] = KINDS.map(kind => ({
  uri: `https://${kind}.example`,
  certificates: ["signer", "root"].map(place => corpusFile(CERTIFICATES, `openssl-${kind}-${place}`)),
  validFrom: 0,
}))
const genuine = authorities.flatMap((authority, at) => {
  const answer = corpusFile("timestamp", `openssl-${KINDS[at]}`)
  return storedTimestamp(answer, authority) ?? []
})
const isOneOf = (known: readonly Uint8Array[], input: Uint8Array): boolean => known.some(one => equalBytes(one, input))

export const timestamps: FuzzTarget = {
  name: "timestamp",
  seeds: () => genuine,
  run: input => {
    for (const authority of authorities) {
      const answer = storedTimestamp(input, authority)
      if (answer === undefined) continue
      promise(
        answer.length <= MAX_TIMESTAMP_BYTES && parseTimestamp(answer) !== undefined,
        "a stored form cannot be parsed",
      )
      const again = storedTimestamp(answer, authority)
      promise(again !== undefined && equalBytes(again, answer), "the stored form of a stored form differs")
    }
    const verifies = !("problem" in verifyTimestamp(input, STAMPED, authorities))
    promise(
      verifies === isOneOf(genuine, input),
      "a timestamp verifies exactly when an authority made it, and this one not",
    )
  },
}

export const certificates: FuzzTarget = {
  name: CERTIFICATES,
  seeds: () => authorities.flatMap(authority => authority.certificates),
  run: input => {
    const certificate = parseCertificate(input)
    if (certificate === undefined) return
    promise(equalBytes(certificate.der, input), "a certificate is read from other bytes than it has")
    for (const { uri, certificates: chain } of authorities) {
      const { problem } = openAuthority({ uri, certificates: chain.with(0, input), validFrom: 0 })
      const isSigner = isOneOf(chain.slice(0, 1), input)
      promise(
        (problem === undefined) === isSigner,
        "a chain holds exactly with the signer that its issuer signed, and this one not",
      )
    }
  },
}
