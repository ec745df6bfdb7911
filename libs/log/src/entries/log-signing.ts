import { utf8Encode } from "@runseal/canonical"
import { toLowS } from "../keys/ecdsa-der.ts"
import { formatCheckpoint, keyHintOf, parseOrigin } from "../notes/checkpoint.ts"
import { cosignatureMessage, encodeCosignature } from "../notes/cosignature.ts"
import { formatNote, type NoteKey, noteSignatureLine } from "../notes/signed-note.ts"
import { type EntryTimestamp, signedEntryTimestampPayload } from "./log-entry.ts"

/** Signs SHA-256 of the message with ECDSA P-256 and returns DER, high-S or low-S. The private key stays with the caller. */
export type SignEcdsaP256 = (message: Uint8Array) => Uint8Array

/** Signs the message with Ed25519 and returns 64 bytes. */
export type SignEd25519 = (message: Uint8Array) => Uint8Array

/** The head of a log, to be signed for the entries. */
export interface LogHead {
  /** `<host> - <decimal tree id>`. */
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** SHA-256 of the log key's SPKI, 32 bytes. */
  readonly logId: Uint8Array
}

/**
 * The checkpoint inside profile-A entries, signed by the log alone. Throws RangeError when the origin is not of the form
 * `<host> - <decimal tree id>` or the signer returns no DER signature.
 */
export function signedCheckpoint({ origin, size, root, logId }: LogHead, sign: SignEcdsaP256): string {
  const host = parseOrigin(origin)?.host
  if (host === undefined) throw new RangeError("A log origin is a host name and a decimal tree id joined by ' - '.")
  const text = formatCheckpoint({ origin, size, root, extensions: [] })
  const signature = toLowS(sign(utf8Encode(text)))
  return formatNote(text, [noteSignatureLine({ name: host, keyId: keyHintOf(logId), signature })])
}

/** The log's promise (SET) for an entry: low-S DER. Throws RangeError when the signer returns no DER signature. */
export function signedEntryTimestamp(timestamp: EntryTimestamp, sign: SignEcdsaP256): Uint8Array {
  return toLowS(sign(utf8Encode(signedEntryTimestampPayload(timestamp))))
}

/** A note with one Ed25519 signature, such as the public C2SP checkpoint; `text` ends in a newline. */
export function signedNote(text: string, key: NoteKey, sign: SignEd25519): string {
  const { name, keyId } = key
  return formatNote(text, [noteSignatureLine({ name, keyId, signature: sign(utf8Encode(text)) })])
}

/**
 * A witness's signature line under a checkpoint with this text, with its newline. Throws RangeError for a text that it cannot sign.
 * @param time in Unix seconds
 */
export function cosignatureLine(
  key: NoteKey,
  time: number,
  text: string,
  sign: (message: Uint8Array) => Uint8Array,
): string {
  const message = cosignatureMessage(key, time, text)
  if (message === undefined) throw new RangeError("This key cannot cosign this text.")
  const { name, keyId } = key
  const signature = encodeCosignature(time, sign(message))
  return noteSignatureLine({ name, keyId, signature })
}
