/** The values a PDF is made of, and how they are read. ISO 32000-1 §7.2 and §7.3, a strict subset: what our reports use. */

export type PdfValue =
  | { readonly kind: "null" }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "string"; readonly bytes: Uint8Array }
  | { readonly kind: "reference"; readonly object: number }
  | { readonly kind: "array"; readonly items: readonly PdfValue[] }
  | PdfDictionary
  /** A bare word: an operator of a content stream, or `obj`, `stream`, `R` … where the caller expects it. */
  | { readonly kind: "word"; readonly word: string }

export type PdfDictionary = { readonly kind: "dictionary"; readonly entries: ReadonlyMap<string, PdfValue> }

/** The file is no PDF as our reports are. The sentence quotes nothing of it. */
export class PdfError extends Error {
  override readonly name = "PdfError"
}

/** Arrays and dictionaries within each other. */
const MAX_DEPTH = 32
/** Members of one array or dictionary: a page tree or a cross-reference of a long report stays far below. */
const MAX_MEMBERS = 200_000
/** Values of all objects of a file, a string counting for several: a long report has some hundred thousand. */
const MAX_VALUES = 3_000_000
const VALUES_OF_A_STRING = 8
/** Bytes of one name or number. */
const MAX_WORD_BYTES = 4096
/** Bytes of one string as it is written. */
const MAX_STRING_BYTES = 2 * 1024 * 1024

/** By byte: 1 for white space of ours, 2 for what ends a word, white space of others with it: no value begins so. ISO 32000-1 §7.2.2. */
const SPACE = 1
const CLASSES = new Uint8Array(256)
for (const byte of [10, 32]) CLASSES[byte] = SPACE
for (const delimiter of "()<>[]{}/%\0\t\f\r") CLASSES[delimiter.charCodeAt(0)] = 2
const PERCENT = 0x25
const PAREN_OPEN = 0x28
const PAREN_CLOSE = 0x29
const SLASH = 0x2f
const LESS = 0x3c
const GREATER = 0x3e
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d

export type PdfReader = {
  /** Where the last value ended. */
  readonly position: () => number
  readonly moveTo: (position: number) => void
  /** The next value; undefined at the end. @throws PdfError */
  readonly next: () => PdfValue | undefined
}

/** Reads values from bytes. References (`5 0 R`) are recognised when `references` is set: content streams hold none. */
export function readPdf(bytes: Uint8Array, references: boolean): PdfReader {
  const cursor: Cursor = { bytes, references, at: 0, left: MAX_VALUES }
  return {
    position: () => cursor.at,
    moveTo: position => {
      cursor.at = position
    },
    next: () => {
      skipSpace(cursor)
      // Operands are dropped with their operator; objects stay.
      if (!references) cursor.left = MAX_MEMBERS
      return cursor.at >= bytes.length ? undefined : readValue(cursor, 0)
    },
  }
}

type Cursor = { readonly bytes: Uint8Array; readonly references: boolean; at: number; left: number }

function skipSpace(cursor: Cursor): void {
  const { bytes } = cursor
  for (; cursor.at < bytes.length; cursor.at++) {
    const byte = bytes[cursor.at] ?? 0
    // The text of a comment would be signed, and no viewer shows it.
    if (byte === PERCENT) throw new PdfError("it holds a comment")
    if (CLASSES[byte] !== SPACE) return
  }
}

function readValue(cursor: Cursor, depth: number): PdfValue {
  if (depth > MAX_DEPTH) throw new PdfError("its values are nested too deep")
  spend(cursor, 1)
  skipSpace(cursor)
  const byte = cursor.bytes[cursor.at]
  const twice = cursor.bytes[cursor.at + 1] === byte
  if (byte === undefined) throw new PdfError("it ends within a value")
  if (byte === SLASH) {
    cursor.at++
    return { kind: "name", name: nameOf(regularText(cursor)) }
  }
  if (byte === PAREN_OPEN) return { kind: "string", bytes: literalString(cursor) }
  if (byte === LESS && twice) {
    cursor.at += 2
    return readDictionary(cursor, depth)
  }
  if (byte === LESS) return { kind: "string", bytes: hexString(cursor) }
  if (byte === BRACKET_OPEN) {
    cursor.at++
    return readArray(cursor, depth)
  }
  const word = regularText(cursor)
  return referenceOr(cursor, word, numberOrWord(word))
}

function spend(cursor: Cursor, values: number): void {
  cursor.left -= values
  if (cursor.left < 0) throw new PdfError("it holds too many values")
}

/** Characters up to the next space or delimiter. */
function regularText(cursor: Cursor): string {
  const from = cursor.at
  const { bytes } = cursor
  while (cursor.at < bytes.length && CLASSES[bytes[cursor.at] ?? 0] === 0) cursor.at++
  if (cursor.at - from > MAX_WORD_BYTES) throw new PdfError("a name or number is too long")
  return latin1(bytes.subarray(from, cursor.at))
}

/** One spelling: where programs differ in what they take for a number, one of them repairs the file and shows another. */
const NUMBER = /^-?(?:0|[1-9]\d{0,9})(?:\.\d{0,19}[1-9])?$/

function numberOrWord(text: string): PdfValue {
  if (text === "") throw new PdfError("a delimiter is where a value has to be")
  if (NUMBER.test(text)) return { kind: "number", value: Number(text) }
  if (text === "true" || text === "false") return { kind: "boolean", value: text === "true" }
  return text === "null" ? { kind: "null" } : { kind: "word", word: text }
}

/** `12 0 R` is a reference, `12 0` two numbers. */
function referenceOr(cursor: Cursor, text: string, value: PdfValue): PdfValue {
  if (!cursor.references || value.kind !== "number" || !/^[1-9]\d*$/.test(text)) return value
  const tail = latin1(cursor.bytes.subarray(cursor.at, cursor.at + REFERENCE_TAIL))
  if (!/^ 0 R(?![^\n ()<>[\]{}/%])/.test(tail)) return value
  cursor.at += REFERENCE_TAIL - 1
  return { kind: "reference", object: value.value }
}

function readArray(cursor: Cursor, depth: number): PdfValue {
  const items: PdfValue[] = []
  for (;;) {
    skipSpace(cursor)
    if (cursor.bytes[cursor.at] === BRACKET_CLOSE) {
      cursor.at++
      return { kind: "array", items }
    }
    if (items.length >= MAX_MEMBERS) throw new PdfError("a list is too long")
    items.push(readValue(cursor, depth + 1))
  }
}

function readDictionary(cursor: Cursor, depth: number): PdfDictionary {
  const entries = new Map<string, PdfValue>()
  for (;;) {
    skipSpace(cursor)
    if (cursor.bytes[cursor.at] === GREATER && cursor.bytes[cursor.at + 1] === GREATER) {
      cursor.at += 2
      return { kind: "dictionary", entries }
    }
    const key = readValue(cursor, depth + 1)
    if (key.kind !== "name") throw new PdfError("a dictionary's key is no name")
    // Viewers differ in which of two they take: what one shows, another would not.
    if (entries.has(key.name) || entries.size >= MAX_MEMBERS) throw new PdfError("a dictionary is not exact")
    entries.set(key.name, readValue(cursor, depth + 1))
  }
}

function hexString(cursor: Cursor): Uint8Array {
  const end = cursor.bytes.indexOf(GREATER, cursor.at)
  if (end < 0) throw new PdfError("a string does not end")
  if (end - cursor.at > MAX_STRING_BYTES) throw new PdfError("a string is too long")
  if (cursor.references) spend(cursor, VALUES_OF_A_STRING)
  const digits = latin1(cursor.bytes.subarray(cursor.at + 1, end))
  cursor.at = end + 1
  if (!/^(?:[0-9a-fA-F]{2})*$/.test(digits)) throw new PdfError("a string is not hexadecimal")
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16))
}

/** ASCII without parentheses and escapes: all that a string of ours in this spelling holds. ISO 32000-1 §7.3.4.2 has more. */
const PLAIN = /^[\x20-\x27\x2a-\x5b\x5d-\x7e]*$/

function literalString(cursor: Cursor): Uint8Array {
  const from = cursor.at + 1
  const end = cursor.bytes.indexOf(PAREN_CLOSE, from)
  if (end < 0) throw new PdfError("a string does not end")
  if (end - from > MAX_STRING_BYTES) throw new PdfError("a string is too long")
  if (cursor.references) spend(cursor, VALUES_OF_A_STRING)
  const bytes = cursor.bytes.slice(from, end)
  if (!PLAIN.test(latin1(bytes))) throw new PdfError("a string is spelled in another way than ours")
  cursor.at = end + 1
  return bytes
}

/** Space, `0`, space, `R` and one byte more. */
const REFERENCE_TAIL = 5

/** A name; only characters that have to be are escaped. ISO 32000-1 §7.3.5. */
function nameOf(text: string): string {
  const name = text.replace(/#([0-9A-F]{2})/g, (spelled, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return /[\w.+*-]/.test(character) ? spelled : character
  })
  if (name.includes("#")) throw new PdfError("a name is spelled in another way than ours")
  return name
}

/** Bytes as characters of the same numbers. */
export function latin1(bytes: Uint8Array): string {
  let text = ""
  for (let from = 0; from < bytes.length; from += CHUNK)
    text += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(from, from + CHUNK))
  return text
}

const CHUNK = 8192
