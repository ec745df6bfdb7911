import { inflateSync } from "node:zlib"
import { canonicalize } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import type { Inflate } from "../src/report-pdf/pdf-file.ts"
import { readReportPdf } from "../src/report-pdf/verify-report-pdf.ts"
import { clockSeconds } from "../src/vocabulary/scalars.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { alike, contents, fanOut, mapOf, type Objects, show, times } from "./fixtures/hostile-pdf.ts"
import { smallPdf } from "./fixtures/small-pdf.ts"

// Small files whose reading would take hours or all memory if the reader's work were not bounded. Each took at least ten
// times the limit before it was.

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "attestation_gap" })
const record = canonicalize(bundle)
const inflate: Inflate = async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes })

const stream = (text: string): string => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`
/** A report of one page with objects of the attacker's, who has the key: 2 pages, 4 the font's map, 11 page, 12 its content, 13 attachment. */
const hostile = (objects: Objects): Uint8Array =>
  smallPdf(
    {
      attachments: [record],
      pages: [[bundle.bundle_hash]],
      compress: false,
      madeAt: clockSeconds(bundle.run.created_at) ?? 0,
      edit: all => {
        for (const [number, text] of Object.entries(objects)) all.set(Number(number), text)
      },
    },
    deployment,
  )
const CMAP = "/CMapName /F def\n"

const FILES: readonly (readonly [name: string, pdf: Uint8Array, end: "refused" | "read"])[] = [
  [
    "page tree that branches without pages",
    hostile({ 2: "<< /Kids [ 15 0 R ] >>", ...fanOut("Kids", 15, 14) }),
    "refused",
  ],
  ["page's content that is one stream very often", hostile({ 11: contents(190_000) }), "refused"],
  ["page that is listed very often", hostile({ 2: pages(190_000) }), "refused"],
  [
    "font whose map starts very often and never ends",
    hostile({ 4: stream(CMAP + times(400_000, "beginbfchar ")) }),
    "refused",
  ],
  [
    "font whose map holds very many characters",
    hostile({ 4: stream(`${CMAP}1 beginbfchar\n${times(400_000, "<0000> <0000>\n")}endbfchar`) }),
    "refused",
  ],
  ["number without end that is none", hostile({ 12: stream(`${times(4_000_000, "1")}x`) }), "refused"],
  [
    "text of which each letter stands for very many",
    hostile({ 4: stream(mapOf(times(64, "0061"))), 12: stream(show(times(4_000_000, "0001"))) }),
    "refused",
  ],
  ["text of very many runs", hostile({ 12: stream(times(150_000, show(""))) }), "read"],
  [
    "text of very many hex digits that begin alike",
    hostile({ 4: stream(mapOf("0030")), 12: stream(alike(3000)) }),
    "read",
  ],
  ["file of objects within objects", nested(12_000), "refused"],
  // Each would be gigabytes if its values were held: 60 MB of them ended in an abort.
  ["list of very many lists", hostile({ 2: `[ ${times(100, `[${times(190_000, "<>")}]`)} ]` }), "refused"],
  ["string of very many letters", hostile({ 2: `(${times(20_000_000, "a")})` }), "refused"],
  ["name of very many letters", hostile({ 2: `/${times(20_000_000, "#00")}` }), "refused"],
  ["structure of very many elements", hostile(elements(60_000)), "refused"],
]

function pages(count: number): string {
  return `<< /Type /Pages /Count ${count} /Kids [ ${times(count, "11 0 R ")}] >>`
}
function elements(count: number): Objects {
  const kids = Array.from({ length: count }, (_, at) => `${16 + at} 0 R`).join(" ")
  const leaf = "<< /Type /StructElem /S /P /P 15 0 R /K [ ] >>"
  const all = Array.from({ length: count }, (_, at) => [16 + at, leaf])
  return { 15: `<< /Type /StructElem /S /P /P 15 0 R /K [ ${kids} ] >>`, ...Object.fromEntries(all) }
}
/** Each object is a dictionary with a string that holds all objects behind it. */
function nested(count: number): Uint8Array {
  let body = "%PDF-1.7\n%\u0081\u0081\u0081\u0081\n\n"
  const offsets: number[] = []
  for (let object = 1; object <= count; object++) {
    offsets.push(body.length)
    body += `${object} 0 obj\n<< /A (\n`
  }
  body += times(count, ") >>\nendobj\n\n")
  const rows = offsets.map(offset => `${String(offset).padStart(10, "0")} 00000 n \n`)
  const table = `xref\n0 ${count + 1}\n0000000000 65535 f \n${rows.join("")}`
  const trailer = `\ntrailer\n<< /Size ${count + 1} /Root 1 0 R /ID [ <00> <00> ] >>\n\nstartxref\n${body.length}\n%%EOF`
  return Buffer.from(`${body}${table}${trailer}`, "latin1")
}

describe("a hostile PDF costs no more than a walk over it", () => {
  /** A bounded reading takes a second or so; an unbounded one never ends. */
  const MAX_MS = 60_000
  test.each(FILES)("a %s", { timeout: 180_000 }, async (_, pdf, end) => {
    const start = performance.now()
    const file = await readReportPdf(pdf, inflate)
    expect("unreadable" in file ? "refused" : "read").toBe(end)
    expect(performance.now() - start).toBeLessThan(MAX_MS)
  })

  test("offsets that are no places of the file are refused", async () => {
    const text = Buffer.from(hostile({})).toString("latin1")
    for (const offset of ["-000000001", "9999999999", "0000000.50"]) {
      const changed = text.replace(/(?<=65535 f \n)\d{10}/, offset)
      expect(changed).not.toBe(text)
      expect(await readReportPdf(Buffer.from(changed, "latin1"), inflate)).toHaveProperty("unreadable")
    }
  })
})
