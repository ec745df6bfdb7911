import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { HASH, lineOf } from "../../test/drawable-reports.ts"
import { SETTINGS } from "../page/style.ts"
import { INK_BOTTOM, INK_TOP } from "./measure.ts"
import { longestWord, type TextLine, wrap } from "./wrap.ts"

const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0x10ffff }).map(code => String.fromCodePoint(code)),
  maxLength: 80,
})
const scripts = fc.string({
  unit: fc.constantFrom(
    ..."abc défß ﬁ Ǻ Ж α שלום ָּ سلام لا ًّ 漢字、。「한국 \u0301\u0302\u200f\u202e()[]-/.0123456789👍\n",
  ),
  maxLength: 120,
})
const width = fc.integer({ min: 40, max: 480 })
const shown = (lines: readonly TextLine[]): string[] =>
  lines.flatMap(({ boxes }) => boxes.flatMap(({ box }) => Array.from(box.item.text)))
const drawnOf = (lines: readonly TextLine[]): string[] =>
  lines.map(({ boxes }) => boxes.map(({ box }) => box.item.text).join(""))

describe("lines of any text", () => {
  test("are no wider than their column", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, scripts), width, (text, room) => {
        for (const line of wrap(lineOf(text), SETTINGS.body, room)) expect(line.width).toBeLessThanOrEqual(room + 0.01)
      }),
      { numRuns: 300 },
    )
  })

  test("hold every character but the spaces they end with", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, scripts), width, (text, room) => {
        const sortedVisible = (characters: readonly string[]): string[] =>
          characters.filter(each => each !== " ").sort()
        expect(sortedVisible(shown(wrap(lineOf(text), SETTINGS.cell, room)))).toEqual(sortedVisible(Array.from(text)))
      }),
      { numRuns: 300 },
    )
  })

  test("have no ink in the lines around them", () => {
    fc.assert(
      fc.property(scripts, text => {
        for (const { boxes } of wrap(lineOf(text), SETTINGS.body, 300)) {
          for (const { box } of boxes) {
            const { tables, scale } = box.item.face
            for (const { id, dy } of box.placeholder === undefined ? box.shaped.glyphs : []) {
              const [, bottom, , top] = (tables.ink(id) ?? [0, 0, 0, 0]).map(
                edge => (edge * 1000) / tables.unitsPerEm + dy,
              )
              expect((top ?? 0) * scale).toBeLessThanOrEqual(INK_TOP)
              expect((bottom ?? 0) * scale).toBeGreaterThanOrEqual(INK_BOTTOM)
            }
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe("a hash", () => {
  const mono = [{ text: HASH, style: "mono" }] as const

  test("is never broken where the column allows it, if need be a little smaller", () => {
    const [whole] = wrap(mono, SETTINGS.cell, 480)
    const natural = whole?.width ?? 0
    expect(drawnOf(wrap(mono, SETTINGS.cell, natural * 0.85))).toEqual([HASH])
  })

  test("is broken at 32 digits elsewhere, at 16 in a column narrower still, whatever stands before its colon", () => {
    const [whole] = wrap(mono, SETTINGS.cell, 480)
    const digit = (whole?.width ?? 0) / 64
    const broken = (text: string, digits: number): string[] =>
      drawnOf(wrap([{ text, style: "mono" }], SETTINGS.cell, digit * digits + 0.5))
    expect(broken(HASH, 45)).toEqual([HASH.slice(0, 32), HASH.slice(32)])
    expect(broken(HASH, 20)).toEqual([HASH.slice(0, 16), HASH.slice(16, 32), HASH.slice(32, 48), HASH.slice(48)])
    expect(broken(`sha256:${HASH}`, 45)).toEqual([`sha256:${HASH.slice(0, 32)}`, HASH.slice(32)])
  })
})

test("a text longer than a word is set without kerning, which is most of the work of a long report", () => {
  const widthOf = (text: string): number => wrap(lineOf(text), SETTINGS.body, 100_000)[0]?.width ?? 0
  expect(widthOf("AV")).toBeLessThan(widthOf("A") + widthOf("V"))
  expect(widthOf("AV".repeat(500))).toBeCloseTo(500 * (widthOf("A") + widthOf("V")))
})

describe("direction", () => {
  const visual = (text: string): string => drawnOf(wrap(lineOf(text), SETTINGS.body, 480)).join("\n")

  test("a passage in Hebrew runs from right to left, its numbers from left to right", () => {
    const [line] = wrap(lineOf("שלום 123"), SETTINGS.body, 480)
    expect(line?.rightToLeft).toBe(true)
    expect(visual("שלום 123")).toBe("123 שלום")
  })

  test("a span never turns the words around it", () => {
    const spans = [{ text: "by " }, { text: "שלום (" }, { text: " on 5 May" }]
    const text = drawnOf(wrap(spans, SETTINGS.body, 480)).join("")
    expect(text.startsWith("by ")).toBe(true)
    expect(text.endsWith(" on 5 May")).toBe(true)
  })

  test("a control for direction is shown and turns nothing", () => {
    expect(visual("abc\u202edef ghi")).toBe("abc\u202edef ghi")
  })
})

describe("marks", () => {
  test("without a letter, and more than three on one, stand beside it", () => {
    const placeholders = (text: string): number =>
      wrap(lineOf(text), SETTINGS.body, 480).flatMap(({ boxes }) => boxes.filter(({ box }) => box.placeholder)).length
    expect(placeholders("é e\u0301 Vie\u0323\u0302t")).toBe(0)
    expect(placeholders("\u0301")).toBe(1)
    expect(placeholders(" \u0301")).toBe(1)
    expect(placeholders(`a${"\u0301".repeat(9)}`)).toBeGreaterThanOrEqual(6)
  })
})

test("a command stays on one line, and is set smaller where it has to be", () => {
  const text = "verifier runseal-audit-run-1234-comprehensive.pdf --trust trust.json"
  const setting = SETTINGS.body
  const width = longestWord([{ text, style: "mono", whole: true }], setting) * 0.7
  expect(wrap([{ text, style: "mono" }], setting, width).length).toBeGreaterThan(1)
  const lines = wrap([{ text, style: "mono", whole: true }], setting, width)
  expect(lines).toHaveLength(1)
  expect(lines[0]?.width).toBeLessThanOrEqual(width)
})
