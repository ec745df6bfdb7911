/**
 * The one rule for every hash: `digest(x)` is the lowercase hex SHA-256 over the RFC 8785 bytes of x, and an object's
 * own hash is the digest of the object without that field. docs/formats.md section 1.
 */
import type { JsonObject, KnownTexts, WrittenTexts } from "@runseal/canonical"
import { concatBytes, digest, digestWithout, sha256, sha256Hex, utf8Encode } from "@runseal/canonical"
import { isSameBut, textMember } from "../vocabulary/json-members.ts"

/** The digest of an object; whoever knows it already may say it instead of computing it. */
export type HashOf = (body: JsonObject) => string

/** Gives the object with its `hash` added. Whoever knows the hash, or keeps the text, seals in another way. */
export type Seal = WrittenTexts["seal"]

/** The object with its `hash` added. */
export const seal: Seal = body => ({ ...body, hash: digest(body) })

/** `seal` by `hashLike`. */
export const sealLike = (stated: JsonObject): Seal => {
  const hashOf = hashLike(stated, "hash")
  return body => ({ ...body, hash: hashOf(body) })
}

/**
 * `digest`, but an object that says what `stated` says, member by member, has the hash that stands there: comparing costs
 * a tenth of hashing.
 * @param stated an object whose own hash is known to be right
 * @param name the member that holds it
 */
export const hashLike =
  (stated: JsonObject, name: "hash" | "ManifestHash"): HashOf =>
  body => {
    const hash = textMember(stated, name)
    return hash !== undefined && isSameBut(stated, body, name) ? hash : digest(body)
  }

/** What the `hash` field of a sealed object must be. */
export const sealHash = (sealed: JsonObject, known?: KnownTexts): string => digestWithout(sealed, "hash", known)

/** What `ManifestHash` of a manifest or partial manifest must be (formula_version manifest.v1). docs/formats.md section 6. */
export const manifestHash = (manifest: JsonObject, known?: KnownTexts): string =>
  digestWithout(manifest, "ManifestHash", known)

const HMAC_BLOCK_BYTES = 64

/** HMAC-SHA-256 in lowercase hex (RFC 2104); keys are at most one block long here. */
export function hmacSha256Hex(key: Uint8Array, message: string): string {
  if (key.length > HMAC_BLOCK_BYTES) throw new RangeError("an HMAC key here is at most 64 bytes")
  const inner = sha256(concatBytes(hmacBlock(key, 0x36), utf8Encode(message)))
  return sha256Hex(concatBytes(hmacBlock(key, 0x5c), inner))
}

/** A key, filled up with zeros to a block, each byte XOR `pad`. */
function hmacBlock(key: Uint8Array, pad: number): Uint8Array {
  const block = new Uint8Array(HMAC_BLOCK_BYTES).fill(pad)
  for (let index = 0; index < key.length; index++) block[index] = (key[index] ?? 0) ^ pad
  return block
}
