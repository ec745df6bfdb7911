import { utf8Encode } from "@runseal/canonical"
import { verifyEd25519 } from "#signatures"
import { verifyCosignature } from "./cosignature.ts"
import { type NoteKey, parseNote } from "./signed-note.ts"

/** A key whose signature on the note is valid; `time` in Unix seconds for a cosignature. */
export interface NoteSigner {
  readonly key: NoteKey
  readonly time?: number
}

/** A note with at least one valid signature by a known key and none that is invalid. */
export interface VerifiedNote {
  readonly text: string
  readonly signers: readonly NoteSigner[]
}

/**
 * Checks a note against known keys. Signatures of others are ignored, as C2SP signed-note demands; one invalid signature
 * of a known key, or no valid one at all, refuses the note: undefined. Never throws.
 */
export function verifyNote(note: string, keys: readonly NoteKey[]): VerifiedNote | undefined {
  const parsed = parseNote(note)
  if (parsed === undefined) return undefined
  const { text, signatures } = parsed
  const signers: NoteSigner[] = []
  for (const { name, keyId, signature } of signatures) {
    // Name and id are short, so two keys may share them.
    const named = keys.filter(known => known.name === name && known.keyId === keyId)
    if (named.length === 0) continue
    const signer = named.map(key => signerOf(key, text, signature)).find(found => found !== undefined)
    if (signer === undefined) return undefined
    signers.push(signer)
  }
  return signers.length > 0 ? { text, signers } : undefined
}

function signerOf(key: NoteKey, text: string, signature: Uint8Array): NoteSigner | undefined {
  if (key.algorithm === "ed25519") {
    return verifyEd25519(key.publicKey, utf8Encode(text), signature) ? { key } : undefined
  }
  const time = verifyCosignature(key, text, signature)
  return time === undefined ? undefined : { key, time }
}
