import { concatBytes, sha256Hex } from "@runseal/canonical"
import { verifyEcdsaP256 } from "#signatures"
import { isStrictDerSignature } from "./ecdsa-der.ts"
import { parseP256Spki } from "./spki.ts"

/**
 * ECDSA signatures that were found valid. Who verifies the same bytes twice, as a service does that checks a record before its
 * manifest and whole before it commits, need not compute the same again. Only valid signatures are kept, each by the
 * SHA-256 of key, signature and message together, so that what was found says nothing of any other bytes.
 */
export interface VerifiedSignatures {
  readonly max: number
  readonly known: Set<string>
}

/** An empty memory of at most `max` signatures, the oldest forgotten first. */
export const rememberSignatures = (max: number): VerifiedSignatures => ({ max, known: new Set() })

/** As `verifyEcdsaP256`, asking the memory first where there is one. */
export function isSigned(
  spki: Uint8Array,
  message: Uint8Array,
  der: Uint8Array,
  memory: VerifiedSignatures | undefined,
): boolean {
  if (memory === undefined) return verifyEcdsaP256(spki, message, der)
  // Without these two rules, which hold for every valid signature, bytes could move from one part to the next.
  if (parseP256Spki(spki) === undefined || !isStrictDerSignature(der)) return false
  const id = sha256Hex(concatBytes(spki, der, message))
  if (memory.known.has(id)) return true
  if (!verifyEcdsaP256(spki, message, der)) return false
  const [oldest] = memory.known
  if (oldest !== undefined && memory.known.size >= memory.max) memory.known.delete(oldest)
  memory.known.add(id)
  return true
}
