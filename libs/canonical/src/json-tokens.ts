import { exactNumber } from "./exact-number.ts"
import type { JsonTree } from "./json-value.ts"
import { positionOf, StrictJsonError, type StrictJsonErrorCode } from "./strict-json-error.ts"
import { isSurrogatePair } from "./utf8.ts"

/** Code units that may follow a backslash on their own: " \ / b f n r t. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const UNIT_ESCAPE = /^\\u[0-9a-fA-F]{4}$/

/** A text being read from front to back. */
export interface Source<N = unknown> {
  readonly text: string
  readonly unit: "bytes" | "code units"
  readonly maxDepth: number
  readonly acceptsNegativeZero: boolean
  /** What a number is read as, of its characters and the double that is exactly it. */
  readonly numberOf: (text: string, value: number) => N
  /** Index of the next code unit to read. */
  at: number
  /** Items of the arrays that are being read, those of an inner one behind those of the one around it. */
  readonly items: JsonTree<N>[]
  /** Items in use; those after them were copied to an array already. */
  itemCount: number
}

/** The refusal of the text at UTF-16 index `at`. */
export function failure(source: Source, code: StrictJsonErrorCode, at: number): StrictJsonError {
  return new StrictJsonError(code, positionOf(source.text, at, source.unit))
}

/** Steps over the four whitespace characters of JSON (RFC 8259 §2). */
export function skipWhitespace(source: Source): void {
  const { text } = source
  let at = source.at
  for (;;) {
    const unit = text.charCodeAt(at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) break
    at++
  }
  source.at = at
}

/** Reads the literal name `word`, which means `value`. */
export function readWord(source: Source, word: string, value: boolean | null): boolean | null {
  for (let index = 0; index < word.length; index++) expectUnit(source, word.charCodeAt(index))
  return value
}

/** Steps over `unit`, which must be next. */
export function expectUnit(source: Source, unit: number): void {
  if (source.text.charCodeAt(source.at) !== unit) throw failure(source, "syntax", source.at)
  source.at++
}

/** Steps over `unit` and the whitespace after it, if `unit` is next. */
export function accept(source: Source, unit: number): boolean {
  if (source.text.charCodeAt(source.at) !== unit) return false
  source.at++
  skipWhitespace(source)
  return true
}

/** Reads a string literal (RFC 8259 §7) of well-formed Unicode. */
export function readString(source: Source): string {
  const { text } = source
  const start = source.at
  expectUnit(source, 0x22)
  let at = source.at
  let escaped = false
  for (;;) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) break
    if (unit === 0x5c) {
      at = skipEscape(source, at)
      escaped = true
    } else if (unit >= 0x20 && (unit & 0xf800) !== 0xd800) at++
    else if (isSurrogatePair(text, at)) at += 2
    else throw failure(source, unit >= 0xd800 ? "lone_surrogate" : "syntax", at)
  }
  source.at = at + 1
  // The literal is checked; decoding it natively keeps memory linear however many escapes it holds.
  return escaped ? String(JSON.parse(text.slice(start, at + 1))) : text.slice(start + 1, at)
}

/** Index behind the escape whose backslash is at `at`; an escaped surrogate pair is one escape. */
function skipEscape(source: Source, at: number): number {
  if (SHORT_ESCAPES.has(source.text.charCodeAt(at + 1))) return at + 2
  const unit = escapedUnit(source.text, at)
  if (unit === undefined) throw failure(source, "syntax", at)
  if ((unit & 0xf800) !== 0xd800) return at + 6
  const low = escapedUnit(source.text, at + 6)
  if (unit >= 0xdc00 || low === undefined || (low & 0xfc00) !== 0xdc00) throw failure(source, "lone_surrogate", at)
  return at + 12
}

/** The code unit that a \u escape at `at` writes, undefined when there is none. */
function escapedUnit(text: string, at: number): number | undefined {
  const written = text.slice(at, at + 6)
  return UNIT_ESCAPE.test(written) ? Number.parseInt(written.slice(2), 16) : undefined
}

/** Reads a number (RFC 8259 §6) that a double carries exactly. */
export function readNumber<N>(source: Source<N>): N {
  const { text } = source
  const start = source.at
  let at = text.charCodeAt(start) === 0x2d ? start + 1 : start
  at = text.charCodeAt(at) === 0x30 ? at + 1 : skipDigits(source, at)
  if (text.charCodeAt(at) === 0x2e) at = skipDigits(source, at + 1)
  const hasExponent = (text.charCodeAt(at) | 0x20) === 0x65
  if (hasExponent) {
    const sign = text.charCodeAt(at + 1)
    at = skipDigits(source, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1)
  }
  const token = text.slice(start, at)
  const value = exactNumber(token, hasExponent)
  const isZero = value === "negative_zero" && source.acceptsNegativeZero
  if (typeof value === "string" && !isZero) throw failure(source, value, start)
  source.at = at
  return source.numberOf(token, typeof value === "string" ? 0 : value)
}

/** Index behind the digits at `at`, of which there must be one. */
function skipDigits(source: Source, at: number): number {
  let end = at
  while (isDigit(source.text.charCodeAt(end))) end++
  if (end === at) throw failure(source, "syntax", at)
  return end
}

export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}
