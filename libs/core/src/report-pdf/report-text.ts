/**
 * The text a report's pages print, run by run, in the order of drawing. A run is what one show operator draws.
 * ISO 32000-1 §9: fonts of ours are composite with two-byte codes (Identity-H) and a ToUnicode map.
 */

import { member, type PdfFile } from "./pdf-file.ts"
import { latin1, PdfError, type PdfValue, readPdf } from "./pdf-value.ts"

/** Characters by two-byte code. */
type CodeMap = ReadonlyMap<number, string>

/** Pages of one report; hundreds of approvers stay far below. */
const MAX_PAGES = 20_000
/** Levels of the page tree. */
const MAX_TREE_DEPTH = 16

/** The pages in order. @throws PdfError */
export function pagesOf(file: PdfFile): readonly PdfValue[] {
  const pages: PdfValue[] = []
  const walk = (reference: PdfValue | undefined, depth: number): void => {
    const node = file.resolve(reference)
    if (node?.kind !== "dictionary" || depth > MAX_TREE_DEPTH) throw new PdfError("its page tree is not exact")
    const kids = file.resolve(node.entries.get("Kids"))
    if (kids?.kind === "array") for (const kid of kids.items) walk(kid, depth + 1)
    else pages.push(node)
    if (pages.length > MAX_PAGES) throw new PdfError("it has too many pages")
  }
  walk(member(file.resolve(file.trailer.entries.get("Root")), "Pages"), 0)
  return pages
}

/** The runs of text on every page. @throws PdfError */
export async function printedRuns(file: PdfFile): Promise<readonly string[]> {
  const maps = new Map<number, Promise<CodeMap>>()
  const mapOf = (font: PdfValue | undefined): Promise<CodeMap> => {
    if (font?.kind !== "reference") throw new PdfError("a font is missing")
    const known = maps.get(font.object) ?? codeMap(file, font)
    maps.set(font.object, known)
    return known
  }
  const runs: string[] = []
  for (const page of pagesOf(file)) {
    const fonts = file.resolve(member(file.resolve(member(page, "Resources")), "Font"))
    for (const part of partsOf(file.resolve(member(page, "Contents")), member(page, "Contents"))) {
      const { data } = await file.stream(part)
      await readContent(data, async name => mapOf(member(fonts, name)), runs)
    }
  }
  return runs
}

const partsOf = (contents: PdfValue | undefined, reference: PdfValue | undefined): readonly (PdfValue | undefined)[] =>
  contents?.kind === "array" ? contents.items : [reference]

async function readContent(
  data: Uint8Array,
  fontOf: (name: string) => Promise<CodeMap>,
  runs: string[],
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
    if (SHOW.has(value.word)) runs.push(operands.map(operand => textOf(operand, font)).join(""))
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
  let text = ""
  for (let i = 0; i + 1 < value.bytes.length; i += 2)
    text += font.get(((value.bytes[i] ?? 0) << 8) | (value.bytes[i + 1] ?? 0)) ?? "\ufffd"
  return text
}

/** The font's ToUnicode map: `bfchar` and `bfrange` of Adobe Technical Note 5411. */
async function codeMap(file: PdfFile, font: PdfValue): Promise<CodeMap> {
  const { data } = await file.stream(member(file.resolve(font), "ToUnicode"))
  const map = new Map<number, string>()
  const text = latin1(data)
  for (const [, body = ""] of text.matchAll(/beginbfchar([\s\S]*?)endbfchar/g))
    for (const [, from = "", to = ""] of body.matchAll(/<([0-9a-f]+)>\s*<([0-9a-f]+)>/gi)) map.set(hex(from), utf16(to))
  for (const [, body = ""] of text.matchAll(/beginbfrange([\s\S]*?)endbfrange/g))
    for (const [, from = "", last = "", to = ""] of body.matchAll(/<([0-9a-f]+)>\s*<([0-9a-f]+)>\s*<([0-9a-f]+)>/gi))
      for (let code = hex(from); code <= Math.min(hex(last), MAX_CODE); code++)
        map.set(code, next(utf16(to), code - hex(from)))
  return map
}

const MAX_CODE = 0xffff
const hex = (digits: string): number => Number.parseInt(digits, 16)

const utf16 = (digits: string): string =>
  String.fromCharCode(...(digits.match(/[0-9a-f]{4}/gi) ?? []).slice(0, MAX_UNITS).map(hex))
/** UTF-16 units one code may stand for. */
const MAX_UNITS = 64

/** A range counts on in its last unit. */
const next = (text: string, by: number): string =>
  text.slice(0, -1) + String.fromCharCode((text.charCodeAt(text.length - 1) + by) & MAX_CODE)
