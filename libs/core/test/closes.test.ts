/** Records of closes: what they hold, and what no honest close holds. */
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { outcomeHeadline, titleOf } from "../src/presentation/account.ts"
import { permitLines } from "../src/presentation/permit-account.ts"
import { verifyBundle } from "../src/verify/bundle.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { type CloseSpec, closePermit, openPermit } from "./fixtures/permits.ts"
import { CLOSING_DECLARED, OPENED_DECLARED } from "./fixtures/samples.ts"

const deployment = makeDeployment()
/** What TOK finds of every opening here: its actor is one of its approvers. */
const SELF_APPROVED = { code: "APPROVER_IS_ACTOR", count: 1 }
const close = (spec: CloseSpec = {}) => closePermit(deployment, openPermit(deployment), spec).bundle

describe("a close", () => {
  const kernelsOf = (record: Bundle) => record.sections.efa?.kernels ?? []

  test("has what its opening declared and what it adds, and every kernel names both sections", () => {
    const record = close()
    expect(record.sections.closing).toMatchObject({ declared: CLOSING_DECLARED })
    expect(record.sections.causal_graph).toMatchObject({ declared: OPENED_DECLARED.causal_graph })
    expect(record.sections.leakage_bundle?.declared_values.closing).toBe(18)
    expect(record.manifest).toMatchObject({
      PermitHash: record.sections.permit?.hash,
      ClosingHash: record.sections.closing?.hash,
    })
    const [, tok] = kernelsOf(record)
    // Its effects go back in time, and no time of either declaration is late.
    expect(tok?.findings).toEqual([{ code: "TIMESTAMP_OUT_OF_ORDER", count: 1 }, SELF_APPROVED])
  })

  test("holds its own times to its own clock", () => {
    const at = "2026-01-15T12:04:00.000Z"
    const effects = (issued_at: string) => ({ causal_graph: { effect_log: [{ issued_at }] } })
    const found = (issued_at: string) => kernelsOf(close({ at, declared: effects(issued_at) }))[1]?.findings
    expect(found("2026-01-15T12:03:59.000Z")).toEqual([SELF_APPROVED])
    expect(found("2026-01-15T12:04:00.001Z")).toEqual([{ code: "TIMESTAMP_AFTER_ADMISSION", count: 1 }, SELF_APPROVED])
  })

  test("tells of its permit: when it was opened and closed, what was reserved and used, and that the act failed", () => {
    const report = verifyBundle(close({ failed: "TIMED_OUT" }), [deployment.trust])
    expect(outcomeHeadline(report)).toEqual({
      text: expect.stringMatching(/; its act failed: TIMED_OUT, no result came in time$/),
      tone: "warn",
    })
    expect(permitLines(report)).toEqual([
      expect.stringMatching(/^Permitted at 2026-01-15T12:00:\S+Z \(log entry \d+\)\.$/),
      expect.stringMatching(/^The act was reported as failed \(TIMED_OUT, no result came in time\); closed at /),
      "2000 tokens reserved, 1240 used.",
    ])
    expect(titleOf(report)).toContain("outcome ok, act failed (TIMED_OUT)")
    expect(report.limitations.map(({ code }) => code)).toEqual(
      expect.arrayContaining(["reported_act", "opening_before_act"]),
    )
  })
})

test("a refused opening is a refused run: nothing moved, and its total is what there would have been", () => {
  const ccv = sealRun(deployment, { outcome: "ccv_halt", reserve_tokens: 1_000_001 }).bundle
  const macc = sealRun(deployment, { outcome: "macc_halt", reserve_tokens: 900_000, window_cap: 900_000 }).bundle
  for (const record of [ccv, macc]) expect(verifyBundle(record, [deployment.trust]).verdict).toBe(VERDICTS.complete)
  expect(macc.sections.budget_snapshot).toMatchObject({ purpose: "reservation", declared_tokens: 900_000 })
  expect(macc.sections.budget_snapshot?.window).not.toHaveProperty("ordinal")
})
