import { inflateSync } from "node:zlib"
import { canonicalize } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import type { Inflate } from "../src/report-pdf/pdf-file.ts"
import { readReportPdf } from "../src/report-pdf/verify-report-pdf.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { smallPdf } from "./fixtures/small-pdf.ts"

// Small files whose reading would take hours or all memory if the reader's work were not bounded. Each took at least ten
// times the limit before it was.

const { bundle } = sealRun(makeDeployment(), { outcome: "attestation_gap" })
const record = canonicalize(bundle)
const inflate: Inflate = async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes })

const stream = (text: string): string => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`
const times = (count: number, text: string): string => text.repeat(count)
/** A report of one page with objects of the attacker's: 1 catalog, 2 pages, 3 font, 4 its map, 5 page, 6 its content. */
const hostile = (objects: Readonly<Record<number, string>>): Uint8Array =>
  smallPdf({
    attachments: [record],
    pages: [[bundle.bundle_hash]],
    compress: false,
    edit: all => {
      for (const [number, text] of Object.entries(objects)) all.set(Number(number), text)
    },
  })

/** Objects that each list the next one many times; the last lists nothing. */
const fanOut = (key: string, first: number, levels: number): Record<number, string> =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, level) => [
      first + level,
      level === levels - 1 ? `<< /${key} [ ] >>` : `<< /${key} [ ${times(40, `${first + level + 1} 0 R `)}] >>`,
    ]),
  )

const CMAP = "/CMapName /F def\n"

const FILES: readonly (readonly [name: string, pdf: Uint8Array, end: "refused" | "read"])[] = [
  [
    "page tree that branches without pages",
    hostile({ 2: "<< /Kids [ 20 0 R ] >>", ...fanOut("Kids", 20, 14) }),
    "refused",
  ],
  [
    "list of attachments that branches without names",
    hostile({ 1: "<< /Pages 2 0 R /Names << /EmbeddedFiles 20 0 R >> >>", ...fanOut("Kids", 20, 8) }),
    "refused",
  ],
  [
    "page's content that is one stream very often",
    hostile({ 20: stream(times(40_000, `${times(19, "q")} `)), ...contents(5000) }),
    "refused",
  ],
  [
    "page's content that is an empty stream very often",
    hostile({ 20: stream(" "), ...contents(190_000), ...pages(100) }),
    "refused",
  ],
  [
    "font whose map starts very often and never ends",
    hostile({ 4: stream(CMAP + times(400_000, "beginbfchar ")) }),
    "read",
  ],
  [
    "font whose map holds very many large ranges",
    hostile({ 4: stream(`${CMAP}1 beginbfrange\n${times(200_000, "<0000> <ffff> <0000>\n")}endbfrange`) }),
    "refused",
  ],
  ["number without end that is none", hostile({ 6: stream(`${times(4_000_000, "1")}x`) }), "read"],
  [
    "text of which each letter stands for very many",
    hostile({ 4: stream(wide()), 6: stream(shown(4_000_000)) }),
    "refused",
  ],
  ["text of very many runs", hostile({ 6: stream(`BT /F1 9 Tf ${times(3_000_000, "<>Tj ")}`) }), "read"],
  ["file of objects within objects", nested(12_000), "refused"],
]

function contents(count: number): Record<number, string> {
  const list = `[ ${times(count, "20 0 R ")}]`
  return { 5: `<< /Type /Page /Resources << /Font << /F1 3 0 R >> >> /Contents ${list} >>` }
}
function pages(count: number): Record<number, string> {
  return { 2: `<< /Kids [ ${times(count, "5 0 R ")}] >>` }
}
function wide(): string {
  return `${CMAP}1 beginbfchar\n<0001> <${times(64, "0061")}>\nendbfchar`
}
function shown(codes: number): string {
  return `BT /F1 9 Tf <${times(codes, "0001")}> Tj ET`
}
/** Each object is a dictionary with a string that holds all objects behind it. */
function nested(count: number): Uint8Array {
  let body = "%PDF-1.7\n"
  const offsets: number[] = []
  for (let object = 10; object < 10 + count; object++) {
    offsets.push(body.length)
    body += `${object} 0 obj << /A (\n`
  }
  body += times(count, ") >>\n")
  const rest = [
    "1 0 obj << /Pages 2 0 R /Names << /EmbeddedFiles << /Names [ (a) 3 0 R ] >> >> >>",
    `2 0 obj << /Kids [ ${offsets.map((_, at) => `${10 + at} 0 R`).join(" ")} ] >>`,
    "3 0 obj << /EF << /F 4 0 R >> >>",
    `4 0 obj ${stream("{}")}`,
  ]
  const places = rest.map(text => {
    const at = body.length
    body += `${text}\nendobj\n`
    return at
  })
  const row = (offset: number): string => `${String(offset).padStart(10, "0")} 00000 n \n`
  const table = `xref\n1 4\n${places.map(row).join("")}10 ${count}\n${offsets.map(row).join("")}`
  return Buffer.from(`${body}${table}trailer\n<< /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`, "latin1")
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
      const changed = text.replace(/(?<=\n1 1\n)\d{10}/, offset)
      expect(changed).not.toBe(text)
      expect(await readReportPdf(Buffer.from(changed, "latin1"), inflate)).toHaveProperty("unreadable")
    }
  })
})
