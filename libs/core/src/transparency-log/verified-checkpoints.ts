import { utf8Encode } from "@runseal/canonical"
import { verifyEcdsaP256 } from "#signatures"
import type { EntryCheckpoint } from "./checkpoint.ts"
import type { LogKey } from "./trusted-keys.ts"

/**
 * Envelopes remembered per log key. The entries of one batch share a checkpoint, so a verifier of many documents meets
 * each one often; only valid ones are kept, so nobody without the log's key can push them out.
 */
const MAX_REMEMBERED = 256

const verified = new WeakMap<LogKey, Set<string>>()

/** Whether `checkpoint`, read from `envelope`, is signed with the log key. Never throws. */
export function isSignedCheckpoint(envelope: string, checkpoint: EntryCheckpoint, key: LogKey): boolean {
  const known = verified.get(key) ?? new Set()
  if (known.has(envelope)) return true
  if (!verifyEcdsaP256(key.spki, utf8Encode(checkpoint.signedText), checkpoint.signature)) return false
  const [oldest] = known
  if (oldest !== undefined && known.size >= MAX_REMEMBERED) known.delete(oldest)
  verified.set(key, known.add(envelope))
  return true
}
