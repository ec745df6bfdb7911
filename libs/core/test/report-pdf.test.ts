import { canonicalize } from "@runseal/canonical"
import type { ServiceKey } from "@runseal/log/trust/trusted-keys"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isPdf } from "../src/report-pdf/is-pdf.ts"
import { withSignature, withSignedRange } from "../src/report-pdf/report-layout.ts"
import { verifyReportPdf } from "../src/report-pdf/verify-report-pdf.ts"
import { isUnreadable } from "../src/verify/document.ts"
import type { Unreadable } from "../src/verify/parsed-text.ts"
import type { Report } from "../src/verify/report.ts"
import { clockSeconds } from "../src/vocabulary/scalars.ts"
import { makeDeployment, receiptAnswer, sealRun } from "./fixtures/deployment.ts"
import { readable } from "./fixtures/judged.ts"
import { type SmallPdf, signPdf, smallPdf } from "./fixtures/small-pdf.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const record = canonicalize(bundle)
const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"

const madeAt = clockSeconds(bundle.run.created_at) ?? 0
const PAGES = "3 0 obj\n<< /Type /Catalog >>\nendobj\n\n"
const made = (changes: Partial<SmallPdf> = {}, signer = deployment): Uint8Array =>
  smallPdf({ record, madeAt, pages: PAGES, ...changes }, signer)

const answer = (pdf: Uint8Array, trusts = [deployment.trust]): Report | Unreadable =>
  verifyReportPdf(pdf, trusts).report
const verified = (pdf: Uint8Array, trusts = [deployment.trust]): Report => readable(answer(pdf, trusts))
function refusal(pdf: Uint8Array): string {
  const report = answer(pdf)
  return isUnreadable(report) ? report.unreadable : `judged: ${report.verdict}`
}
const recordOf = (pdf: Uint8Array): string => new TextDecoder().decode(verifyReportPdf(pdf, []).record)
const latin1 = (pdf: Uint8Array): string => Buffer.from(pdf).toString("latin1")
/** The file with one text of it replaced, signed again by the holder of the key. */
function signedAnew(pdf: Uint8Array, from: string | RegExp, into: string): Uint8Array {
  const changed = latin1(pdf).replace(from, into)
  expect(changed).not.toBe(latin1(pdf))
  return signPdf(Buffer.from(changed, "latin1"), deployment)
}

describe("a report", () => {
  test("is known by its first bytes", () => {
    expect(isPdf(made())).toBe(true)
    expect(isPdf(new TextEncoder().encode(record))).toBe(false)
    expect(isPdf(new Uint8Array())).toBe(false)
  })

  test("gives back the record it carries, to the byte", () => {
    expect(recordOf(made())).toBe(record)
  })

  test("has the verdict of its record, and says who signed the file and what its pages are", () => {
    const report = verified(made())
    expect(report.verdict).toBe(COMPLETE)
    expect(report.checks.at(-1)).toEqual({
      id: "report_signature",
      result: "pass",
      message: `Service key ${deployment.serviceKey.keyId} signed the whole file; nothing dates that signature.`,
    })
    expect(report.limitations.at(-1)?.code).toBe("pages_rendered")
  })

  test("fails when its record was changed", () => {
    const changed = record.replace(bundle.run.route_id, `${bundle.run.route_id}x`)
    expect(verified(made({ record: changed })).verdict).toBe("FAILED")
  })
})

describe("whatever the holder of the service key puts behind the record, the record at its place is the one", () => {
  const other = canonicalize(sealRun(deployment, { outcome: "pepg_deny" }).bundle)
  const embedded = `<< /Type /EmbeddedFile /Length ${Buffer.byteLength(other)} >>\nstream\n${other}\nendstream\nendobj\n\n`
  const trailer = "trailer\n<< /Size 5 /Root 3 0 R >>\n\nstartxref\n9\n%%EOF"
  test.each([
    ["a second attachment", `4 0 obj\n${embedded}`],
    ["another object with the number of the record's", `2 0 obj\n${embedded}`],
    ["a table that has the record elsewhere", `4 0 obj\n${embedded}xref\n2 1\n0000000009 00000 n \n${trailer}`],
    ["a later revision", `${trailer}\n2 0 obj\n${embedded}${trailer}`],
    ["another signature", latin1(made({ record: other }))],
    ["nothing", ""],
    ["no PDF", "words"],
  ])("%s", (_, pages) => {
    const pdf = made({ pages })
    expect(recordOf(pdf)).toBe(record)
    expect(verified(pdf)).toMatchObject({ verdict: COMPLETE, run_id: bundle.run.run_id, outcome_kind: "ok" })
  })
})

describe("the signature", () => {
  const pdf = made()
  const room = "/Contents <"
  const at = Buffer.from(pdf).indexOf(room) + room.length
  const rest = pdf.length - (at + 3073)
  const withText = (from: number, text: string): Uint8Array => {
    const changed = Uint8Array.from(pdf)
    changed.set(Buffer.from(text, "latin1"), from)
    return changed
  }

  test("no changed bit of a report verifies", { timeout: 300_000 }, () => {
    const bits = fc.sample(fc.nat({ max: 8 * pdf.length - 1 }), 3000)
    // All bits around both ends of the signature, which does not cover itself, and of the record.
    const ends = [at, at + 3072, Buffer.from(pdf).indexOf(record), Buffer.from(pdf).indexOf(PAGES)]
    const near = ends.flatMap(end => Array.from({ length: 8 * 64 }, (_, i) => 8 * (end - 32) + i))
    for (const bit of [...bits, ...near].filter(candidate => candidate < 8 * pdf.length)) {
      const changed = Uint8Array.from(pdf)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const report = answer(changed)
      expect(isUnreadable(report) ? "unreadable" : report.verdict, `bit ${bit}`).toMatch(/^(?:unreadable|FAILED)$/)
    }
  })

  test.each([
    ["in capitals", withText(at, latin1(pdf.subarray(at, at + 64)).toUpperCase())],
    ["with a space in it", withText(at + 3000, " ")],
    ["with something behind it", withText(at + 3000, "01")],
    ["of nothing", withText(at, "0".repeat(3072))],
    ["in other brackets", withText(at - 1, "(")],
  ])("is spelled in one way: not %s", (_, changed) => {
    const report = answer(changed)
    expect(isUnreadable(report) ? "FAILED" : report.verdict).toBe("FAILED")
  })

  const revision = (prev: string): string =>
    `\n1 0 obj\n<< >>\nendobj\nxref\n0 1\n0000000000 65535 f \n\ntrailer\n<< /Size 1 ${prev}>>\n\nstartxref\n9\n%%EOF`
  const behind = (text: string): Uint8Array => Buffer.concat([pdf, Buffer.from(text, "latin1")])
  test.each<[string, Uint8Array]>([
    ["one byte behind it", behind("\n")],
    ["another end behind it", behind("%%EOF")],
    ["a second revision", behind(revision("/Prev 9 "))],
    ["a second revision without /Prev", behind(revision(""))],
    ["a second signature, of the holder of the key too", signPdf(behind(latin1(pdf)), deployment)],
    ["its last byte cut off", pdf.subarray(0, -1)],
    ["a range that begins later", signedAnew(pdf, "/ByteRange [ 0 ", "/ByteRange [ 1 ")],
    ["a range that leaves out a byte before it", signedAnew(pdf, `[ 0 ${at - 1} `, `[ 0 ${at - 2} `)],
    ["a range that leaves out a byte behind it", signedAnew(pdf, ` ${rest} ]`, ` ${rest - 1} ]`)],
  ])("covers the whole file: not one with %s", (_, changed) => {
    expect(refusal(changed)).toContain("its signature does not cover the whole file")
  })

  const other = makeDeployment({ seed: "another service", host: "other.example" })
  test("is by a key of the reader's trust documents, and of the one that the record is of", () => {
    expect(verified(made({}, other))).toMatchObject({ verdict: "FAILED", first_failure: "report_signature" })
    const both = verified(made({}, other), [deployment.trust, other.trust])
    expect(both.verdict).toBe("FAILED")
    expect(verified(pdf, [other.trust, deployment.trust]).verdict).toBe(COMPLETE)
  })

  const under = (change: Partial<ServiceKey>): Report => {
    const serviceKeys = deployment.trust.serviceKeys.map(key => ({ ...key, ...change }))
    return verified(pdf, [{ ...deployment.trust, serviceKeys }])
  }
  test("counts when its key was retired since the record was made, and not when it was retired before", () => {
    expect(under({ validTo: madeAt + 3600 }).verdict).toBe(COMPLETE)
    expect(under({ validTo: madeAt - 1 }).checks).toContainEqual({
      id: "report_signature",
      result: "fail",
      message: "The service key that signed the report was no longer in use when the record was made.",
    })
  })

  test("does not count once its key is revoked, whenever that was", () => {
    const report = under({ revokedFrom: madeAt + 3600 })
    expect(report).toMatchObject({ verdict: "FAILED", first_failure: "report_signature" })
    // Of several trust documents with this key one may know it.
    const revoked = { ...deployment.trust, serviceKeys: [{ ...deployment.trust.serviceKeys[0]!, revokedFrom: madeAt }] }
    expect(verified(pdf, [deployment.trust, revoked]).verdict).toBe("FAILED")
  })

  test("states the time of the record, or of its key where that is younger", () => {
    expect(verified(made({ madeAt: madeAt + 1 }))).toMatchObject({ first_failure: "report_signature" })
    const serviceKeys = deployment.trust.serviceKeys.map(key => ({ ...key, validFrom: madeAt + 86_400 }))
    const later = { ...deployment, trust: { ...deployment.trust, serviceKeys } }
    const signed = answer(made({}, later), [later.trust])
    expect(isUnreadable(signed) ? undefined : signed.checks.find(({ id }) => id === "report_signature")?.result).toBe(
      "pass",
    )
  })
})

describe("a file that is no report of ours is refused", () => {
  const pdf = made()
  const size = Buffer.byteLength(record)
  test.each<[string, Uint8Array, string]>([
    ["something before its beginning", Buffer.concat([Buffer.from("\n"), pdf]), "it does not begin as a report"],
    ["another first object", signedAnew(pdf, "/Type /Sig", "/Type /Sog"), "it does not begin as a report"],
    ["a time of another form", signedAnew(pdf, /\d{14}Z/, "20260101000000z"), "it does not begin as a report"],
    ["another second object", signedAnew(pdf, "2 0 obj", "4 0 obj"), "its record is not where"],
    ["a compressed record", signedAnew(pdf, "/Params 3 0 R\n", "/Filter /Fl\n\n\n"), "its record is not where"],
    [
      "a record that is longer than it says",
      signedAnew(pdf, `Length ${size}`, `Length ${size - 1}`),
      "its record is not where",
    ],
    [
      "a record that is shorter than it says",
      signedAnew(pdf, `Length ${size}`, `Length ${size + 1}`),
      "its record is not where",
    ],
    [
      "a record beyond the file",
      signedAnew(pdf, `Length ${size}`, `Length ${"9".repeat(`${size}`.length)}`),
      "its record is not where",
    ],
    ["an attachment that is no JSON", made({ record: "{" }), "the record in the PDF is not strict JSON"],
    [
      "a receipt for its record",
      made({ record: canonicalize(receiptAnswer(sealRun(deployment, { outcome: "pepg_deny" }).bundle)!) }),
      "no audit bundle",
    ],
  ])("for %s", (_, file, sentence) => {
    expect(refusal(file)).toContain(sentence)
  })

  test("for any bytes behind a PDF's first line, without a throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), bytes => {
        expect(refusal(Buffer.concat([Buffer.from("%PDF-1.7\n"), bytes]))).toContain("not an audit report of ours")
      }),
    )
  })

  test("for a beginning of a report, however long, without a throw", () => {
    for (let length = 0; length < pdf.length; length += 29)
      expect(refusal(pdf.subarray(0, length))).toContain("not an audit report of ours")
  })

  test("for a report in which bytes were changed, without a throw", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: pdf.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        changes => {
          const changed = Uint8Array.from(pdf)
          for (const [at, byte] of changes) changed[at] = byte
          const report = answer(changed)
          if (isUnreadable(report) || report.verdict === "FAILED") return
          expect(Buffer.from(changed).equals(pdf)).toBe(true)
        },
      ),
    )
  })
})

test("what no verifier would read is not signed, nor a signature that does not fit", () => {
  expect(() => withSignedRange(new Uint8Array(5000))).toThrow(RangeError)
  expect(() => withSignedRange(new Uint8Array(5))).toThrow(RangeError)
  expect(() => withSignature(made(), new Uint8Array(1537))).toThrow(RangeError)
})
