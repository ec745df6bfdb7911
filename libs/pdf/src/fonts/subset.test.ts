import { create, type Font } from "fontkit"
import { describe, expect, test } from "vitest"
import { type FaceName, face } from "./faces.node.ts"
import { subsetTrueType } from "./subset.ts"
import { readTrueType } from "./truetype.ts"

const FACES: readonly FaceName[] = ["text", "mono", "world", "han", "hangul"]
const outline = (font: Font, glyph: number): string => font.getGlyph(glyph).path.toSVG()
const opened = (file: Uint8Array): Font => {
  // A subset has no names and no map of characters, which fontkit needs before it draws anything.
  const font = create(Buffer.from(file))
  if (!("getGlyph" in font)) throw new Error("a collection")
  return font
}

describe.each(FACES)("a subset of %s", name => {
  const { font, tables, glyph } = face(name)
  const texts = Array.from(name === "han" ? "漢字、é:;" : name === "hangul" ? "한국가각" : "Aé:;ǺÅñ!?8.")
  const glyphs = [...new Set(texts.map(text => glyph(text.codePointAt(0) ?? 0)).filter(id => id > 0))]

  test("draws the same glyphs at their new places, parts of composites with them", () => {
    const subset = subsetTrueType(
      tables,
      glyphs.map(id => ({ glyph: id, rise: 0 })),
    )
    const read = readTrueType(subset)
    const small = opened(subset)
    expect(read.glyphCount).toBeLessThan(glyphs.length + 20)
    for (const [index, id] of glyphs.entries()) {
      expect(outline(small, index + 1)).toBe(outline(font, id))
      expect(read.advance(index + 1)).toBe(tables.advance(id))
    }
  })

  test("leaves the face as it was", () => {
    const first = subsetTrueType(
      tables,
      glyphs.map(id => ({ glyph: id, rise: 0 })),
    )
    subsetTrueType(
      tables,
      glyphs.toReversed().map(id => ({ glyph: id, rise: 0 })),
    )
    expect(
      subsetTrueType(
        tables,
        glyphs.map(id => ({ glyph: id, rise: 0 })),
      ),
    ).toEqual(first)
  })

  test("raises a glyph", () => {
    const [id = 0] = glyphs
    const read = readTrueType(
      subsetTrueType(tables, [
        { glyph: id, rise: 100 },
        { glyph: id, rise: -50 },
      ]),
    )
    const [left = 0, bottom = 0, right = 0, top = 0] = tables.ink(id) ?? []
    expect(read.ink(1)).toEqual([left, bottom + 100, right, top + 100])
    expect(read.ink(2)).toEqual([left, bottom - 50, right, top - 50])
  })
})
