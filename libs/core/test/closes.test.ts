/** Records of closes: what they hold, and what no honest close holds. */
import { describe, expect, test } from "vitest"
import { WITHHOLDABLE_NAMES } from "../src/artifacts/declared-sections.ts"
import { reduce, withholdSections } from "../src/derivation/derive.ts"
import { verifyBundle } from "../src/verify/bundle.ts"
import { verifyDocument } from "../src/verify/document.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { makeDeployment } from "./fixtures/deployment.ts"
import { type CloseSpec, closePermit, openPermit } from "./fixtures/permits.ts"
import { using } from "./fixtures/samples.ts"

const deployment = makeDeployment()
const close = (spec: CloseSpec = {}, reserve_tokens = 2000) =>
  closePermit(deployment, openPermit(deployment, { reserve_tokens }), spec).bundle

const CLOSES: readonly (readonly [name: string, spec: CloseSpec])[] = [
  ["completed", {}],
  ["failed", { failed: "EXECUTOR_FAILED", declared: "nothing" }],
  ["denied by a rule", { outcome: "pepg_deny", denied_by: "rule" }],
  ["denied for its output", { outcome: "pepg_deny", matched_in: "ai_output" }],
  ["denied for what it declares", { outcome: "pepg_deny", matched_in: "/closing/causal_graph/effect_log/1/target" }],
  ["halted by the run budget", { outcome: "ccv_halt", declared: using(1_000_001) }],
  ["halted by the review", { outcome: "aivp_t4_halt" }],
  ["failed in the log", { outcome: "stage_error", failed_step: "LEDGER" }],
  ["failed in its kernels", { outcome: "stage_error", failed_step: "DKEC" }],
  ["redeemed", { redeemed_at: "2026-01-15T12:00:09.900Z", at: "2026-01-15T12:05:00.000Z" }],
]

describe("the record of a close", () => {
  test.each(CLOSES)("%s verifies", (_name, spec) => {
    const record = close(spec)
    const report = verifyDocument(reduce(record), [deployment.trust])
    expect(report).toMatchObject({ verdict: VERDICTS.complete })
    expect(verifyBundle(record, [deployment.trust]).verdict).toBe(VERDICTS.complete)
  })

  test.each(WITHHOLDABLE_NAMES)("verifies without %s", name => {
    const record = close()
    const report = verifyDocument(reduce(withholdSections(record, [name])), [deployment.trust])
    expect(report).toMatchObject({ verdict: VERDICTS.complete, withheld: [name] })
  })
})
