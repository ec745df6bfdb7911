import { utf8Length } from "./utf8.ts"

const SENTENCES = {
  syntax: "The text is not valid JSON",
  duplicate_key: "An object has the same key twice",
  unsafe_integer: "An integer lies outside ±(2^53−1)",
  inexact_number: "A number has more precision or range than a double carries",
  negative_zero: "A number is negative zero",
  lone_surrogate: "A string holds a lone surrogate",
  too_deep: "Arrays and objects are nested too deeply",
  too_large: "The text is too large",
  too_many_nodes: "The text has too many values and keys",
  invalid_utf8: "The bytes are not valid UTF-8",
  trailing_data: "Something follows the JSON value",
  byte_order_mark: "The text begins with a byte order mark",
} as const

/** Why a text was refused: a closed list. */
export type StrictJsonErrorCode = keyof typeof SENTENCES

export interface Position {
  /** From 0: bytes when bytes were parsed, UTF-16 code units when a string was. */
  readonly offset: number
  /** From 1; lines end at LF. */
  readonly line: number
  /** From 1, in UTF-16 code units. */
  readonly column: number
}

/** A refused text and where it went wrong. The message quotes nothing of the text. */
export class StrictJsonError extends Error implements Position {
  readonly code: StrictJsonErrorCode
  readonly offset: number
  readonly line: number
  readonly column: number

  constructor(code: StrictJsonErrorCode, position: Position) {
    super(`${SENTENCES[code]} (line ${position.line}, column ${position.column}).`)
    this.name = "StrictJsonError"
    this.code = code
    this.offset = position.offset
    this.line = position.line
    this.column = position.column
  }
}

/** Where UTF-16 index `at` of `text` lies; `unit` says what `offset` counts. */
export function positionOf(text: string, at: number, unit: "bytes" | "code units"): Position {
  let line = 1
  let lineStart = 0
  for (let end = text.indexOf("\n"); end !== -1 && end < at; end = text.indexOf("\n", lineStart)) {
    line++
    lineStart = end + 1
  }
  return { offset: unit === "bytes" ? utf8Length(text, 0, at) : at, line, column: at - lineStart + 1 }
}
