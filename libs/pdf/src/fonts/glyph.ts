import type { Face } from "./faces.node.ts"

/** A glyph and its position after the one before; lengths in thousandths of the em. */
export type Glyph = {
  readonly id: number
  /** The characters that a program extracts for it. */
  readonly text: string
  readonly advance: number
  readonly dx: number
  readonly dy: number
}

/** Glyphs from left to right, and whether their ink stays in the room of their own line. */
export type Shaped = { readonly glyphs: readonly Glyph[]; readonly width: number; readonly contained: boolean }

/** The advance that a PDF reader computes with: thousandths of the em, as written into the font's widths. */
export function advanceOf(face: Face, glyph: number): number {
  return Math.round((face.tables.advance(glyph) * 1000) / face.tables.unitsPerEm)
}
