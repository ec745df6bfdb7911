import { concatBytes, decodeBase64, decodeHex, encodeBase64, encodeHex, sha256, utf8Encode } from "@runseal/canonical"

/** C2SP signed-note: a text and one signature line per signer. */

/**
 * The signature types that a trusted key may have: `ed25519` is the log's own, the others are a witness's timestamped cosignature, with
 * Ed25519 or with ML-DSA-44 (FIPS 204).
 */
export type NoteAlgorithm = "ed25519" | "cosignature/v1" | "ml-dsa-44"

/** A known key. Name and id together identify its signature lines. */
export interface NoteKey {
  readonly name: string
  /** First 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key), 8 hex digits. */
  readonly keyId: string
  readonly algorithm: NoteAlgorithm
  /** The raw public key: 32 bytes of Ed25519, 1,312 of ML-DSA-44. */
  readonly publicKey: Uint8Array
}

/** One signature line, unchecked. */
export interface NoteSignature {
  readonly name: string
  readonly keyId: string
  readonly signature: Uint8Array
}

/** A parsed note, unchecked: verify a signature before using `text`. */
export interface Note {
  /** Ends in a newline; it is what the signatures cover. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Signature lines read of one note; C2SP signed-note asks for at least 16. */
export const MAX_NOTE_SIGNATURES = 64
/** UTF-16 units of a note: room for 16 post-quantum signatures of strangers beside ours. */
export const MAX_NOTE_LENGTH = 131_072
/** UTF-16 units of a key name, as long as a host name may be. */
const MAX_NAME_LENGTH = 253
const KEY_ID_BYTES = 4
/** UTF-16 units of a verifier key: a name of three-byte characters would still have room. */
export const MAX_VKEY_LENGTH = 2560
const ALGORITHMS = ["ed25519", "cosignature/v1", "ml-dsa-44"] as const
/** The byte before a key, and the key's length in bytes. C2SP signed-note, tlog-cosignature. */
const FORMATS: { readonly [algorithm in NoteAlgorithm]: { readonly type: number; readonly keyBytes: number } } = {
  ed25519: { type: 0x01, keyBytes: 32 },
  "cosignature/v1": { type: 0x04, keyBytes: 32 },
  "ml-dsa-44": { type: 0x06, keyBytes: 1312 },
}

/** Whether a key is a witness's, and not a log's own. */
export const isWitnessKey = ({ algorithm }: NoteKey): boolean => algorithm !== "ed25519"

/** Parses a note; undefined when it is malformed or beyond a limit. Never throws. */
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

/** A key with its id computed. Throws RangeError for a name or key that the format cannot represent. */
export function noteKey(name: string, algorithm: NoteAlgorithm, publicKey: Uint8Array): NoteKey {
  if (!isKeyName(name)) throw new RangeError("A note key name has no spaces and no plus sign.")
  const { keyBytes } = FORMATS[algorithm]
  if (publicKey.length !== keyBytes) throw new RangeError(`A public key of ${algorithm} has ${keyBytes} bytes.`)
  const named = concatBytes(utf8Encode(`${name}\n`), typedKey(algorithm, publicKey))
  return { name, keyId: encodeHex(sha256(named).subarray(0, KEY_ID_BYTES)), algorithm, publicKey }
}

/** The verifier key text `<name>+<key id>+<base64(type ‖ key)>`. */
export function formatVkey({ name, keyId, algorithm, publicKey }: NoteKey): string {
  return `${name}+${keyId}+${encodeBase64(typedKey(algorithm, publicKey))}`
}

/** The key of a vkey; undefined when it is malformed, its id is wrong or its signature type is unknown. */
export function parseVkey(vkey: string): NoteKey | undefined {
  if (vkey.length > MAX_VKEY_LENGTH) return undefined
  const [, name = "", base64 = ""] = /^([^+]+)\+[0-9a-f]{8}\+([A-Za-z0-9+/]+={0,2})$/.exec(vkey) ?? []
  const typed = decodeBase64(base64)
  if (typed === undefined || !isKeyName(name)) return undefined
  const algorithm = ALGORITHMS.find(
    known => FORMATS[known].type === typed[0] && FORMATS[known].keyBytes === typed.length - 1,
  )
  if (algorithm === undefined) return undefined
  const key = noteKey(name, algorithm, typed.subarray(1))
  return formatVkey(key) === vkey ? key : undefined
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
  return concatBytes(Uint8Array.of(FORMATS[algorithm].type), publicKey)
}
