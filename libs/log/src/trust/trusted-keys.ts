import type { Validity } from "../keys/validity.ts"
import type { NoteKey } from "../notes/signed-note.ts"
import type { TimestampAuthority } from "../timestamps/timestamp-authority.ts"

/** A key a service signs its leaves with, ECDSA P-256. */
export interface ServiceKey extends Validity {
  /** SHA-256 of `spki`, lowercase hex. */
  readonly keyId: string
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
  /** Unix seconds from which nothing signed with this key counts. */
  readonly revokedFrom?: number
}

/** A transparency log's key, as a Sigstore trusted root lists it. */
export interface LogKey extends Validity {
  /** Base64 of the 32-byte log id, as entries write it. */
  readonly logId: string
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
  /** Sigstore's `PublicKeyDetails`; only P-256 keys sign profile-A entries, Ed25519 keys those of Rekor v2. */
  readonly keyDetails: string
  readonly baseUrl: string
}

/** Whether the DER `signature` over SHA-256 of `message` verifies with the key. Never throws. */
export type VerifyP256 = (spki: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** The keys that a verifier trusts: all from one trust document, never from the document under test. Immutable. */
export interface TrustedKeys {
  /** Name of the service, printed with the verdict. */
  readonly service: string
  /** Origin line of the log's checkpoints. Of a Rekor log that of any of its trees: only the host counts. */
  readonly origin: string
  readonly serviceKeys: readonly ServiceKey[]
  readonly logKeys: readonly LogKey[]
  /** Keys of the public C2SP checkpoint and of its witnesses. */
  readonly checkpointKeys: readonly NoteKey[]
  /** Unix seconds from which leaves older than v7 are refused. */
  readonly leafV7From?: number
  /**
   * Whether the log is a Rekor log. It is sharded, so an entry's index in the log is not its index in the tree and the tree id changes
   * from shard to shard; and it may write high-S signatures.
   */
  readonly rekor: boolean
  /** The same service in the Rekor logs that also hold its entries, each on its own. */
  readonly outside?: readonly TrustedKeys[]
  /**
   * Judges ECDSA P-256 signatures of entries and their checkpoints in place of `verifyEcdsaP256`. No trust document can state it: only a
   * service sets it, for signatures that it has just made.
   */
  readonly verifySignature?: VerifyP256
  /** Authorities whose timestamps count for entries of logs that sign no time. */
  readonly timestampAuthorities?: readonly TimestampAuthority[]
}

/** Why a trust document or trusted root is refused, in one sentence. */
export interface TrustProblem {
  readonly problem: string
}

/** Sigstore's name for a P-256 key that signs SHA-256 digests. */
export const P256_KEY_DETAILS = "PKIX_ECDSA_P256_SHA_256"
/** Sigstore's name for an Ed25519 key. */
export const ED25519_KEY_DETAILS = "PKIX_ED25519"
