import { inflateSync } from "node:zlib"
import { canonicalize, sha256Hex } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isPdf } from "../src/report-pdf/is-pdf.ts"
import type { Inflate } from "../src/report-pdf/pdf-file.ts"
import { readReportPdf, verifyReportFile } from "../src/report-pdf/verify-report-pdf.ts"
import { isUnreadable, type Unreadable } from "../src/verify/document.ts"
import type { Report } from "../src/verify/report.ts"
import { makeDeployment, receiptAnswer, sealRun } from "./fixtures/deployment.ts"
import { type SmallPdf, smallPdf } from "./fixtures/small-pdf.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const record = canonicalize(bundle)
const seal = bundle.bundle_hash
const foreign = "ab".repeat(32)

const inflate: Inflate = async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes })
const made = (changes: Partial<SmallPdf> = {}): Uint8Array =>
  smallPdf({ attachments: [record], pages: [[`Bundle hash ${seal}`, "Page 1 of 1"]], ...changes })

async function answer(pdf: Uint8Array): Promise<Report | Unreadable> {
  const file = await readReportPdf(pdf, inflate)
  return "unreadable" in file ? file : verifyReportFile(file, [deployment.trust])
}
async function verified(pdf: Uint8Array): Promise<Report> {
  const report = await answer(pdf)
  if (isUnreadable(report)) throw new Error(report.unreadable)
  return report
}
async function refusal(pdf: Uint8Array): Promise<string> {
  const report = await answer(pdf)
  return isUnreadable(report) ? report.unreadable : `judged: ${report.verdict}`
}
async function recordOf(pdf: Uint8Array): Promise<string> {
  const file = await readReportPdf(pdf, inflate)
  return "unreadable" in file ? file.unreadable : new TextDecoder().decode(file.record)
}

describe("a report", () => {
  test("is known by its first bytes", () => {
    expect(isPdf(made())).toBe(true)
    expect(isPdf(new TextEncoder().encode(record))).toBe(false)
    expect(isPdf(new Uint8Array())).toBe(false)
  })

  test.each([true, false])("gives back the record it carries, to the byte (compressed: %s)", async compress => {
    expect(await recordOf(made({ compress }))).toBe(record)
  })

  test("has the verdict of its record, and says what its pages print", async () => {
    const report = await verified(made({ pages: [[seal], [bundle.manifest!.ManifestHash, "text"]] }))
    expect(report.verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(report.checks.at(-1)).toEqual({
      id: "printed_hashes",
      result: "pass",
      message: "2 pages print 2 hashes, the record's seal among them; all are in the attached record.",
    })
  })

  test("may print hashes made at render time, when they are labelled so", async () => {
    const pages = [[seal, `claim:${foreign}`, `compile:${foreign}`]]
    expect((await verified(made({ pages }))).checks.at(-1)?.result).toBe("pass")
  })

  test("may print a longer run of hex digits of its record in pieces, wherever they are broken", async () => {
    const long = Array.from({ length: 40 }, (_, i) => sha256Hex(`${i}`)).join("")
    const declared = { attested_context: { decision_note: long } }
    const { bundle: other } = sealRun(deployment, { outcome: "ok", declared })
    const pages = [[other.bundle_hash, long.slice(0, 77), long.slice(77, 154), long.slice(154)]]
    const pdf = made({ attachments: [canonicalize(other)], pages })
    expect((await verified(pdf)).checks.at(-1)?.result).toBe("pass")
  })

  test("fails when its record was changed", async () => {
    const changed = record.replace(bundle.run.route_id, `${bundle.run.route_id}x`)
    expect((await verified(made({ attachments: [changed] }))).verdict).toBe("FAILED")
  })

  test.each([
    [
      "a hash that is not the record's",
      [[seal, foreign]],
      "The pages print 1 hash that the attached record does not hold.",
    ],
    ["no seal of the record", [["nothing"]], "The pages do not print the hash that seals the attached record."],
    [
      "the seal as if it were made at render time",
      [[`claim:${seal}`]],
      "The pages do not print the hash that seals the attached record.",
    ],
  ])("fails when it prints %s", async (_, pages, message) => {
    const report = await verified(made({ pages }))
    expect(report).toMatchObject({ verdict: "FAILED", first_failure: "printed_hashes" })
    expect(report.checks.at(-1)?.message).toBe(message)
  })
})

describe("a file that is no report of ours is refused", () => {
  const streamOf = (object: number) => (objects: Map<number, string>) =>
    objects.set(object, "<< /Length 3 >>\nstream\nabcdef\nendstream")
  test.each<[string, Uint8Array, string]>([
    ["something behind its end", made({ after: "%PDF" }), "it does not end as a PDF"],
    ["an earlier revision", made({ trailer: "/Prev 9 " }), "it was changed"],
    ["encryption", made({ trailer: "/Encrypt 1 0 R " }), "encrypted"],
    ["no attachment", made({ attachments: [] }), "it carries no record"],
    ["two attachments", made({ attachments: [record, record] }), "more than one attachment"],
    ["an attachment that is no JSON", made({ attachments: ["{"] }), "the record in the PDF is not strict JSON"],
    [
      "a receipt for its record",
      made({ attachments: [canonicalize(receiptAnswer(sealRun(deployment, { outcome: "pepg_deny" }).bundle)!)] }),
      "no audit bundle",
    ],
    ["a stream of another length", made({ edit: streamOf(8) }), "longer or shorter"],
    [
      "a font without its characters",
      made({ edit: objects => objects.set(3, "<< /Type /Font >>") }),
      "a stream is missing",
    ],
    ["a page tree in a circle", made({ edit: objects => objects.set(2, "<< /Kids [ 2 0 R ] >>") }), "page tree"],
    ["a key twice", made({ edit: objects => objects.set(1, "<< /Pages 2 0 R /Pages 2 0 R >>") }), "not exact"],
    ["values nested deep", made({ edit: objects => objects.set(1, "[".repeat(5000)) }), "nested too deep"],
  ])("for %s", async (_, pdf, sentence) => {
    expect(await refusal(pdf)).toContain(sentence)
  })

  test("for a stream that inflates beyond its bound", async () => {
    const bomb = made({ attachments: [`"${"x".repeat(20 * 1024 * 1024)}"`] })
    expect(await refusal(bomb)).toContain("within bounds")
  })

  test("for any bytes behind a PDF's first line, without a throw", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async bytes => {
        expect(await refusal(Buffer.concat([Buffer.from("%PDF-1.7\n"), bytes]))).toContain(
          "not an audit report of ours",
        )
      }),
    )
  })

  test("for a report in which bytes were changed, or it has its verdict still; nothing else, and no throw", async () => {
    const pdf = made({ compress: false })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: pdf.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async changes => {
          const changed = Uint8Array.from(pdf)
          for (const [at, byte] of changes) changed[at] = byte
          const report = await answer(changed)
          if (isUnreadable(report) || report.verdict === "FAILED") return
          expect(await recordOf(changed)).toBe(record)
        },
      ),
    )
  })
})
