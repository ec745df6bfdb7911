import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { canonicalize } from "@runseal/canonical"
import { clockSeconds } from "@runseal/core/vocabulary/scalars"
import { afterAll, expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { smallPdf } from "../../../libs/core/test/fixtures/small-pdf.ts"
import { expandRecord } from "../src/record-forms.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const folder = mkdtempSync(join(tmpdir(), "runseal-forms-"))
afterAll(() => rmSync(folder, { recursive: true }))

function expanded(pages: readonly string[]) {
  const path = join(folder, "report.pdf")
  const madeAt = clockSeconds(bundle.run.created_at) ?? 0
  writeFileSync(path, smallPdf({ attachments: [JSON.stringify(bundle)], pages: [pages], madeAt }, deployment))
  return expandRecord(path, { force: false }, [deployment.trust], { colour: false, ascii: false })
}

test("of a report the record that it carries is written", async () => {
  const answer = await expanded([`Bundle hash ${bundle.bundle_hash}`])
  expect(answer).toMatchObject({ exit: 0, stdout: canonicalize(bundle) })
})

test("nothing is written of a report whose pages print a foreign hash", async () => {
  const answer = await expanded([`Bundle hash ${bundle.bundle_hash}`, "ab".repeat(32)])
  expect(answer).toMatchObject({ exit: 1, stdout: "" })
  expect(answer.stderr).toContain("printed_hashes")
})
