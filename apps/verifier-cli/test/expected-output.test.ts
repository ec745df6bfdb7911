/** `--ai-output` on records of outputs that the service had, and of those that it never had. docs/verifier.md, "Expectations". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { sha256Hex } from "@runseal/canonical"
import { withholdSections } from "@runseal/core/derivation/derive"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { readExpectations } from "../src/expected-facts.ts"

const OUTPUT = '{"stdout":"the genuine output"}'
const deployment = makeDeployment()
const declared = { request_substance: { output: { hash: sha256Hex(OUTPUT) } } }
const unseen = sealRun(deployment, { outcome: "ok", minimal: true, declared }).bundle
const seen = sealRun(deployment, { outcome: "ok", ai_output: OUTPUT }).bundle

const folder = testFolder("runseal-output")

async function comparedWith(text: string, document: object) {
  const aiOutput = join(folder, "output")
  writeFileSync(aiOutput, text)
  const [expectation] = await readExpectations({ aiOutput }, 0, [])
  const report = verifyText(JSON.stringify(document), [deployment.trust])
  if (isUnreadable(report)) throw new Error(report.unreadable)
  const { result, message } = expectation?.(report, new Uint8Array()) ?? {}
  return { result, message: message?.replace(aiOutput, "FILE") }
}

test("the genuine output of a record that has its hash as declared is as expected, and whose word the hash is", async () => {
  expect(await comparedWith(OUTPUT, unseen)).toEqual({
    result: "pass",
    message:
      "request_substance.output.hash is the SHA-256 of FILE, as the caller declared it: the service never had the output",
  })
  expect(await comparedWith(OUTPUT, seen)).toEqual({ result: "pass", message: "ai_output_hash is the SHA-256 of FILE" })
})

test.each([
  ["another output", "x", unseen, "request_substance.output.hash is not the SHA-256 of FILE"],
  ["the hash as a text", sha256Hex(OUTPUT), unseen, "request_substance.output.hash is not the SHA-256 of FILE"],
  ["a newline more", `${OUTPUT}\n`, unseen, "without its last newline it would be"],
  [
    "a declaration that is withheld",
    OUTPUT,
    withholdSections(unseen, ["request_substance"]),
    "states no ai_output_hash",
  ],
  ["no declaration", OUTPUT, sealRun(deployment, { outcome: "ok", minimal: true }).bundle, "states no ai_output_hash"],
])("%s is not as expected", async (_, text, document, message) => {
  expect(await comparedWith(text, document)).toEqual({ result: "fail", message: expect.stringContaining(message) })
})
