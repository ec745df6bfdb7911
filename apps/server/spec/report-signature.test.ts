/** What becomes of a report that somebody changes, with the tools that people use on PDFs. docs/formats.md section 11. */
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable } from "@runseal/core/verify/document"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { askTool, hasTool } from "../../../libs/pdf/test/pdf-tools.ts"
import { CASES, standingSevenStates } from "./harness/seven-states.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
/** Bits that are turned in each report; `MANY_CHANGED_BITS` is for a long look by hand. */
const CHANGED_BITS = Number(process.env.MANY_CHANGED_BITS ?? 100)

describe("the signature of a report", () => {
  const { service, runId } = standingSevenStates()
  const brief = async (name: (typeof CASES)[number]): Promise<Uint8Array> =>
    new Uint8Array(await (await service().request(`/runs/${runId(name)}/report.pdf?format=brief`)).arrayBuffer())
  const judged = (pdf: Uint8Array): string => {
    const { report } = verifyReportPdf(pdf, [service().deps.trust])
    return isUnreadable(report) ? "unreadable" : report.verdict
  }

  test.each(CASES)("%s: no changed bit verifies", { timeout: 120_000 }, async name => {
    const pdf = await brief(name)
    expect(judged(pdf)).toBe(COMPLETE)
    const room = Buffer.from(pdf).indexOf("/Contents <3082")
    const around = Array.from({ length: 8 * 40 }, (_, bit) => 8 * (room - 20) + bit)
    for (const bit of [...fc.sample(fc.nat({ max: 8 * pdf.length - 1 }), CHANGED_BITS), ...around]) {
      const changed = Uint8Array.from(pdf)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(judged(changed), `bit ${bit}`).toMatch(/^(?:unreadable|FAILED)$/)
    }
  })

  const pdfsig = hasTool("pdfsig")
  test.skipIf(!pdfsig).each(CASES)(
    "%s: is valid to poppler, and of the whole file (skipped without it)",
    async name => {
      const { text } = askTool("pdfsig", await brief(name), "-nocert", "FILE")
      expect(text).toContain("Signature Validation: Signature is Valid.")
      expect(text).toContain("Total document signed")
      expect(text).toContain("Signature Type: ETSI.CAdES.detached")
      expect(text).not.toContain("Signature #2")
    },
  )

  const qpdf = hasTool("qpdf")
  test.skipIf(!qpdf).each([
    ["written again", []],
    ["written for people", ["--qdf"]],
    ["with object streams", ["--object-streams=generate"]],
    ["for the web", ["--linearize"]],
    ["with streams unpacked", ["--stream-data=uncompress"]],
    ["encrypted", ["--encrypt", "", "owner", "256", "--"]],
    ["with another attachment", ["--add-attachment", "FILE", "--key=more", "--"]],
    ["with its pages twice", ["FILE", "--pages", "FILE", "1-z", "FILE", "1", "--"]],
  ])("a report %s by qpdf does not verify (skipped without it)", async (_, options) => {
    const pdf = await brief("ok")
    const input = options[0] === "FILE" ? [] : ["FILE"]
    const { out } = askTool("qpdf", pdf, ...input, ...options, "OUT")
    expect(out.subarray(0, 5).toString()).toBe("%PDF-")
    expect(judged(new Uint8Array(out))).toMatch(/^(?:unreadable|FAILED)$/)
  })

  test("the command line fails a changed report, and does not read one with a second revision", async () => {
    const pdf = await brief("deny_by_rule")
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const honest = await verifyWithCli(pdf, trust)
    expect(honest).toMatchObject({ exit: 0, verdict: COMPLETE })
    expect(honest.stdout).toContain("report_signature")
    const producer = "/Producer <FEFF00"
    const letter = Buffer.from(pdf).indexOf(producer) + producer.length
    const changed = Uint8Array.from(pdf)
    changed[letter] = "4".charCodeAt(0)
    const failed = await verifyWithCli(changed, trust)
    expect(failed).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect(failed.stdout).toContain("The file is not the one that was signed")

    const start = /startxref\n(\d+)\n%%EOF$/.exec(Buffer.from(pdf).toString("latin1"))?.[1]
    for (const prev of ["", `/Prev ${start} `]) {
      const object = "\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
      const table = `xref\n0 1\n0000000000 65535 f \n1 1\n${String(pdf.length + 1).padStart(10, "0")} 00000 n \n`
      const at = pdf.length + object.length
      const later = `${object}${table}trailer\n<< /Size 2 /Root 1 0 R ${prev}>>\nstartxref\n${at}\n%%EOF`
      const revised = await verifyWithCli(Buffer.concat([pdf, Buffer.from(later)]), trust)
      expect(revised).toMatchObject({ exit: 2, stdout: "" })
      expect(revised.stderr).toContain("not an audit report of ours")
    }
  })
})
