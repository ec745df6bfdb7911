/**
 * The text a report's pages print, run by run, in the order of drawing. A run is what one show operator draws.
 * ISO 32000-1 §9: fonts of ours are composite with two-byte codes (Identity-H) and a ToUnicode map.
 */

import { member, type PdfFile } from "./pdf-file.ts"
import { PdfError, type PdfValue, readPdf } from "./pdf-value.ts"

/** Characters by two-byte code. */
type CodeMap = ReadonlyMap<number, string>

/** Pages of one report; hundreds of approvers stay far below. */
const MAX_PAGES = 20_000
/** Levels of the page tree. */
const MAX_TREE_DEPTH = 16
/** Nodes of the page tree, each as often as the tree names it. */
const MAX_TREE_NODES = 2 * MAX_PAGES

/** The pages in order. @throws PdfError */
export function pagesOf(file: PdfFile): readonly PdfValue[] {
  const pages: PdfValue[] = []
  let nodes = 0
  const walk = (reference: PdfValue | undefined, depth: number): void => {
    const node = file.resolve(reference)
    if (node?.kind !== "dictionary" || depth > MAX_TREE_DEPTH || ++nodes > MAX_TREE_NODES)
      throw new PdfError("its page tree is not exact")
    const kids = file.resolve(node.entries.get("Kids"))
    if (kids?.kind === "array") for (const kid of kids.items) walk(kid, depth + 1)
    else pages.push(node)
    if (pages.length > MAX_PAGES) throw new PdfError("it has too many pages")
  }
  walk(member(file.resolve(file.trailer.entries.get("Root")), "Pages"), 0)
  return pages
}

/** What may still be read of one file. */
type Budget = { characters: number; units: number }
/** Characters in the maps of all fonts; a font of ours has some hundred. */
const MAX_CHARACTERS = 200_000
/** UTF-16 units printed on all pages, each run counting one more. */
const MAX_UNITS = 16_000_000

/** The runs of text on every page. @throws PdfError */
export async function printedRuns(file: PdfFile): Promise<readonly string[]> {
  const budget: Budget = { characters: MAX_CHARACTERS, units: MAX_UNITS }
  const maps = new Map<number, Promise<CodeMap>>()
  const mapOf = (font: PdfValue | undefined): Promise<CodeMap> => {
    if (font?.kind !== "reference") throw new PdfError("a font is missing")
    const known = maps.get(font.object) ?? codeMap(file, font, budget)
    maps.set(font.object, known)
    return known
  }
  const runs: string[] = []
  for (const page of pagesOf(file)) {
    const fonts = file.resolve(member(file.resolve(member(page, "Resources")), "Font"))
    for (const part of partsOf(file.resolve(member(page, "Contents")), member(page, "Contents"))) {
      const { data } = await file.stream(part)
      await readContent(
        data,
        async name => mapOf(member(fonts, name)),
        text => runs.push(spent(budget, text)),
      )
    }
  }
  return runs
}

/** The text of a run, paid for. */
function spent(budget: Budget, text: string): string {
  budget.units -= 1 + text.length
  if (budget.units < 0) throw new PdfError("its pages print too much")
  return text
}

const partsOf = (contents: PdfValue | undefined, reference: PdfValue | undefined): readonly (PdfValue | undefined)[] =>
  contents?.kind === "array" ? contents.items : [reference]

async function readContent(
  data: Uint8Array,
  fontOf: (name: string) => Promise<CodeMap>,
  take: (run: string) => void,
): Promise<void> {
  const reader = readPdf(data, false)
  let operands: PdfValue[] = []
  let font: CodeMap = new Map()
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    if (value.kind !== "word") {
      operands.push(value)
      if (operands.length > MAX_OPERANDS) throw new PdfError("a page's content is not exact")
      continue
    }
    const [first] = operands
    if (value.word === "Tf" && first?.kind === "name") font = await fontOf(first.name)
    if (SHOW.has(value.word)) take(operands.map(operand => textOf(operand, font)).join(""))
    if (value.word === "BI") throw new PdfError("a page holds an inline image")
    operands = []
  }
}

/** Operators that show text; all but the last operand of `"` are numbers, which have none. */
const SHOW: ReadonlySet<string> = new Set(["Tj", "TJ", "'", '"'])
const MAX_OPERANDS = 256

function textOf(value: PdfValue, font: CodeMap): string {
  if (value.kind === "array") return value.items.map(item => textOf(item, font)).join("")
  if (value.kind !== "string") return ""
  const { bytes } = value
  if (bytes.length > MAX_RUN_BYTES) throw new PdfError("a run of text is too long")
  let text = ""
  for (let i = 0; i + 1 < bytes.length; i += 2) text += font.get(codeAt(bytes, i)) ?? "\ufffd"
  return text
}

/** One string of one show operator: what it prints stays far below the longest text there is. */
const MAX_RUN_BYTES = 65_536
const codeAt = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

/** The font's ToUnicode map: `bfchar` and `bfrange` of Adobe Technical Note 5411. */
async function codeMap(file: PdfFile, font: PdfValue, budget: Budget): Promise<CodeMap> {
  const { data } = await file.stream(member(file.resolve(font), "ToUnicode"))
  const map = new Map<number, string>()
  const set = (code: number, text: string): void => {
    if (--budget.characters < 0) throw new PdfError("its fonts have too many characters")
    map.set(code, text)
  }
  const reader = readPdf(data, false)
  let operands: Uint8Array[] = []
  for (let value = reader.next(); value !== undefined; value = reader.next()) {
    if (value.kind === "string") operands.push(value.bytes)
    if (value.kind !== "word") continue
    if (value.word === "endbfchar") setCharacters(operands, set)
    if (value.word === "endbfrange") setRanges(operands, set)
    operands = []
  }
  return map
}

type SetCode = (code: number, text: string) => void

function setCharacters(operands: readonly Uint8Array[], set: SetCode): void {
  for (let at = 0; at + 1 < operands.length; at += 2) set(codeOf(operands[at]), utf16(operands[at + 1]))
}

function setRanges(operands: readonly Uint8Array[], set: SetCode): void {
  for (let at = 0; at + 2 < operands.length; at += 3) {
    const from = codeOf(operands[at])
    const text = utf16(operands[at + 2])
    for (let code = from; code <= codeOf(operands[at + 1]); code++) set(code, next(text, code - from))
  }
}

/** A two-byte code. */
const codeOf = (bytes: Uint8Array = new Uint8Array()): number => codeAt(bytes, 0)

/** UTF-16 units one code may stand for. */
const MAX_CODE_UNITS = 64

function utf16(bytes: Uint8Array = new Uint8Array()): string {
  let text = ""
  for (let at = 0; at + 1 < Math.min(bytes.length, 2 * MAX_CODE_UNITS); at += 2)
    text += String.fromCharCode(codeAt(bytes, at))
  return text
}

/** A range counts on in its last unit. */
const next = (text: string, by: number): string =>
  text.slice(0, -1) + String.fromCharCode((text.charCodeAt(text.length - 1) + by) & 0xffff)
