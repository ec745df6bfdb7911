/** What no emulator gives: authenticator data, signatures and keys that are otherwise, signed with a key of ours. docs/formats.md section 2.8. */
import { concatBytes, decodeBase64, encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import { formatEcdsaSignature, parseEcdsaSignature } from "@runseal/log/keys/ecdsa-der"
import { type AssertionChanges, assertion, testPasskey } from "../../../../libs/core/test/fixtures/passkeys.ts"
import type { MadeAssertion } from "./emulated-assertions.ts"

/** Order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** {"credProtect": 2} and {} in CBOR. */
const EXTENSION = concatBytes(Uint8Array.of(0xa1, 0x6b), utf8Encode("credProtect"), Uint8Array.of(2))
const NO_EXTENSION = Uint8Array.of(0xa0)
/** Most bytes behind the counter. */
const BEHIND_MAX = 987

const owner = testPasskey("carla.diaz@example")
const spki = decodeBase64(owner.key.public_key) ?? new Uint8Array()
const POINT_AT = 26

/** The key with other bytes from one of its bytes on. */
const keyWith = (at: number, ...bytes: readonly number[]): AssertionChanges => {
  const changed = Uint8Array.from(spki)
  changed.set(bytes, at)
  return { pinned: { public_key: encodeBase64(changed) } }
}
/** A hybrid point says in its first byte whether y is odd. */
const HYBRID = 6 + ((spki.at(-1) ?? 0) & 1)

const twin = (der: Uint8Array): Uint8Array => {
  const { r = 1n, s = 1n } = parseEcdsaSignature(der) ?? {}
  return formatEcdsaSignature({ r, s: s > ORDER / 2n ? s : ORDER - s })
}
const raw = (der: Uint8Array): Uint8Array => {
  const { r = 1n, s = 1n } = parseEcdsaSignature(der) ?? {}
  return new Uint8Array(Buffer.from([r, s].map(each => each.toString(16).padStart(64, "0")).join(""), "hex"))
}
/** r with a zero more before it, where that does not reach the bound of the form. */
const longer = (der: Uint8Array): Uint8Array => {
  const length = der[3] ?? 0
  const values = concatBytes(Uint8Array.of(2, length + 1, 0), der.subarray(4))
  return concatBytes(Uint8Array.of(0x30, values.length), values)
}

const OTHERWISE: readonly (readonly [says: string, holds: boolean, changes: AssertionChanges])[] = [
  ["flags that are reserved", true, { flags: 0x3f }],
  ["a key that may be backed up, and is not", true, { flags: 0x0d }],
  ["extension data", true, { flags: 0x9d, behind: EXTENSION }],
  ["extension data without a member", true, { flags: 0x85, behind: NO_EXTENSION }],
  ["extension data up to the bound", true, { flags: 0x9d, behind: new Uint8Array(BEHIND_MAX) }],
  ["nobody there", false, { flags: 0x1c }],
  ["nobody verified", false, { flags: 0x19 }],
  ["a backup of what cannot be backed up", false, { flags: 0x15 }],
  ["a flag for key data", false, { flags: 0x5d }],
  ["key data", false, { flags: 0x5d, behind: new Uint8Array(55) }],
  ["key data and extension data", false, { flags: 0xdd, behind: new Uint8Array(56) }],
  ["a flag for extension data that are not there", false, { flags: 0x9d }],
  ["extension data without a flag", false, { behind: EXTENSION }],
  ["no flags", false, { flags: 0 }],
  ["every flag", false, { flags: 0xff, behind: EXTENSION }],
  ["another relying party", false, { rp_id: "evil.example" }],
  ["a relying party in capitals", false, { rp_id: "RUNSEAL.example" }],
  ["a relying party that is an origin", false, { rp_id: "https://runseal.example" }],
  ["a relying party above the host", false, { rp_id: "example", pinned: { rp_id: "example" } }],
  ["high S", false, { signature: twin }],
  ["a signature in 64 bytes", false, { signature: raw }],
  ["a signature with a byte behind", false, { signature: der => concatBytes(raw(der), Uint8Array.of(0)) }],
  ["r with a zero before it", false, { signature: longer }],
  ["r and s zero", false, { signature: () => Uint8Array.of(0x30, 6, 2, 1, 0, 2, 1, 0) }],
  ["r and s one", false, { signature: () => Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1) }],
  ["a hybrid point", false, keyWith(POINT_AT, HYBRID)],
  ["a point beside the curve", false, keyWith(spki.length - 1, (spki.at(-1) ?? 0) ^ 2)],
  ["a curve whose name is as long", false, keyWith(13, 6, 8, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 1, 0x82, 0x2d)],
  ["91 zeros for a key", false, keyWith(0, ...new Uint8Array(91))],
  ["the key of another person", false, { pinned: { public_key: testPasskey("erik.lund@example").key.public_key } }],
]

/** All of them, over the digest of some text. */
export function assertionsOtherwise(): readonly MadeAssertion[] {
  const challenge = Buffer.from(sha256(utf8Encode("what no emulator gives"))).toString("hex")
  return OTHERWISE.map(([says, holds, changes]) => ({
    ...{ says, holds, challenge },
    passkey: assertion(owner, challenge, changes),
  }))
}
