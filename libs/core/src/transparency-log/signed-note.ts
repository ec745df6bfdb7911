import { concatBytes, decodeBase64, decodeHex, encodeBase64, encodeHex, sha256, utf8Encode } from "@runseal/canonical"
import { verifyEd25519 } from "#signatures"
import { verifyCosignature } from "./cosignature.ts"

/** C2SP signed-note: a text and the lines of those who signed it. */

/** The signature types we trust keys for: the log's own, and a witness's timestamped cosignature. */
export type NoteAlgorithm = "ed25519" | "cosignature/v1"

/** A key we know. Name and id together say which signature lines are its own. */
export interface NoteKey {
  readonly name: string
  /** First 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key), 8 hex digits. */
  readonly keyId: string
  readonly algorithm: NoteAlgorithm
  /** Raw Ed25519 public key, 32 bytes. */
  readonly publicKey: Uint8Array
}

/** One signature line, unchecked. */
export interface NoteSignature {
  readonly name: string
  readonly keyId: string
  readonly signature: Uint8Array
}

/** A note taken apart, unchecked: nothing in `text` may be believed before a signature verified. */
export interface Note {
  /** Ends in a newline; it is what the signatures cover. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

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

/** Signature lines read of one note; the specification asks for at least 16. */
export const MAX_NOTE_SIGNATURES = 64
/** UTF-16 units of a note: room for 16 post-quantum signatures of strangers beside ours. */
export const MAX_NOTE_LENGTH = 131_072
/** UTF-16 units of a key name, as long as a host name may be. */
const MAX_NAME_LENGTH = 253
const KEY_ID_BYTES = 4
const ED25519_KEY_BYTES = 32
const SIGNATURE_TYPES: { readonly [algorithm in NoteAlgorithm]: number } = { ed25519: 0x01, "cosignature/v1": 0x04 }

/** Takes a note apart; undefined when it is malformed or beyond a limit. Never throws. */
export function parseNote(note: string): Note | undefined {
  if (note.length > MAX_NOTE_LENGTH || !isNoteText(note)) return undefined
  const split = note.lastIndexOf("\n\n")
  if (split === -1 || !note.endsWith("\n")) return undefined
  const lines = note.slice(split + 2, -1).split("\n")
  if (lines.length > MAX_NOTE_SIGNATURES) return undefined
  const signatures = lines.map(parseSignatureLine).filter(signature => signature !== undefined)
  return signatures.length === lines.length ? { text: note.slice(0, split + 1), signatures } : undefined
}

/** A note from its text, which ends in a newline, and its signature lines. */
export function formatNote(text: string, signatureLines: readonly string[]): string {
  return `${text}\n${signatureLines.join("")}`
}

/** The line `— <name> <base64(key id ‖ signature)>` with its newline. */
export function noteSignatureLine({ name, keyId, signature }: NoteSignature): string {
  return `— ${name} ${encodeBase64(concatBytes(decodeHex(keyId) ?? Uint8Array.of(), signature))}\n`
}

/** A key with its id computed. Throws RangeError for a name or key the format cannot carry. */
export function noteKey(name: string, algorithm: NoteAlgorithm, publicKey: Uint8Array): NoteKey {
  if (!isKeyName(name)) throw new RangeError("A note key name has no spaces and no plus sign.")
  if (publicKey.length !== ED25519_KEY_BYTES) throw new RangeError("An Ed25519 public key has 32 bytes.")
  const named = concatBytes(utf8Encode(`${name}\n`), typedKey(algorithm, publicKey))
  return { name, keyId: encodeHex(sha256(named).subarray(0, KEY_ID_BYTES)), algorithm, publicKey }
}

/** The verifier key text `<name>+<key id>+<base64(type ‖ key)>`. */
export function formatVkey({ name, keyId, algorithm, publicKey }: NoteKey): string {
  return `${name}+${keyId}+${encodeBase64(typedKey(algorithm, publicKey))}`
}

/** The key a vkey names; undefined when it is malformed, its id is wrong or its signature type is none we know. */
export function parseVkey(vkey: string): NoteKey | undefined {
  const [, name = "", base64 = ""] = /^([^+]+)\+[0-9a-f]{8}\+([A-Za-z0-9+/]{44})$/.exec(vkey) ?? []
  const typed = decodeBase64(base64)
  if (typed === undefined || !isKeyName(name)) return undefined
  const algorithm = (["ed25519", "cosignature/v1"] as const).find(known => SIGNATURE_TYPES[known] === typed[0])
  if (algorithm === undefined) return undefined
  const key = noteKey(name, algorithm, typed.subarray(1))
  return formatVkey(key) === vkey ? key : undefined
}

/**
 * Checks a note against known keys. Signatures of others are ignored, as the specification demands; one invalid signature
 * of a known key, or no valid one at all, refuses the note: undefined. Never throws.
 */
export function verifyNote(note: string, keys: readonly NoteKey[]): VerifiedNote | undefined {
  const parsed = parseNote(note)
  if (parsed === undefined) return undefined
  const { text, signatures } = parsed
  const signers: NoteSigner[] = []
  for (const { name, keyId, signature } of signatures) {
    const key = keys.find(known => known.name === name && known.keyId === keyId)
    if (key === undefined) continue
    const signer = signerOf(key, text, signature)
    if (signer === undefined) return undefined
    signers.push(signer)
  }
  return signers.length > 0 ? { text, signers } : undefined
}

function signerOf(key: NoteKey, text: string, signature: Uint8Array): NoteSigner | undefined {
  if (key.algorithm === "ed25519") {
    return verifyEd25519(key.publicKey, utf8Encode(text), signature) ? { key } : undefined
  }
  const time = verifyCosignature(key.publicKey, text, signature)
  return time === undefined ? undefined : { key, time }
}

function parseSignatureLine(line: string): NoteSignature | undefined {
  const [dash, name = "", base64 = "", ...more] = line.split(" ")
  const bytes = decodeBase64(base64)
  if (dash !== "—" || !isKeyName(name) || more.length > 0) return undefined
  if (bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined
  return { name, keyId: encodeHex(bytes.subarray(0, KEY_ID_BYTES)), signature: bytes.subarray(KEY_ID_BYTES) }
}

/** U+0085 is a Unicode space that JavaScript's \s leaves out. */
function isKeyName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && /^[^\s\u0085+]+$/u.test(name)
}

/** Valid UTF-8 without ASCII control characters other than newline. */
function isNoteText(text: string): boolean {
  return !/[^\n -\uffff]/.test(text) && text.isWellFormed()
}

function typedKey(algorithm: NoteAlgorithm, publicKey: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(SIGNATURE_TYPES[algorithm]), publicKey)
}
