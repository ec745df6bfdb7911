/** A report is read alike on the command line and in a browser, whose decoder refuses bytes behind a stream. */
import { canonicalize } from "@runseal/canonical"
import { clockSeconds } from "@runseal/core/vocabulary/scalars"
import { expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { smallPdf } from "../../../libs/core/test/fixtures/small-pdf.ts"
import { verifyReport } from "./report-file.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })

/** A signed report whose page has these bytes behind its compressed content. */
const reportWith = (more: string): Uint8Array =>
  smallPdf(
    {
      attachments: [canonicalize(bundle)],
      pages: [[`Bundle hash ${bundle.bundle_hash}`, "Page 1 of 1"]],
      madeAt: clockSeconds(bundle.run.created_at) ?? 0,
      edit: objects => {
        const [, dictionary, length, data] =
          /^(.*\/Length )(\d+)( >>\nstream\n.*)\nendstream$/s.exec(objects.get(12) ?? "") ?? []
        objects.set(12, `${dictionary}${Number(length) + more.length}${data}${more}\nendstream`)
      },
    },
    deployment,
  )

const verdictOf = async (pdf: Uint8Array): Promise<string> => {
  const { report } = await verifyReport(pdf, [deployment.trust])
  return "unreadable" in report ? report.unreadable : report.verdict
}

test("a report with something behind a compressed stream is none of ours", async () => {
  expect(await verdictOf(reportWith(""))).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
  for (const more of ["\0\0", "more"]) expect(await verdictOf(reportWith(more))).toContain("cannot be decompressed")
})

test("a stream that expands to more than a report holds is left off", async () => {
  const bomb = smallPdf(
    { attachments: [`"${"x".repeat(20 * 1024 * 1024)}"`], pages: [["Page 1 of 1"]], madeAt: 0 },
    deployment,
  )
  expect(await verdictOf(bomb)).toContain("within bounds")
})
