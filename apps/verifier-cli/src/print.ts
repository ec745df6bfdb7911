/** Renders lines for a terminal. All text of a document passes here and is escaped. */
import { styleText } from "node:util"
import { codePoint, printable } from "@runseal/core/presentation/printable"

export type Tone = "good" | "bad" | "warn" | "quiet" | "strong"
/** A piece of a line; a string has no tone. */
export type Span = string | { readonly text: string; readonly tone: Tone }
export type Line = readonly Span[]

export type Style = {
  /** Whether the terminal takes colours. */
  readonly colour: boolean
  /** Whether only ASCII is written. */
  readonly ascii: boolean
}

const FORMATS: Readonly<Record<Tone, Parameters<typeof styleText>[0]>> = {
  good: "green",
  bad: ["red", "bold"],
  warn: "yellow",
  quiet: "dim",
  strong: "bold",
}

/** ASCII replacements for the verifier's own signs. */
const ASCII_SIGNS: Readonly<Record<string, string>> = { "✓": "+", "✗": "x", "–": "-", "◐": "~", "×": "x", "…": "..." }

const NOT_ASCII = /[^ -~]/gu

function shown(text: string, ascii: boolean): string {
  const safe = printable(text)
  return ascii ? safe.replace(NOT_ASCII, character => ASCII_SIGNS[character] ?? codePoint(character)) : safe
}

/** The lines as one text, each ended by a newline. */
export function printLines(lines: readonly Line[], { colour, ascii }: Style): string {
  const span = (part: Span): string => {
    if (typeof part === "string") return shown(part, ascii)
    const text = shown(part.text, ascii)
    return colour ? styleText(FORMATS[part.tone], text, { validateStream: false }) : text
  }
  return lines.map(line => `${line.map(span).join("")}\n`).join("")
}

/** Indented JSON in printable ASCII; every other character is escaped, so that none can act on a terminal. */
export const printJson = (value: unknown): string => `${asciiOf(JSON.stringify(value, undefined, 2))}\n`

/** As `printJson`, on one line. */
export const printJsonLine = (value: unknown): string => `${asciiOf(JSON.stringify(value))}\n`

function asciiOf(json: string): string {
  return json.replace(/[^\n -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Maximum columns of a line. */
const WIDTH = 111
const INDENT = "  "

/** A text as indented lines, broken between words. */
export function paragraph(text: string): readonly Line[] {
  const lines: string[] = []
  let line = INDENT
  for (const word of text.split(" ")) {
    const longer = line === INDENT ? line + word : `${line} ${word}`
    if (longer.length <= WIDTH || line === INDENT) line = longer
    else {
      lines.push(line)
      line = INDENT + word
    }
  }
  return [...lines, line].map(one => [one])
}
