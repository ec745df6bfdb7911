import { describe, expect, test } from "vitest"
import { HASH, lineOf, reportWith } from "../../test/drawable-reports.ts"
import { hasTool } from "../../test/pdf-tools.ts"
import { overlapsIn, wordsIn } from "../../test/pdf-words.ts"
import type { Density, Line } from "../block.ts"
import { drawReport } from "../draw-report.ts"
import { PAGE } from "../page/style.ts"

const poppler = hasTool("pdftotext")
const DENSITIES: readonly Density[] = ["roomy", "compact"]

const wordsOf = (rows: readonly (readonly Line[])[], density: Density) => {
  const columns = (rows[0] ?? []).map((_, at) => ({ title: `c${at}`, share: at === 0 ? 1 : 9 }))
  return drawReport(reportWith([{ kind: "table", caption: "Caption", columns, rows }], { density })).then(wordsIn)
}

describe.skipIf(!poppler).each(DENSITIES)("the columns of a %s table (skipped without poppler)", density => {
  test("are as wide as their longest words, whatever their shares", async () => {
    const cells = ["funds_transfer", "bank:sepa", "acknowledged"].map(lineOf)
    const words = await wordsOf([[...cells, [{ text: HASH, style: "mono" }]]], density)
    const texts = words.map(({ text }) => text)
    for (const word of ["funds_transfer", "bank:sepa", "acknowledged"]) expect(texts).toContain(word)
  })

  test("hold a hash in one piece beside words", async () => {
    const hash: Line = [{ text: HASH, style: "mono" }]
    const words = await wordsOf([[lineOf("treasurer"), lineOf("2025-03-17T09:12:04Z"), hash]], density)
    expect(words.map(({ text }) => text)).toEqual(expect.arrayContaining(["treasurer", "2025-03-17T09:12:04Z", HASH]))
  })

  test("stay on the page when the longest words do not fit, and the short words stay whole", async () => {
    const words = await wordsOf([["x".repeat(900), "short", "y".repeat(300), "acknowledged"].map(lineOf)], density)
    expect(words.map(({ text }) => text)).toEqual(expect.arrayContaining(["short", "acknowledged"]))
    expect(overlapsIn(words)).toEqual([])
    for (const { left, right } of words) {
      expect(left).toBeGreaterThan(40)
      expect(right).toBeLessThan(PAGE.width - 40)
    }
  })

  test("break no number: a row that they cannot hold is set line by line below, each value behind its column's title", async () => {
    const texts = [
      "a_check_of_a_day",
      "0.000001234567890123",
      "12345678901234567890",
      "EUR_per_day_and_account",
      "false",
    ]
    const wide = [...texts, "beyond".repeat(20), "1.5e-300"].map(lineOf)
    const words = await wordsOf([["day", "1", "2", "EUR", "true", "no", "3"].map(lineOf), wide], density)
    const found = words.map(({ text }) => text)
    expect(found).toEqual(expect.arrayContaining([...texts, "1.5e-300"]))
    const [at, title] = [found.indexOf("0.000001234567890123"), found.lastIndexOf("c1")]
    expect(title).toBe(at - 1)
    expect(words[at]?.top).toBeCloseTo(words[title]?.top ?? 0, 0)
    expect(overlapsIn(words)).toEqual([])
    expect(Math.max(...words.map(({ right }) => right))).toBeLessThan(PAGE.width - 40)
  })

  test("break a signature rather than set its row across them", async () => {
    const words = await wordsOf([[lineOf("1"), lineOf("2"), lineOf("c2lnbmF0dXJl".repeat(20))]], density)
    expect(words.filter(({ text }) => text === "c1")).toHaveLength(1)
  })

  test("hold long words that break after a slash or a dash", async () => {
    const address = "https://example.com/".padEnd(200, "path/")
    const words = await wordsOf([[lineOf("1"), lineOf(address), lineOf(address)]], density)
    expect(words.filter(({ text }) => text === "c1")).toHaveLength(1)
  })

  test("are split by their shares when all words are short", async () => {
    const words = await wordsOf([["one", "two"].map(lineOf)], density)
    const leftOf = (text: string): number => words.find(word => word.text === text)?.left ?? 0
    expect(leftOf("two")).toBeLessThan(leftOf("one") + 80)
  })
})

test.skipIf(!poppler)("a span can begin a new line of its cell (skipped without poppler)", async () => {
  const cell: Line = [{ text: "first" }, { text: "second", newLine: true }]
  const words = await wordsOf([[cell, lineOf("beside")]], "compact")
  const [first, second] = ["first", "second"].map(text => words.find(word => word.text === text))
  expect(second?.top).toBeGreaterThan(first?.bottom ?? Number.POSITIVE_INFINITY)
  expect(second?.left).toBeCloseTo(first?.left ?? 0, 1)
})
