import type { Line, Span, Tone } from "../block.ts"
import { type Face, type FontStyle, faceFor, firstFace } from "../fonts/faces.node.ts"
import { directions } from "./direction.ts"
import type { Setting } from "./setting.ts"
import { missing, type Placeholder, placeholderFor } from "./visible.ts"

/** The smallest piece of a line: one face, one direction, one style; in logical order. */
export type Item = {
  readonly kind: "word" | "space" | "placeholder"
  readonly text: string
  readonly style: FontStyle
  readonly tone: Tone
  readonly face: Face
  /** UAX #9 embedding level; odd runs from right to left. */
  readonly level: number
  /** The span it comes from. */
  readonly part: number
  readonly placeholder?: Placeholder
  /** A line may end after it. */
  readonly breakAfter: boolean
  /** A line must end after it. */
  readonly newline: boolean
  /** It is not broken where it can be set smaller. */
  readonly whole?: true
}

/** Marks on one letter that keep their place above and below it; more would reach into the lines around. */
const MAX_MARKS = 3

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const MARK = /\p{M}/u
/** Between these a line may break anywhere … */
const IDEOGRAPHIC = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uff60]/u
/** … but not before these. */
const CLOSING =
  /[\u3001\u3002\u3009\u300b\u300d\u300f\u3011\u3015\u3017\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d\u30fc]/
const ARABIC = /\p{Script_Extensions=Arabic}/u
/** Represents a box while directions are resolved: a neutral character. */
const OBJECT = "\ufffc"

type Part = {
  readonly text: string
  readonly face: Face
  readonly arabic: boolean
  readonly placeholder?: Placeholder
}

/** The pieces of a passage, and whether it runs from right to left. */
export function itemsOf(
  line: Line,
  setting: Setting,
): { readonly items: readonly Item[]; readonly rightToLeft: boolean } {
  const spans = line.filter(span => span.text !== "")
  const parts = spans.map(span => partsOf(span.text, span.style ?? setting.style))
  const { rightToLeft, levels } = directions(
    parts.map(list => list.map(part => (part.placeholder ? OBJECT : part.text)).join("")),
  )
  const items: Item[] = []
  for (const [index, span] of spans.entries()) {
    addItems(items, parts[index] ?? [], levels[index] ?? new Uint8Array(), lookOf(span, index, setting))
  }
  return { items, rightToLeft }
}

/** Text cut where the face changes, with boxes for what cannot be drawn. */
function partsOf(text: string, style: FontStyle): Part[] {
  const first = firstFace(style)
  if (PRINTABLE_ASCII.test(text)) return [{ text, face: first, arabic: false }]
  const parts: Part[] = []
  let open: { text: string; face: Face; arabic: boolean } | undefined
  let marks = 0
  const close = (): void => {
    if (open !== undefined) parts.push(open)
    open = undefined
  }
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0
    const isMark = MARK.test(character)
    marks = isMark ? marks + 1 : 0
    const joins = isMark && open !== undefined && !open.text.endsWith(" ") && marks <= MAX_MARKS
    const face = isMark ? (joins && open?.face.glyph(codePoint) ? open.face : undefined) : faceFor(style, codePoint)
    const placeholder = placeholderFor(character) ?? (face === undefined ? missing(character) : undefined)
    if (placeholder !== undefined || face === undefined) {
      close()
      parts.push({
        text: character,
        face: firstFace("mono"),
        arabic: false,
        placeholder: placeholder ?? missing(character),
      })
      continue
    }
    const arabic = isMark ? (open?.arabic ?? false) : ARABIC.test(character)
    if (open !== undefined && (open.face !== face || open.arabic !== arabic)) close()
    if (open === undefined) open = { text: character, face, arabic }
    else open.text += character
  }
  close()
  return parts
}

type Look = Pick<Item, "style" | "tone" | "part" | "whole">

function lookOf(span: Span, part: number, setting: Setting): Look {
  const look = { style: span.style ?? setting.style, tone: span.tone ?? setting.tone, part }
  return span.whole === undefined ? look : { ...look, whole: span.whole }
}

function addItems(items: Item[], parts: readonly Part[], levels: Uint8Array, look: Look): void {
  let at = 0
  for (const part of parts) {
    if (part.placeholder !== undefined) {
      const newline = part.text === "\n" || part.text === "\u2028" || part.text === "\u2029"
      const level = levels[at] ?? 0
      items.push({ kind: "placeholder", ...part, ...look, level, breakAfter: true, newline })
      at += OBJECT.length
      continue
    }
    for (const [text, level] of levelRuns(part.text, levels, at)) {
      for (const piece of look.whole ? [text] : pieces(text, look.style)) {
        const kind = piece === " " ? "space" : "word"
        const breakAfter = kind === "space" || IDEOGRAPHIC.test(piece) || (look.style !== "mono" && piece.endsWith("-"))
        items.push({ kind, text: piece, face: part.face, ...look, level, breakAfter, newline: false })
      }
    }
    at += part.text.length
  }
}

function levelRuns(text: string, levels: Uint8Array, from: number): (readonly [string, number])[] {
  const runs: (readonly [string, number])[] = []
  for (let start = 0; start < text.length; ) {
    const level = levels[from + start] ?? 0
    let end = start + 1
    while (end < text.length && (levels[from + end] ?? 0) === level) end++
    runs.push([text.slice(start, end), level])
    start = end
  }
  return runs
}

/** Cuts at spaces, after hyphens within words, which those of codes are not, and around ideographs. */
function pieces(text: string, style: FontStyle): string[] {
  const cut: string[] = []
  for (const word of text.match(/ |[^ ]+/g) ?? []) {
    if (style === "mono" && !IDEOGRAPHIC.test(word)) cut.push(word)
    else if (PRINTABLE_ASCII.test(word)) cut.push(...(word.match(/.*?[A-Za-z0-9]-(?=[A-Za-z])|.+/g) ?? [word]))
    else if (IDEOGRAPHIC.test(word)) cut.push(...ideographs(word))
    else cut.push(word)
  }
  return cut
}

function ideographs(word: string): string[] {
  const cut: string[] = []
  let open = ""
  for (const character of word) {
    const joins =
      open === "" ||
      MARK.test(character) ||
      CLOSING.test(character) ||
      !(IDEOGRAPHIC.test(open) || IDEOGRAPHIC.test(character))
    if (joins) open += character
    else {
      cut.push(open)
      open = character
    }
  }
  if (open !== "") cut.push(open)
  return cut
}
