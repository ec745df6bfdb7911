import { readLayout } from "@runseal/core/report-pdf/report-layout"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { lineOf, reportWith } from "../test/drawable-reports.ts"
import { askTool, hasTool } from "../test/pdf-tools.ts"
import { type WordBox, wordsIn } from "../test/pdf-words.ts"
import type { Block, Density } from "./block.ts"
import { drawReport } from "./draw-report.ts"
import { PAGE, STYLES } from "./page/style.ts"

const poppler = hasTool("pdftotext")
const DENSITIES: readonly Density[] = ["roomy", "compact"]
/** Every code point there is, lone surrogates among them. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0x10ffff }).map(code => String.fromCodePoint(code)),
  maxLength: 60,
})
const liveliest = fc.constantFrom(
  "\u202e",
  "\u2067",
  "(",
  "\u0301",
  "ש",
  "س",
  "\u200d",
  "\n",
  " ",
  "x",
  "漢",
  "👍",
  "\ufdfd",
  "-",
  "/",
)
const rowdy = fc.oneof(anyText, fc.string({ unit: liveliest, maxLength: 200 }))

function everywhere(text: string): Block[] {
  const line = [{ text }, { text, style: "mono" } as const, { text, style: "bold", tone: "bad" } as const]
  return [
    {
      kind: "cover",
      title: text,
      subtitle: text,
      verdict: text,
      tone: "bad",
      facts: [{ label: text, value: line }],
    },
    { kind: "heading", level: 1, text },
    { kind: "paragraph", line },
    { kind: "list", ordered: false, items: [line] },
    { kind: "callout", tone: "warn", title: text, lines: [line] },
    {
      kind: "table",
      caption: text,
      columns: [
        { title: text, share: 1, align: "end" },
        { title: text, share: 9 },
      ],
      rows: [[line, line]],
    },
    { kind: "timeline", alternative: text, steps: [{ kind: "gate", code: text, label: text, state: "stopped" }] },
    { kind: "gauge", label: text, before: Number.NaN, used: -1, limit: 0, unit: text, tone: "warn" },
    { kind: "callout", tone: "accent", title: text, lines: [line], code: text },
  ]
}

/** Words that poppler finds beyond the page, or beyond its margins at the left and right. */
function wordsOutside(pdf: Uint8Array): WordBox[] {
  const words = wordsIn(pdf)
  expect(words.length).toBeGreaterThan(0)
  const margin = STYLES.compact.area.left - 1
  return words.filter(
    ({ left, top, right, bottom }) => left < margin || right > PAGE.width - margin || top < 0 || bottom > PAGE.height,
  )
}

describe("any text in any place", () => {
  test("is drawn, and leaves the record where a verifier reads it", async () => {
    await fc.assert(
      fc.asyncProperty(rowdy, async text => {
        const head = { left: text, right: text, tone: "bad" } as const
        const density = text.length % 2 === 0 ? "roomy" : "compact"
        const report = reportWith(everywhere(text), { density, title: text, running_head: head, running_foot: text })
        const pdf = await drawReport(report)
        expect(Buffer.from(pdf).toString("latin1")).not.toMatch(/NaN|undefined|Infinity/)
        const parts = readLayout(pdf)
        expect(typeof parts === "string" ? parts : new TextDecoder().decode(parts.record)).toBe(report.attachment.text)
      }),
      { numRuns: 40 },
    )
  })

  test.skipIf(!poppler)("stays on the page (skipped without poppler)", async () => {
    const texts = fc.sample(rowdy, { numRuns: 25, seed: 7 })
    for (const density of DENSITIES) {
      expect(wordsOutside(await drawReport(reportWith(texts.flatMap(everywhere), { density })))).toEqual([])
    }
  })
})

const LARGE: Record<string, readonly Block[]> = {
  "a word of 5,000 letters": [{ kind: "paragraph", line: lineOf("w".repeat(5000)) }],
  "an Arabic word of 5,000 letters": [{ kind: "paragraph", line: lineOf("س".repeat(5000)) }],
  "a letter with 2,000 marks": [{ kind: "paragraph", line: lineOf(`a${"\u0301".repeat(2000)}`) }],
  "10,000 spaces": [{ kind: "paragraph", line: lineOf(" ".repeat(10_000)) }],
  "2,000 brackets in both directions": [
    { kind: "paragraph", line: [{ text: "a" }, { text: "(ש[א{\u202e".repeat(2000) }, { text: "b" }] },
  ],
  "a cell of 100,000 letters": [
    {
      kind: "table",
      caption: "c",
      columns: [
        { title: "a", share: 1 },
        { title: "b", share: 1 },
      ],
      rows: [[lineOf("letters ".repeat(12_500)), lineOf("short")]],
    },
  ],
  "a table of 500 rows": [
    {
      kind: "table",
      caption: "c",
      columns: [1, 2, 3].map(share => ({ title: `column ${share}`, share })),
      rows: Array.from({ length: 500 }, (_, row) => [1, 2, 3].map(column => lineOf(`row ${row} ${column}`))),
    },
  ],
  "a table of 40 columns": [
    {
      kind: "table",
      caption: "c",
      columns: Array.from({ length: 40 }, () => ({ title: "title", share: Number.NaN })),
      rows: [Array.from({ length: 40 }, () => lineOf("x"))],
    },
  ],
  "headings, panels and drawings longer than a page": everywhere("long ".repeat(500)),
}

describe.each(Object.entries(LARGE))("%s", (_, blocks) => {
  test("is drawn whole, on pages that can be counted", async () => {
    const pdf = await drawReport(reportWith(blocks))
    const pages =
      Buffer.from(pdf)
        .toString("latin1")
        .match(/\/Type \/Page\b/g)?.length ?? 0
    expect(pages).toBeGreaterThan(0)
    expect(pages).toBeLessThan(150)
    if (poppler) expect(wordsOutside(pdf)).toEqual([])
  })
})

test.skipIf(!poppler)("nothing of a long table is lost between pages (skipped without poppler)", async () => {
  const pdf = await drawReport(reportWith(LARGE["a table of 500 rows"] ?? []))
  const { text } = askTool("pdftotext", pdf, "FILE", "-")
  const missing = Array.from({ length: 500 }, (_, row) => `row ${row} 3`).filter(cell => !text.includes(cell))
  expect(missing).toEqual([])
})
