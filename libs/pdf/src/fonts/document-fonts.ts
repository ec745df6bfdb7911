import type { Face } from "./faces.node.ts"
import type { Shaped } from "./glyph.ts"

/** A character code of a font in one document: one glyph, raised by font units, standing for one text. */
type Code = { readonly glyph: number; readonly rise: number; readonly text: string }

/** The part of a face that a document uses. Codes count from 1 in the order of use; 0 is never drawn. */
export type UsedFont = {
  readonly face: Face
  /** The name in the page's resources. */
  readonly resource: string
  readonly codes: Code[]
  readonly known: Map<string, number>
  /** What words already set are written as. */
  readonly words: WeakMap<Shaped, readonly (string | number)[]>
}

export type DocumentFonts = { readonly used: Map<string, UsedFont> }

/** Different codes of two bytes, without 0. */
const MAX_CODES = 65_535

export function documentFonts(): DocumentFonts {
  return { used: new Map() }
}

export function useFont(fonts: DocumentFonts, face: Face): UsedFont {
  const known = fonts.used.get(face.name)
  if (known !== undefined) return known
  const font: UsedFont = {
    face,
    resource: `F${fonts.used.size + 1}`,
    codes: [],
    known: new Map(),
    words: new WeakMap(),
  }
  fonts.used.set(face.name, font)
  return font
}

/** The code that draws the glyph and is extracted as the text. One glyph may represent several texts, under several codes. */
export function codeOf(font: UsedFont, { glyph, rise, text }: Code): number {
  const key = `${glyph} ${rise} ${text}`
  const known = font.known.get(key)
  if (known !== undefined) return known
  if (font.codes.length >= MAX_CODES) throw new Error("more different glyphs than one font can number")
  const code = font.codes.push({ glyph, rise, text })
  font.known.set(key, code)
  return code
}
