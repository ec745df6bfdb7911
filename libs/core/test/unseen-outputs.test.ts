/** An output that the service never had: its caller declared the hash. docs/formats.md section 2.1. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { reduce, withholdSections } from "../src/derivation/derive.ts"
import { verifyBundle } from "../src/verify/bundle.ts"
import { evidenceSummary } from "../src/verify/evidence-summary.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { closePermit, openPermit } from "./fixtures/permits.ts"

const HASH = sha256Hex("the genuine output")
const declaring = (output: JsonObject) => ({ request_substance: { output } }) as const
const deployment = makeDeployment()
const run = sealRun(deployment, { outcome: "ok", minimal: true, declared: declaring({ hash: HASH }) }).bundle
const close = closePermit(deployment, openPermit(deployment, { minimal: true }), {
  minimal: true,
  declared: declaring({ hash: HASH }),
}).bundle
const denied = sealRun(deployment, {
  outcome: "pepg_deny",
  denied_by: "rule",
  minimal: true,
  declared: declaring({ hash: HASH }),
}).bundle

const reportOf = (bundle: Bundle): Report => verifyBundle(bundle, [deployment.trust])
const codesOf = (bundle: Bundle): readonly string[] => reportOf(bundle).limitations.map(({ code }) => code)

describe("a record that has the hash of an output as its caller declared it", () => {
  test.each([
    ["a run", run],
    ["a close", close],
    ["a denied run", denied],
  ])("verifies, and says that the output was not reviewed: %s", (_, bundle) => {
    const report = reportOf(bundle)
    expect(report).toMatchObject({ verdict: VERDICTS.complete, facts: { declared_output_hash: HASH } })
    expect(report.facts).not.toHaveProperty("ai_output_hash")
    expect(report.limitations).toContainEqual(expect.objectContaining({ code: "output_not_reviewed", strict: true }))
    expect(evidenceSummary(bundle)).toContainEqual({
      key: "declared_output_hash",
      label: "output SHA-256 as declared",
      value: HASH,
    })
  })

  test.each([
    ["request_substance", run],
    ["closing", close],
  ] as const)("says so also where %s is withheld: kernel AIVP found it", (name, bundle) => {
    const withheld = withholdSections(bundle, [name])
    expect(reduce(withheld).sections).toMatchObject({ [name]: { withheld: true } })
    expect(codesOf(withheld)).toContain("output_not_reviewed")
    expect(reportOf(withheld).facts).not.toHaveProperty("declared_output_hash")
  })
})

test("a record of an output that the service had, of none, or of another declaration, does not say so", () => {
  const other = { outcome: "ok", minimal: true, declared: declaring({ tokens: 1 }) } as const
  for (const bundle of [
    sealRun(deployment, { outcome: "ok" }).bundle,
    sealRun(deployment, { outcome: "ok", minimal: true }).bundle,
    sealRun(deployment, other).bundle,
  ]) {
    expect(codesOf(bundle)).not.toContain("output_not_reviewed")
    expect(reportOf(bundle).facts).not.toHaveProperty("declared_output_hash")
  }
})
