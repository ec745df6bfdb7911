/**
 * The one rule for every hash: `digest(x)` is the lowercase hex SHA-256 over the RFC 8785 bytes of x, and an object's
 * own hash is the digest of the object without that field. docs/formats.md section 1.
 */
import type { JsonObject, KnownTexts, WrittenTexts } from "@runseal/canonical"
import { digest, digestWithout } from "@runseal/canonical"
import { isSameBut } from "../vocabulary/json-members.ts"

/** What a formula gives of a sealed object: everything but its own hash, which `seal` adds. */
export type Unsealed<Sealed, Hash extends string = "hash"> = Omit<Sealed, Hash>

/** Returns the object with its `hash` added. An implementation may cache the text that it hashed. */
export type Seal = WrittenTexts["seal"]

/** The object with its `hash` added. */
export const seal: Seal = body => ({ ...body, hash: digest(body) })

/** What the `hash` field of a sealed object must be. */
export const sealHash = (sealed: JsonObject, known?: KnownTexts): string => digestWithout(sealed, "hash", known)

/** What `ManifestHash` of a manifest or partial manifest must be (formula_version manifest.v1). docs/formats.md section 6. */
export const manifestHash = (manifest: JsonObject, known?: KnownTexts): string =>
  digestWithout(manifest, "ManifestHash", known)

/** A manifest or partial manifest with its `ManifestHash` added. */
export const sealManifest = <const Body extends JsonObject>(body: Body): Body & { readonly ManifestHash: string } => ({
  ...body,
  ManifestHash: digest(body),
})

/**
 * Whether a sealed object is what its formula gives.
 * @param intact whether its own hash is known to be right: comparing then costs a tenth of hashing
 */
export function isSealOf(
  sealed: JsonObject,
  body: JsonObject,
  intact: boolean,
  name: "hash" | "ManifestHash" = "hash",
): boolean {
  return intact ? isSameBut(sealed, body, name) : digest(body) === sealed[name]
}
