import { inflateSync } from "node:zlib"
import { canonicalize } from "@runseal/canonical"
import { expect, test } from "vitest"
import { readReportPdf, verifyReportFile } from "../src/report-pdf/verify-report-pdf.ts"
import { clockSeconds } from "../src/vocabulary/scalars.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { type SmallPdf, smallPdf, stream } from "./fixtures/small-pdf.ts"

// Who holds the service key writes what one program reads in one way and another in another way, or spells a hash so that no search finds it.

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
/** Of letters that "Bundle hash" has, so that the font of these reports has them. */
const foreign = "ad".repeat(32)

async function outcome(changes: Partial<SmallPdf>): Promise<string> {
  const pages = [[`Bundle hash ${bundle.bundle_hash}`, "Page 1 of 1"]]
  const madeAt = clockSeconds(bundle.run.created_at) ?? 0
  const pdf = smallPdf({ attachments: [canonicalize(bundle)], pages, madeAt, ...changes }, deployment)
  const file = await readReportPdf(pdf, async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes }))
  if ("unreadable" in file) return file.unreadable
  const report = verifyReportFile(file, [deployment.trust])
  return "unreadable" in report ? report.unreadable : (report.first_failure ?? report.verdict)
}
const edited =
  (object: number, from: string, into: string) =>
  (objects: Map<number, string>): void => {
    const text = objects.get(object) ?? ""
    expect(text).toContain(from)
    objects.set(object, text.replace(from, into))
  }
const titled = (title: string): Partial<SmallPdf> => ({
  trailer: "/Info 15 0 R ",
  edit: objects => void objects.set(15, `<< /Title ${title} >>`),
})
const described = (data: string): Partial<SmallPdf> => ({
  catalog: "/Metadata 15 0 R ",
  edit: objects => void objects.set(15, stream(data, false, "/Type /Metadata /Subtype /XML ")),
})
const hexOf = (text: string, encoding: BufferEncoding): string => Buffer.from(text, encoding).toString("hex")
const bigEndian = (text: string): string => Buffer.from(text, "utf16le").swap16().toString("hex")

test.each<[string, Partial<SmallPdf>]>([
  ["a reference with a fraction", { edit: edited(1, "/Pages 2 0 R", "/Pages 2.0 0 R") }],
  ["a reference with a sign", { edit: edited(1, "/Pages 2 0 R", "/Pages +2 0 R") }],
  ["a reference with zeros before it", { edit: edited(1, "/Pages 2 0 R", "/Pages 02 0 R") }],
  ["a reference with more space in it", { edit: edited(1, "/Pages 2 0 R", "/Pages 2  0 R") }],
  ["a number with a sign that it does not need", { edit: edited(11, "595.28", "+595.28") }],
  ["a number with zeros before it", { edit: edited(11, "841.89", "0841.89") }],
  ["a whole number with a fraction", { edit: edited(2, "/Count 1", "/Count 1.0") }],
  ["a number that ends in its point", { edit: edited(2, "/Count 1", "/Count 1.") }],
  ["a number beyond all bounds", { edit: edited(6, "/Ascent 9", `/Ascent ${"9".repeat(400)}`) }],
  ["a name with a letter spelled by its number", { edit: edited(2, "/Pages", "/P#61ges") }],
  ["a name with an escape that is none", { edit: edited(3, "/BaseFont /F", "/BaseFont /F#") }],
  ["white space that is no space and no line feed", { edit: edited(2, "/Count 1", "/Count\u00001") }],
  ["a line that ends as on other systems", { edit: edited(2, "/Count 1", "/Count\r1") }],
  ["a text in UTF-16 of the other order", titled(`<fffe${hexOf(foreign, "utf16le")}>`)],
  ["a text in UTF-8 with its mark", titled(`<efbbbf${hexOf(foreign, "utf8")}>`)],
  ["a text in letters of PDFDocEncoding beyond ASCII", titled("<80>")],
  ["a text with half a letter", titled("<feff00>")],
  ["a text with a hidden language", titled(`<feff${bigEndian("\u001ben\u001bword")}>`)],
  ["a map that takes another one along", { edit: objects => void objects.set(4, stream("/Other usecmap\n", false)) }],
  [
    "a map with names of glyphs in it",
    { edit: objects => void objects.set(4, stream("1 beginbfchar\n<0001> /a\nendbfchar\n", false)) },
  ],
  [
    "a map with characters outside of its sections",
    { edit: objects => void objects.set(4, stream("<0001> <0061>\nendbfchar\n", false)) },
  ],
  ["a page tree that counts fewer pages than it has", { edit: edited(2, "/Count 1", "/Count 0") }],
  ["a string with a line end in it", { edit: edited(9, "(Signature)", "(Signature\r)") }],
  ["a string with an escape", { edit: edited(9, "(Signature)", "(Sig\\156ature)") }],
  ["a string with parentheses in it", titled("(a(b)c)")],
  ["metadata with letters by their numbers", described(`<t>${"&#x61;".repeat(64)}</t>`)],
  ["metadata that declares entities", described(`<!DOCTYPE t [<!ENTITY a "${"ab".repeat(4)}">]><t>&a;&a;&a;</t>`)],
])("%s is not read", async (_, changes) => {
  expect(await outcome(changes)).toContain("not an audit report of ours")
})

const [CODE_OF_A, CODE_OF_D, CODE_OF_BLANK, ADVANCE] = ["0009", "0004", "0007", 5.4]
const drawn = (glyphs: string, left: number, baseline = 300): string =>
  `BT 0 0 0 rg /F1 9 Tf 1 0 0 1 ${left} ${baseline} Tm [${glyphs}] TJ ET`
const eight = `<${`${CODE_OF_A}${CODE_OF_D}`.repeat(4)}>`
/** Eight runs of eight digits, each where the one before it ends. */
const inEights = (glyphs: string): string =>
  Array.from({ length: 8 }, (_, at) => drawn(glyphs, 40 + 8 * at * ADVANCE)).join("\n")

test("text is not read whose moves take the blanks out of it", async () => {
  const closed = `${eight} 300 <${CODE_OF_BLANK}> 300 `.repeat(8)
  expect(await outcome({ content: drawn(closed, 40) })).toContain("not an audit report of ours")
  expect(await outcome({ content: drawn(`<${CODE_OF_A}> 1200 <${CODE_OF_D}>`, 40) })).toContain("not an audit report")
})

test("a labelled hash goes on below its label, and nowhere else", async () => {
  const half = (digits: string): string => `<${digits.repeat(16)}>`
  const pages = [[`Bundle hash ${bundle.bundle_hash}`, `claim:${foreign.slice(0, 32)}`, foreign.slice(0, 32), "Page"]]
  expect(await outcome({ pages })).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
  const apart = [[`Bundle hash ${bundle.bundle_hash}`, "Page", `claim:${foreign.slice(0, 32)}`]]
  const content = drawn(half(`${CODE_OF_A}${CODE_OF_D}`), 40)
  expect(await outcome({ pages: [[...(apart[0] ?? [])], [foreign.slice(0, 32)]] })).toBe("printed_hashes")
  expect(await outcome({ content })).toBe("printed_hashes")
})

test.each<[string, Partial<SmallPdf>]>([
  ["in pieces with moves behind them", { content: inEights(`${eight} -5000`) }],
  ["in pieces with moves back behind them", { content: inEights(`${eight} 5000`) }],
  [
    "in pieces with blanks behind them, drawn over",
    { content: inEights(`<${CODE_OF_BLANK}> ${eight} <${CODE_OF_BLANK}>`) },
  ],
  ["in pieces with blanks drawn over them", { content: `${inEights(eight)}\n${inEights(`<${CODE_OF_BLANK}>`)}` }],
  ["with invisible signs between its digits", titled(`<feff${bigEndian([...foreign].join("\u200b"))}>`)],
  ["with soft hyphens between its digits", titled(`<feff${bigEndian([...foreign].join("\u00ad"))}>`)],
  ["in letters of full width", titled(`<feff${bigEndian("\uff41\uff44".repeat(32))}>`)],
  ["in the metadata", described(`<t>${foreign}</t>`)],
])("a foreign hash is found %s", async (_, changes) => {
  expect(await outcome(changes)).toBe("printed_hashes")
})

/** A report that prints digits on its page, and has a drawing with that alternative text. */
const drawing = (alternative: string, digits: string): Partial<SmallPdf> => ({
  pages: [[`Bundle hash ${bundle.bundle_hash}`, digits, "Page"]],
  catalog: "/StructTreeRoot 15 0 R ",
  edit: objects => {
    objects.set(15, "<< /Type /StructTreeRoot /K [ 16 0 R ] /ParentTree 17 0 R /ParentTreeNextKey 0 >>")
    objects.set(16, `<< /Type /StructElem /S /Figure /P 15 0 R /K [ ] /Alt <feff${bigEndian(alternative)}> >>`)
    objects.set(17, "<< /Nums [ ] >>")
  },
})
const token = foreign.slice(0, 32)

test("the digits of the report's address are no hash, whole or where a line breaks them", async () => {
  const address = `QR code: https://a${token}-1.example/public/runs/${token}/bundle.json`
  for (const digits of [token, token.slice(0, 20)])
    expect(await outcome(drawing(address, digits))).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
})

test.each([
  ["a whole hash", `QR code: https://example.com/${foreign}`, foreign],
  ["half a hash of one", `QR code: https://example.com/${foreign}`, token],
  ["what no address holds", `QR code: ${token}`, token],
  ["another drawing's address", `Figure: https://example.com/${token}`, token],
  ["other digits than the address", `QR code: https://example.com/${token}`, token.replace("ada", "add")],
])("an address excuses no foreign hash: %s", async (_, alternative, digits) => {
  expect(await outcome(drawing(alternative, digits))).toBe("printed_hashes")
})
