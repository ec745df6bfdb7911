/**
 * Signatures of the service key that are the same each time, for documents that are made again and again. A key that is here signs as
 * RFC 6979 says. One that is kept elsewhere draws a new nonce each time: the first signature of each digest is kept in the database, and
 * all servers of a deployment give that one. The database is trusted with nothing: what does not verify is replaced.
 */
import { createPublicKey, verify } from "node:crypto"
import { sha256Hex } from "@runseal/canonical"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import type { Database } from "../store/driver/database.ts"
import { findRepeatedSignature, keepRepeatedSignature } from "../store/tables/repeated-signatures.ts"
import { type EcdsaKey, signOne } from "./ecdsa-keys.ts"

/** Signs, DER and low-S, the same message always with the same bytes. Rejects with SignerFailure. */
type SignRepeatably = (message: Uint8Array) => Promise<Uint8Array>

/** Repeatable signing with the service key. */
export function openRepeatableSigning(key: EcdsaKey, db: Database): SignRepeatably {
  const { signRepeatably } = key
  if (signRepeatably !== undefined) return async message => signRepeatably(message)
  const publicKey = createPublicKey({ key: Buffer.from(key.spki), format: "der", type: "spki" })
  // The signer is asked for each once, however many want it at the same time.
  const underWay = new Map<string, Promise<Uint8Array>>()

  const signOnce = async (message: Uint8Array, digest: string): Promise<Uint8Array> => {
    const kept = await findRepeatedSignature(db, digest)
    if (kept !== undefined && isSignature(kept, message)) return kept
    return keepRepeatedSignature(db, { digest, signature: await signOne(key, message) }, kept)
  }
  const isSignature = (signature: Uint8Array, message: Uint8Array): boolean =>
    isLowS(signature) && verify("sha256", message, publicKey, signature)

  return message => {
    const digest = sha256Hex(message)
    const waiting = underWay.get(digest)
    if (waiting !== undefined) return waiting
    const signing = signOnce(message, digest).finally(() => underWay.delete(digest))
    underWay.set(digest, signing)
    return signing
  }
}
