import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { canonicalize } from "@runseal/canonical"
import { clockSeconds } from "@runseal/core/vocabulary/scalars"
import { expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { smallPdf } from "../../../libs/core/test/fixtures/small-pdf.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { expandRecord } from "../src/record-forms.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const madeAt = clockSeconds(bundle.run.created_at) ?? 0
const folder = testFolder("runseal-forms")

function expanded(madeAt: number) {
  const path = join(folder, "report.pdf")
  writeFileSync(path, smallPdf({ record: JSON.stringify(bundle), madeAt }, deployment))
  return expandRecord(path, { force: false }, [deployment.trust], { colour: false, ascii: false })
}

test("of a report the record that it carries is written", async () => {
  const answer = await expanded(madeAt)
  expect(answer).toMatchObject({ exit: 0, stdout: canonicalize(bundle) })
})

test("nothing is written of a report whose signature fails", async () => {
  const answer = await expanded(madeAt + 1)
  expect(answer).toMatchObject({ exit: 1, stdout: "" })
  expect(answer.stderr).toContain("report_signature")
})
