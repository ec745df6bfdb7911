import { utf8Encode } from "@runseal/canonical"
import { verifyEcdsaP256, verifyEd25519 } from "#signatures"
import { parseEd25519Spki } from "../keys/spki.ts"
import type { EntryCheckpoint } from "../notes/checkpoint.ts"
import { ED25519_KEY_DETAILS, type LogKey, type TrustedKeys, type VerifyP256 } from "../trust/trusted-keys.ts"

/**
 * Cached envelopes per log key. The entries of one batch share a checkpoint, so a verifier of many documents meets
 * each one often. Only valid ones are cached, so a stranger cannot evict them.
 */
const MAX_CACHED = 256

const verified = new WeakMap<LogKey, Set<string>>()

/** Whether `checkpoint`, read from `envelope`, is signed with the log key. Never throws. */
export function isSignedCheckpoint(
  envelope: string,
  checkpoint: EntryCheckpoint,
  key: LogKey,
  { verifySignature = verifyEcdsaP256 }: Pick<TrustedKeys, "verifySignature"> = {},
): boolean {
  const known = verified.get(key) ?? new Set()
  if (known.has(envelope)) return true
  if (!isSigned(checkpoint, key, verifySignature)) return false
  const [oldest] = known
  if (oldest !== undefined && known.size >= MAX_CACHED) known.delete(oldest)
  verified.set(key, known.add(envelope))
  return true
}

function isSigned(
  { signedText, signature }: EntryCheckpoint,
  { spki, keyDetails }: LogKey,
  verifySignature: VerifyP256,
): boolean {
  if (keyDetails !== ED25519_KEY_DETAILS) return verifySignature(spki, utf8Encode(signedText), signature)
  const raw = parseEd25519Spki(spki)
  return raw !== undefined && verifyEd25519(raw, utf8Encode(signedText), signature)
}
