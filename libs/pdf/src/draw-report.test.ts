import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { sha256Hex } from "@runseal/canonical"
import { readLayout } from "@runseal/core/report-pdf/report-layout"
import { describe, expect, test } from "vitest"
import { everyKind, HASH, lineOf, reportWith } from "../test/drawable-reports.ts"
import { askTool, hasTool } from "../test/pdf-tools.ts"
import { wordsIn } from "../test/pdf-words.ts"
import type { Block } from "./block.ts"
import { drawReport } from "./draw-report.ts"

const latin1 = (pdf: Uint8Array): string => Buffer.from(pdf).toString("latin1")
const poppler = hasTool("pdftotext")
const qpdf = hasTool("qpdf")

test.skipIf(!poppler)(
  "a heading and its remark stay with the first heading below them (skipped without poppler)",
  async () => {
    for (let lines = 20; lines < 50; lines += 1) {
      const filler: Block[] = Array.from({ length: lines }, () => ({ kind: "paragraph", line: lineOf("filler") }))
      const words = wordsIn(
        await drawReport(
          reportWith([
            ...filler,
            { kind: "heading", level: 2, text: "Outer" },
            { kind: "paragraph", line: lineOf("Remark"), keepWithNext: true },
            { kind: "heading", level: 3, text: "Inner" },
            { kind: "facts", rows: Array.from({ length: 9 }, (_, i) => ({ label: `l${i}`, value: lineOf("v") })) },
          ]),
        ),
      )
      const pageOf = (text: string) => words.find(word => word.text === text)?.page
      expect(pageOf("Outer")).toBe(pageOf("Inner"))
      expect(pageOf("Remark")).toBe(pageOf("Inner"))
    }
  },
)

describe("the same report gives the same bytes", () => {
  const accents = reportWith([{ kind: "paragraph", line: lineOf("é: ï; Ǻ!?") }])

  test("whatever was drawn before", async () => {
    const first = await drawReport(accents)
    await drawReport(reportWith([...everyKind(), { kind: "paragraph", line: lineOf(": ; ! ? à la carte") }]))
    expect(sha256Hex(await drawReport(accents))).toBe(sha256Hex(first))
  })

  test("in another process", async () => {
    const program = `
      const { drawReport } = await import(${JSON.stringify(new URL("draw-report.ts", import.meta.url).href)})
      const { reportWith, everyKind } = await import(${JSON.stringify(new URL("../test/drawable-reports.ts", import.meta.url).href)})
      process.stdout.write(await drawReport(reportWith(everyKind())))`
    const args = ["--input-type=module", "-e", program]
    const other = execFileSync(process.execPath, args, { maxBuffer: 8 * 1024 * 1024 })
    expect(sha256Hex(await drawReport(reportWith(everyKind())))).toBe(sha256Hex(other))
  })

  test("and another report another file identifier", async () => {
    const identifier = (pdf: Uint8Array): string | undefined => /\/ID \[ <(\w{32})>/.exec(latin1(pdf))?.[1]
    const one = identifier(await drawReport(accents))
    const other = identifier(await drawReport(reportWith([])))
    expect(one).toMatch(/^[0-9a-f]{32}$/)
    expect(other).not.toBe(one)
  })
})

describe("the file", () => {
  test("has one cross-reference table, no object streams, nothing encrypted, nothing active", async () => {
    const text = latin1(await drawReport(reportWith(everyKind())))
    expect(text).toMatch(/^%PDF-1\.7\n/)
    expect(text.match(/\nxref\n/g)).toHaveLength(1)
    expect(text).not.toMatch(/\/ObjStm|\/XRef\b|\/Encrypt|\/JavaScript|\/OpenAction|\/Launch|\/URI/)
  })

  test("says what PDF/A-3 asks: language, marks, metadata, colour, and that it is a report", async () => {
    const text = latin1(await drawReport(reportWith(everyKind())))
    for (const entry of [
      "/Lang (en)",
      "/Marked true",
      "/DisplayDocTitle true",
      "/S /GTS_PDFA1",
      "/AFRelationship /Data",
      "<pdfaid:part>3</pdfaid:part>",
      "<xmp:CreateDate>2026-11-21T10:11:12Z</xmp:CreateDate>",
      '<rdf:li xml:lang="x-default">Title of the report</rdf:li>',
    ]) {
      expect(text).toContain(entry)
    }
  })

  test.skipIf(!qpdf)("is sound to qpdf (skipped without qpdf)", async () => {
    const { status, text } = askTool("qpdf", await drawReport(reportWith(everyKind())), "--check", "FILE")
    expect({ status, text }).toMatchObject({ status: 0 })
  })

  test.skipIf(!poppler)("is tagged and titled to poppler (skipped without it)", async () => {
    const pdf = await drawReport(reportWith(everyKind()))
    const { text } = askTool("pdfinfo", pdf, "FILE")
    expect(text).toMatch(/Title: +Title of the report\n/)
    expect(text).toMatch(/Tagged: +yes\n/)
    expect(text).toMatch(/CreationDate: +Sat Nov 21 10:11:12 2026/)
    expect(text).toMatch(/Page size: +595\.28 x 841\.89 pts \(A4\)/)
    const fonts = askTool("pdffonts", pdf, "FILE").text.split("\n").slice(2, -1)
    expect(fonts.length).toBeGreaterThan(2)
    for (const font of fonts) expect(font).toMatch(/yes yes yes/)
  })

  test.skipIf(!poppler)("has the structure of its blocks (skipped without poppler)", async () => {
    const { text } = askTool("pdfinfo", await drawReport(reportWith(everyKind())), "-struct", "FILE")
    for (const node of [
      "Document",
      "H1",
      "H2",
      "H3",
      "L",
      "LI",
      "Lbl",
      "LBody",
      "Table",
      "Caption",
      "THead",
      "TR",
      "TH",
      "TD",
      "Figure",
    ]) {
      expect(text).toMatch(new RegExp(`^ *${node}\\b`, "m"))
    }
    expect(text.match(/^ *TH\b/gm), "a repeated header is told once").toHaveLength(4)
  })

  test("has its evidence, as it was sealed, where a verifier reads it", async () => {
    const report = reportWith(everyKind())
    const parts = readLayout(await drawReport(report))
    expect(typeof parts === "string" ? parts : new TextDecoder().decode(parts.record)).toBe(report.attachment.text)
  })

  const ofPdf = JSON.stringify("\nendstream\nendobj\n9 0 obj\n<< /Type /Catalog >>\ntrailer\n<< /Root 9 0 R >>\n%%EOF")
  test.skipIf(!poppler).each([reportWith([]).attachment.text, ofPdf])(
    "gives its evidence to other programs too, whatever is in it: %s (skipped without poppler)",
    async text => {
      const report = reportWith(everyKind(), { attachment: { ...reportWith([]).attachment, text } })
      const pdf = await drawReport(report)
      const { out } = askTool("pdfdetach", pdf, "-save", "1", "-o", "OUT", "FILE")
      expect(out.toString("utf8")).toBe(text)
      expect(askTool("pdfdetach", pdf, "-list", "FILE").text).toContain("bundle.json")
      expect(latin1(pdf)).toContain(`/CheckSum <${createHash("md5").update(out).digest("hex")}>`)
      expect(askTool("pdfinfo", pdf, "FILE").text).not.toContain("Error")
    },
  )
})

describe.skipIf(!poppler)("the text that pdftotext gives back (skipped without it)", () => {
  const textOf = async (text: string): Promise<string> => {
    const pdf = await drawReport(reportWith([{ kind: "paragraph", line: lineOf(text) }]))
    return askTool("pdftotext", pdf, "FILE", "-").text.replace(/[\u202a-\u202e\u200e\u200f]/g, "")
  }

  test("is in the order of the blocks, a hash in one piece, the page numbers at the foot", async () => {
    const { text } = askTool("pdftotext", await drawReport(reportWith(everyKind())), "FILE", "-")
    const places = ["Cover verdict", "First part", HASH, "second item", "callout text", "fact text", "last words"].map(
      part => text.indexOf(part),
    )
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((left, right) => left - right))
    const pages = Number(/page 1 of (\d+)/.exec(text)?.[1])
    expect(text).toContain(`page ${pages} of ${pages}`)
    expect(text.split("\f")).toHaveLength(pages + 1)
    const withRows = text.split("\f").filter(page => page.includes("name of row"))
    expect(withRows.length).toBeGreaterThan(1)
    for (const page of withRows) expect(page.match(/^Number$/gm), "a table's header").toHaveLength(1)
  })

  test.each([
    "office fjord waffle — “quoted” …",
    "Ἐν ἀρχῇ ἦν ὁ λόγος",
    "Все люди рождаются свободными",
    "שלום עולם",
    "سلام لا إله",
    "人人生而自由すべての人間",
    "모든 인간은 태어날",
    "∑ sums ≤ ∞ → done ✓",
    "thumbs 👍 up",
    "สวัสดี",
  ])("is the text: %s", async text => {
    expect(await textOf(text)).toContain(text)
  })

  test("of a gauge never gives the limit's share to what is above it, nor nothing to something", async () => {
    const gauge = (used: number): Block => ({
      kind: "gauge",
      label: "g",
      before: 0,
      used,
      limit: 1e6,
      unit: "tokens",
      tone: "bad",
    })
    const pdf = await drawReport(reportWith([1e6 + 1, 1e6, 1e6 - 1, 1, 0].map(gauge)))
    const { text } = askTool("pdftotext", pdf, "FILE", "-")
    expect([...text.matchAll(/\((.*) %\)/g)].map(([, share]) => share)).toEqual(["100.1", "100", "99.9", "< 0.1", "0"])
    expect(text).toContain("1,000,001 of 1,000,000 tokens")
  })

  test("shows what would act without showing", async () => {
    expect(await textOf("a\u0000b\u001b[31m\u202ec\u200bd\ufeffe\u{e0041}f\ud800g")).toContain(
      "a␀b␛[31m⟦U+202E⟧c⟦U+200B⟧d⟦U+FEFF⟧e⟦U+E0041⟧f⟦U+D800⟧g",
    )
  })
})
