import { utf8Encode } from "@runseal/canonical"
import { signEnvelope } from "@runseal/log/entries/dsse"
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { envelopeSection } from "../src/formulas/pre-execution.ts"
import { runStatement, runStatementText } from "../src/formulas/run-statement-text.ts"
import { seal } from "../src/formulas/seal.ts"
import { outcomeHeadline, statementText, titleOf } from "../src/presentation/account.ts"
import { verifyBundle } from "../src/verify/bundle.ts"
import { foldExport } from "../src/verify/completeness.ts"
import { isUnreadable, verifyText } from "../src/verify/document.ts"
import { evidenceSummary } from "../src/verify/evidence-summary.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { ENFORCEMENT } from "../src/vocabulary/scalars.ts"
import { IN_TOTO_PAYLOAD_TYPE } from "../src/vocabulary/versions.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { openPermit } from "./fixtures/permits.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { exportText, stateExport } from "./fixtures/sample-exports.ts"

const deployment = makeDeployment()
const sealed = (spec: RunSpec): Bundle => sealRun(deployment, spec).bundle
const denied: RunSpec = { outcome: "pepg_deny", denied_by: "rule" }
const observed = sealed({ ...denied, enforcement: ENFORCEMENT })
const enforced = sealed(denied)
const codesOf = (text: string): readonly string[] => {
  const found = verifyText(text, [deployment.trust])
  if (isUnreadable(found)) throw new Error(found.unreadable)
  return found.limitations.map(({ code }) => code)
}
const report = (bundle: Bundle) => verifyBundle(bundle, [deployment.trust])

describe("a run that was observed and not enforced", () => {
  test("verifies as any other, and everything that is said of it says that nothing was stopped", () => {
    const found = report(observed)
    expect(found).toMatchObject({ verdict: VERDICTS.complete, facts: { enforcement: "observe" } })
    expect(outcomeHeadline(found)).toEqual({
      text: `Run ${observed.run.run_id}, observed: it would have been denied: rule no-export of the policy; nothing was stopped`,
      tone: "warn",
    })
    expect(titleOf(found)).toContain("outcome pepg_deny, observed and not enforced")
    expect(statementText(found)).toContain("This was observed and not enforced: nothing was stopped.")
    expect(evidenceSummary(observed)).toContainEqual({ key: "enforcement", label: "enforcement", value: "observe" })
  })

  test("is weaker than an enforced one: --strict refuses it", () => {
    expect(report(observed).limitations).toContainEqual(
      expect.objectContaining({ code: "observed_only", strict: true }),
    )
    expect(report(enforced).limitations.map(({ code }) => code)).not.toContain("observed_only")
  })

  test("is weaker in every document of it: an opening, an export of openings alone, a run statement", () => {
    const tenant = "api-key-8"
    const openings = [1, 2].map(() => openPermit(deployment, { tenant, enforcement: ENFORCEMENT }).opening)
    const lines = exportText(stateExport(deployment, openings, { tenant }), ...openings)
      .trimEnd()
      .split("\n")
    const statement = runStatement(observed)
    if (statement === undefined) throw new Error("the record has no statement")
    const signed = signEnvelope(IN_TOTO_PAYLOAD_TYPE, utf8Encode(runStatementText(statement)), deployment.serviceKey)
    for (const text of [...lines.slice(1), JSON.stringify(signed)]) expect(codesOf(text)).toContain("observed_only")
    expect(codesOf(JSON.stringify(openPermit(deployment).opening))).not.toContain("observed_only")
    const fold = foldExport([deployment.trust])
    for (const [at, text] of lines.entries()) fold.take(at + 1, utf8Encode(text))
    expect(fold.end()).toMatchObject({
      problems: [],
      limitations: expect.arrayContaining([expect.objectContaining({ code: "observed_only", strict: true })]),
    })
  })

  test("is never shown as a plain success", () => {
    const found = report(sealed({ outcome: "ok", enforcement: ENFORCEMENT }))
    expect(outcomeHeadline(found)?.tone).toBe("warn")
  })
})

describe("the mark is under the hashes of the record", () => {
  const { hash: _hash, enforcement: _mark, ...unmarked } = observed.sections.envelope ?? envelopeOf(observed)
  const withEnvelope = (bundle: Bundle, envelope: Bundle["sections"]["envelope"]): Bundle => ({
    ...bundle,
    sections: { ...bundle.sections, ...(envelope && { envelope }) },
  })

  test("without it, a record of an observed run does not verify", () => {
    expect(report(withEnvelope(observed, seal(unmarked))).verdict).toBe(VERDICTS.failed)
  })

  test("with it, a record of an enforced run does not verify", () => {
    const { hash: _, ...envelope } = enforced.sections.envelope ?? envelopeOf(enforced)
    expect(report(withEnvelope(enforced, seal({ ...envelope, enforcement: ENFORCEMENT }))).verdict).toBe(
      VERDICTS.failed,
    )
  })

  test("the envelope of an enforced run has the bytes that it had before there was a mark", () => {
    expect(Object.keys(enforced.sections.envelope ?? {})).not.toContain("enforcement")
    const { run, sections } = enforced
    const { program_id, route_id, tenant_id, execution_region } = run
    const { registry_record_hash = "", admission_clock: at = "", run_nonce: nonce = "" } = sections.envelope ?? {}
    const facts = { program_id, route_id, registry_record_hash, tenant_id, execution_region, enforcement: undefined }
    expect(seal(envelopeSection(facts, sections.payload, sections, { at, nonce }))).toEqual(sections.envelope)
  })
})

function envelopeOf(bundle: Bundle): never {
  throw new Error(`run ${bundle.run.run_id} has no envelope`)
}
