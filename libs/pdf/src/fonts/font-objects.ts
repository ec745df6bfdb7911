import { type PDFContext, type PDFRef, PDFString } from "@cantoo/pdf-lib"
import { sha256Hex } from "@runseal/canonical"
import type { UsedFont } from "./document-fonts.ts"
import { advanceOf } from "./glyph.ts"
import { type Cut, subsetTrueType } from "./subset.ts"
import { utf16Hex } from "./utf16.ts"

/** Flags of a font descriptor (ISO 32000-1, table 123). */
const FIXED_PITCH = 1
const SYMBOLIC = 4
const ITALIC = 64
/** What the descriptor wants and TrueType does not tell. */
const STEM_WIDTH = 80

/** Writes a font with only its used glyphs: a Type 0 font over a CIDFontType2 (ISO 32000-1, 9.7). */
export function writeFont(context: PDFContext, font: UsedFont): PDFRef {
  const { face, codes } = font
  const { cuts, places } = cutsOf(codes)
  const file = subsetTrueType(face.tables, cuts)
  const name = `${subsetTag(file)}+${face.postScriptName}`
  const glyphOfCode = new Uint8Array((codes.length + 1) * 2)
  for (const [index, place] of places.entries()) glyphOfCode.set([place >> 8, place & 255], (index + 1) * 2)
  const descendant = context.obj({
    Type: "Font",
    Subtype: "CIDFontType2",
    BaseFont: name,
    CIDSystemInfo: { Registry: PDFString.of("Adobe"), Ordering: PDFString.of("Identity"), Supplement: 0 },
    FontDescriptor: writeDescriptor(context, font, name, file),
    DW: 1000,
    W: [1, codes.map(({ glyph }) => advanceOf(face, glyph))],
    CIDToGIDMap: context.register(context.flateStream(glyphOfCode)),
  })
  return context.register(
    context.obj({
      Type: "Font",
      Subtype: "Type0",
      BaseFont: name,
      Encoding: "Identity-H",
      DescendantFonts: [context.register(descendant)],
      ToUnicode: context.register(context.flateStream(toUnicodeMap(codes.map(({ text }) => text)))),
    }),
  )
}

/** The glyphs behind the codes, each once, and for every code the place of its glyph. */
function cutsOf(codes: readonly Cut[]): { readonly cuts: readonly Cut[]; readonly places: readonly number[] } {
  const cuts: Cut[] = []
  const known = new Map<string, number>()
  const places = codes.map(({ glyph, rise }) => {
    const key = `${glyph} ${rise}`
    const place = known.get(key) ?? cuts.push({ glyph, rise })
    known.set(key, place)
    return place
  })
  return { cuts, places }
}

function writeDescriptor(context: PDFContext, { face }: UsedFont, name: string, file: Uint8Array): PDFRef {
  const { tables } = face
  const scaled = (value: number): number => Math.round((value * 1000) / tables.unitsPerEm)
  const flags = SYMBOLIC + (face.monospaced ? FIXED_PITCH : 0) + (tables.italicAngle === 0 ? 0 : ITALIC)
  return context.register(
    context.obj({
      Type: "FontDescriptor",
      FontName: name,
      Flags: flags,
      FontBBox: tables.box.map(scaled),
      ItalicAngle: tables.italicAngle,
      Ascent: scaled(tables.ascent),
      Descent: scaled(tables.descent),
      CapHeight: scaled(tables.capHeight),
      StemV: STEM_WIDTH,
      FontFile2: context.register(context.flateStream(file, { Length1: file.length })),
    }),
  )
}

/** Six letters that tell subsets apart (ISO 32000-1, 9.6.4). */
function subsetTag(file: Uint8Array): string {
  return Array.from(sha256Hex(file).slice(0, 12).matchAll(/../g), ([pair]) =>
    String.fromCharCode(65 + (Number.parseInt(pair, 16) % 26)),
  ).join("")
}

/** Entries of one `bfchar` section (Adobe technical note 5014). */
const SECTION = 100

/** The ToUnicode map (ISO 32000-1, 9.10.3) of codes counted from 1. */
function toUnicodeMap(texts: readonly string[]): string {
  const sections: string[] = []
  for (let start = 0; start < texts.length; start += SECTION) {
    const entries = texts.slice(start, start + SECTION).map((text, index) => {
      const code = (start + index + 1).toString(16).padStart(4, "0")
      return `<${code}> <${utf16Hex(text)}>`
    })
    sections.push(`${entries.length} beginbfchar\n${entries.join("\n")}\nendbfchar`)
  }
  return [
    "/CIDInit /ProcSet findresource begin",
    "12 dict begin",
    "begincmap",
    "/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def",
    "/CMapName /Adobe-Identity-UCS def",
    "/CMapType 2 def",
    "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange",
    ...sections,
    "endcmap",
    "CMapName currentdict /CMap defineresource pop",
    "end",
    "end",
  ].join("\n")
}
