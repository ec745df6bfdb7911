/**
 * Signatures of the service key that are the same each time, for documents that are rendered again and again. A key in this process signs
 * as RFC 6979 says. A remote signer draws a new nonce each time, so the first signature of each digest is stored in the database, and all
 * servers of a deployment return that one. The database is not trusted: a stored signature that does not verify is replaced.
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
  // Concurrent requests for the same digest share one request to the signer.
  const underWay = new Map<string, Promise<Uint8Array>>()

  const signOnce = async (message: Uint8Array, digest: string): Promise<Uint8Array> => {
    const stored = await findRepeatedSignature(db, digest)
    if (stored !== undefined && isSignature(stored, message)) return stored
    return keepRepeatedSignature(db, { digest, signature: await signOne(key, message) }, stored)
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
