/**
 * The text a report's pages print, run by run, in the order of drawing. A run is what one show operator draws. Only the operators that
 * our reports use may be in a page's content: they fill and stroke paths and set text, so that everything painted as text is here.
 * ISO 32000-1 §8 and §9: fonts of ours are composite with two-byte codes (Identity-H) and a ToUnicode map.
 */

import { member, type PdfFile } from "./pdf-file.ts"
import { PdfError, type PdfValue, readPdf } from "./pdf-value.ts"

/** What one show operator draws. */
export type Run = {
  readonly page: number
  readonly text: string
  /** Where its glyphs that are no blanks begin and end, on its baseline: points from the page's left and lower edge. */
  readonly left: number
  readonly right: number
  readonly baseline: number
  /** Size of its font in points. */
  readonly size: number
}

/** Characters and widths, in thousandths of the font's size, by two-byte code. */
type Font = { readonly characters: ReadonlyMap<number, string>; readonly widths: readonly number[] }

/** Pages of one report; hundreds of approvers stay far below. */
const MAX_PAGES = 20_000
/** Characters in the maps of all fonts; a font of ours has some hundred. */
const MAX_CHARACTERS = 200_000
/** UTF-16 units printed on all pages, each run counting one more. */
const MAX_UNITS = 16_000_000
/** What may still be read of one file. */
type Budget = { characters: number; units: number }

/** The runs of text on every page. @throws PdfError */
export async function printedText(file: PdfFile, pages: readonly PdfValue[]): Promise<readonly Run[]> {
  if (pages.length > MAX_PAGES) throw new PdfError("it has too many pages")
  const budget: Budget = { characters: MAX_CHARACTERS, units: MAX_UNITS }
  const fonts = new Map<number, Font>()
  const runs: Run[] = []
  for (const [page, dictionary] of pages.entries()) {
    const resources = member(member(dictionary, "Resources"), "Font")
    const fontOf = (name: string): Font => {
      const font = member(resources, name)
      const known = font?.kind === "reference" ? fonts.get(font.object) : undefined
      if (known === undefined) throw new PdfError("a font is missing")
      return known
    }
    if (resources?.kind === "dictionary")
      for (const font of resources.entries.values())
        if (font.kind === "reference" && !fonts.has(font.object))
          fonts.set(font.object, await readFont(file, font, budget))
    const data = await file.stream(member(dictionary, "Contents"))
    readContent(data, fontOf, run => {
      budget.units -= 1 + run.text.length
      if (budget.units < 0) throw new PdfError("its pages print too much")
      runs.push({ page, ...run })
    })
  }
  return runs
}

type Take = (run: Omit<Run, "page">) => void

/** Operators that neither show text nor change where it is drawn, and how many numbers each takes. ISO 32000-1 annex A. */
const PAINTING: ReadonlyMap<string, number> = new Map([
  ["rg", 3],
  ["RG", 3],
  ["w", 1],
  ["m", 2],
  ["l", 2],
  ["c", 6],
  ["re", 4],
  ["S", 0],
  ["f", 0],
  ["b", 0],
])
const MAX_OPERANDS = 8
/** Marks within each other. */
const MAX_MARKS = 8
/** Texts and moves of one TJ. */
const MAX_PIECES = 65_536

const inexact = (): PdfError => new PdfError("a page's content is not as our reports draw")

type Statement = { readonly word: string; readonly operands: readonly PdfValue[] }

/** The operators of a content stream with their operands, one by one. */
function statementsIn(data: Uint8Array): () => Statement | undefined {
  const reader = readPdf(data, false)
  return () => {
    const operands: PdfValue[] = []
    for (let value = reader.next(); value !== undefined; value = reader.next()) {
      if (value.kind === "word") return { word: value.word, operands }
      operands.push(value)
      if (operands.length > MAX_OPERANDS) throw inexact()
    }
    if (operands.length > 0) throw inexact()
    return undefined
  }
}

/** Exactly so many numbers. */
function numbersIn(operands: readonly PdfValue[], count: number): readonly number[] {
  const found = operands.flatMap(value =>
    value.kind === "number" && Number.isFinite(value.value) ? [value.value] : [],
  )
  if (found.length !== count || operands.length !== count) throw inexact()
  return found
}

/** Reads a content stream: paths, marks that are opened and closed, and text. */
function readContent(data: Uint8Array, fontOf: (name: string) => Font, take: Take): void {
  const next = statementsIn(data)
  /** The marks that are open, each with whether it is a placeholder for a character. */
  const marks: boolean[] = []
  for (let statement = next(); statement !== undefined; statement = next()) {
    const { word, operands } = statement
    const numbers = PAINTING.get(word)
    if (numbers !== undefined) numbersIn(operands, numbers)
    else if (word === "BT") {
      numbersIn(operands, 0)
      take(readText(next, fontOf, marks.at(-1) === true))
    } else if (word === "BDC" && marks.length < MAX_MARKS) marks.push(isPlaceholder(operands))
    else if (word !== "EMC" || operands.length > 0 || marks.pop() === undefined) throw inexact()
  }
  if (marks.length > 0) throw inexact()
}

/** One run as our reports draw it, behind its `BT`: colour `rg`, font `Tf`, place `Tm`, glyphs `TJ`, `ET`. */
function readText(
  next: () => Statement | undefined,
  fontOf: (name: string) => Font,
  placeholder: boolean,
): Omit<Run, "page"> {
  const operandsOf = (word: string): readonly PdfValue[] => {
    const statement = next()
    if (statement?.word !== word) throw inexact()
    return statement.operands
  }
  numbersIn(operandsOf("rg"), 3)
  const [name, size, ...others] = operandsOf("Tf")
  if (name?.kind !== "name" || size?.kind !== "number" || !(size.value > 0) || others.length > 0) throw inexact()
  const [a, b, c, d, x = 0, y = 0] = numbersIn(operandsOf("Tm"), 6)
  if (a !== 1 || b !== 0 || c !== 0 || d !== 1) throw inexact()
  const run = runOf(operandsOf("TJ"), fontOf(name.name), size.value, { left: x, baseline: y, placeholder })
  numbersIn(operandsOf("ET"), 0)
  if (placeholder && !PLACEHOLDER_LABEL.test(run.text)) throw inexact()
  return placeholder ? { ...run, text: PLACEHOLDER } : run
}

/** What a box is among letters: neither a letter nor a digit. */
const PLACEHOLDER = "\ufffc"
/** The label of a box for a character that cannot be shown, and the text that is copied for it: neither is a piece of a hash. */
const PLACEHOLDER_LABEL = /^ (?:U\+[0-9A-F]{4,6}|[A-Z]{2,4}[1-4]?) $/
const PLACEHOLDER_READS = /^(?:⟦U\+[0-9A-F]{4,6}⟧|[^\0-\x7f])$/u

/** Whether marked content is a placeholder, rather than a structure element's content or an artifact. ISO 32000-1 §14.6. */
function isPlaceholder(operands: readonly PdfValue[]): boolean {
  const [tag, properties, ...others] = operands
  if (tag?.kind !== "name" || properties?.kind !== "dictionary" || others.length > 0) throw inexact()
  if (properties.entries.size !== 1) throw inexact()
  const [mark, type, actual] = ["MCID", "Type", "ActualText"].map(key => member(properties, key))
  if (mark?.kind === "number" && Number.isInteger(mark.value)) return false
  if (tag.name === "Artifact" && type?.kind === "name") return false
  if (tag.name !== "Span" || actual?.kind !== "string" || codeAt(actual.bytes, 0) !== 0xfeff) throw inexact()
  if (!PLACEHOLDER_READS.test(utf16(actual.bytes.subarray(2), MAX_READS_BYTES))) throw inexact()
  return true
}

/** Of what is copied in the place of a character: longer than any that is. */
const MAX_READS_BYTES = 64

/** One run: its text, and how far its glyphs and moves reach. */
function runOf(
  operands: readonly PdfValue[],
  { characters, widths }: Font,
  size: number,
  { left, baseline, placeholder }: { readonly left: number; readonly baseline: number; readonly placeholder: boolean },
): Omit<Run, "page"> {
  const [pieces, ...others] = operands
  if (pieces?.kind !== "array" || others.length > 0 || pieces.items.length > MAX_PIECES) throw inexact()
  // The label of a box has blanks on its outside alone, and they belong to the box.
  const mostAtBlank = placeholder ? Number.POSITIVE_INFINITY : MOST_AT_BLANK
  let text = ""
  let [advance, move, before] = [0, 0, ""]
  const ink = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY }
  for (const piece of pieces.items) {
    if (piece.kind === "number") {
      move -= piece.value
      continue
    }
    if (piece.kind !== "string" || piece.bytes.length % 2 !== 0) throw inexact()
    for (let at = 0; at < piece.bytes.length; at += 2) {
      const code = codeAt(piece.bytes, at)
      const shown = characters.get(code) ?? "\ufffd"
      if (Math.abs(move) > mostBetween(before, shown, mostAtBlank)) throw inexact()
      const from = advance + move
      advance = from + (widths[code - 1] ?? DEFAULT_WIDTH)
      if (placeholder || !isBlank(shown)) {
        ink.from = Math.min(ink.from, from)
        ink.to = Math.max(ink.to, advance)
      }
      text += shown
      ;[move, before] = [0, shown]
    }
    if (text.length > MAX_RUN_UNITS) throw new PdfError("a run of text is too long")
  }
  const [from, to] = ink.from > ink.to ? [0, advance] : [ink.from, ink.to]
  return { text, baseline, size, left: left + (from * size) / 1000, right: left + (to * size) / 1000 }
}

/** In thousandths: how far kerning moves letters, and how far a blank may, so that it stays one that is seen. */
const [MOST_KERNING, MOST_AT_BLANK] = [200, 50]
const isBlank = (text: string): boolean => text.trim() === ""
const isPlain = (text: string): boolean => /^[\x20-\x7e\s]$/.test(text)

/** How far two glyphs may be moved from the position that their widths give. Other scripts position marks by moves. */
function mostBetween(before: string, after: string, mostAtBlank: number): number {
  if (!isPlain(before) || !isPlain(after)) return Number.POSITIVE_INFINITY
  return isBlank(before) || isBlank(after) ? mostAtBlank : MOST_KERNING
}

/** One run: what it prints stays far below the longest text there is. */
const MAX_RUN_UNITS = 1_000_000
/** Of a code without a width of its own, in thousandths. */
export const DEFAULT_WIDTH = 1000
const codeAt = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

async function readFont(file: PdfFile, reference: PdfValue, budget: Budget): Promise<Font> {
  const font = file.resolve(reference)
  const descendants = member(font, "DescendantFonts")
  const [descendant] = descendants?.kind === "array" ? descendants.items : []
  const spans = member(file.resolve(descendant), "W")
  const [, list] = spans?.kind === "array" ? spans.items : []
  const widths = list?.kind === "array" ? list.items.map(width => (width.kind === "number" ? width.value : 0)) : []
  const data = await file.stream(member(font, "ToUnicode"))
  return { characters: characterMap(data, budget), widths }
}

/** A ToUnicode map that names its characters one by one: `bfchar` of Adobe Technical Note 5411. */
function characterMap(data: Uint8Array, budget: Budget): ReadonlyMap<number, string> {
  const map = new Map<number, string>()
  const reader = readPdf(data, false)
  let operands: Uint8Array[] = []
  let inSection = false
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    if (value.kind === "string") operands.push(value.bytes)
    else if (inSection && !isWord(value, "endbfchar")) throw inexactMap()
    if (value.kind !== "word") continue
    // Which of two a viewer takes is its own choice: a range, or another map, could say another thing than a character.
    if (/range$|^usecmap$/.test(value.word) && !/codespacerange$/.test(value.word)) throw inexactMap()
    if (value.word === "endbfchar") {
      if (!inSection) throw inexactMap()
      setCharacters(operands, map, budget)
    }
    inSection = value.word === "beginbfchar"
    operands = []
  }
  return map
}

const inexactMap = (): PdfError => new PdfError("a font's map is not exact")
const isWord = (value: PdfValue, word: string): boolean => value.kind === "word" && value.word === word

function setCharacters(operands: readonly Uint8Array[], map: Map<number, string>, budget: Budget): void {
  for (let at = 0; at + 1 < operands.length; at += 2) {
    const [code, text] = [operands[at], operands[at + 1]]
    if (--budget.characters < 0) throw new PdfError("its fonts have too many characters")
    if (code?.length !== 2 || text === undefined || map.has(codeAt(code, 0))) throw inexactMap()
    map.set(codeAt(code, 0), utf16(text, 2 * MAX_CODE_UNITS))
  }
}

/** UTF-16 units that one code may map to. */
const MAX_CODE_UNITS = 64

function utf16(bytes: Uint8Array, maxBytes: number): string {
  let text = ""
  for (let at = 0; at + 1 < Math.min(bytes.length, maxBytes); at += 2) text += String.fromCharCode(codeAt(bytes, at))
  return text
}
