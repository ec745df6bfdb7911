/** Sentences of a report that a lawyer would weigh: each is true of this record, in number and in what it claims. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { REPORT_FORMATS } from "@runseal/core/wire/run-summaries"
import { describe, expect, test } from "vitest"
import { sealCloses } from "../../../../libs/core/test/fixtures/sample-closes.ts"
import { closed, contextOf, reportText, sealed } from "../../spec/harness/report-samples.ts"
import { makeReport } from "./make-report.ts"

const whole = (bundle: Bundle, verified: Bundle = bundle): string =>
  reportText(makeReport(bundle, contextOf(verified), "comprehensive"))
const costing = (cost: Record<string, number>) => ({ declared: { request_substance: { cost } } }) as const

describe("one is singular", () => {
  test("of bytes and tokens", () => {
    const text = whole(sealed("ok", { payload: "x", ...costing({ total_tokens: 1 }) }))
    expect(text).toContain("payload of 1 byte is recorded")
    expect(text).toContain("the budgets counted 1 declared token, within")
    expect(text).toContain("1 token declared; limit")
    expect(text).not.toMatch(/\b1 (?:bytes|tokens|steps|declared tokens)\b/)
  })

  test("of what a halt names", () => {
    expect(whole(sealed("macc_halt", { window_cap: 1, ...costing({ total_tokens: 1 }) }))).toContain(
      "With its 1 token the window",
    )
    expect(whole(sealed("stage_error", { failed_step: "DTL" }))).toContain("1 of 14 steps was passed")
    expect(whole(sealed("stage_error", { failed_step: "REGISTRY" }))).toContain("1 step was not reached")
  })

  test("of missing fields", () => {
    const spec = { declared: { attested_context: { actor_id: "a", actor_role: "b" } } }
    expect(whole(sealed("attestation_gap", spec))).toContain("Of 3 required fields 1 is missing.")
  })
})

describe("a sentence claims what the record holds", () => {
  test("nobody declared zero tokens: the budgets counted them", () => {
    const text = whole(sealed("ok", costing({ total_token: 99 })))
    expect(text).toContain("the budgets counted 0 declared tokens, within both limits")
    expect(text).not.toContain("it declared 0 tokens")
  })

  test("a review without output, and one that was switched off, are not called reviews", () => {
    expect(whole(sealed("ok", { minimal: true }))).toContain(
      "the governance review had no AI output to review and recorded a release (NO_AI_OUTPUT)",
    )
    const off = { adapter_id: "none", decision_reason: "REVIEW_DISABLED", finding_count: 0, rule_ids: [] } as const
    expect(whole(sealed("ok", { review: { ...off, decision_kind: "release" } }))).toContain(
      "the governance review was switched off and recorded a release (REVIEW_DISABLED)",
    )
  })

  test("an output that the service never had is not called reviewed, and its hash is the caller's word", () => {
    const hash = "ab".repeat(32)
    const declared = { request_substance: { output: { hash } } }
    const text = whole(sealed("ok", { minimal: true, declared }))
    expect(text).toContain(
      "the governance review had no AI output to review, of which the caller declared the hash alone, and recorded a release (NO_AI_OUTPUT)",
    )
    expect(text).toContain("The output was not reviewed: the caller declared its hash and did not send it.")
    expect(text).toContain(`${hash} as the caller declared it; no AI output was sent`)
    expect(text).not.toContain("Reviewed by")
    expect(whole(sealed("ok", { minimal: true }))).not.toContain("as the caller declared it; no AI output")
  })

  test("findings are counted alike in the summary and in the claims", () => {
    const effects = [4, 3, 2, 1].map(day => ({ issued_at: `2025-01-0${day}T00:00:00Z` }))
    const text = whole(sealed("ok", { declared: { causal_graph: { effect_log: effects } } }))
    expect(text).toContain("The record has 3 findings, which stop no run: TIMESTAMP_OUT_OF_ORDER ×3.")
    expect(text).toContain("6 kernels ran and recorded 3 findings.")
  })

  test.each(REPORT_FORMATS)("an observed match is named with its signature and its place, %s", format => {
    const bundle = sealed("ok", { observed: true })
    const text = reportText(makeReport(bundle, contextOf(bundle), format))
    expect(text).toMatch(/which stops? no run: SIGNATURE_MATCH_OBSERVED[^.]*\. MCD-\S+ matched in the payload\./)
  })

  test("a narrowed scan that found nothing says what it did not search", () => {
    const bundle = sealed("ok", { observed: true })
    const { mcd_finding: _, ...sections } = bundle.sections
    const text = whole({ ...bundle, sections }, bundle)
    expect(text).toContain("found none of its signatures in what it searched")
    expect(text).toContain("Not searched: the AI output.")
    expect(text).toContain("Not searched for: MCD-FE-001, MCD-PI-002.")
    expect(whole(sealed("ok"))).not.toContain("Not searched")
  })

  test("a field that says nothing is not called absent", () => {
    const spec = { declared: { attested_context: { actor_id: " ", actor_role: "b" } } }
    const text = whole(sealed("attestation_gap", spec))
    expect(text).toContain("missing: declared, and its value says nothing")
    expect(text).not.toContain("lacks")
  })

  test("a position in a pointer is explained", () => {
    const text = whole(
      sealed("pepg_deny", { matched_in: "/causal_graph/#0", declared: { causal_graph: { "a b": "x" } } }),
    )
    expect(text).toContain("#0 is the first member by name")
    expect(whole(sealed("pepg_deny"))).not.toContain("first member by name")
  })

  test("a step that failed is no decision of a gate", () => {
    const text = whole(sealed("stage_error"))
    expect(text).toMatch(/A pipeline stage failed[^\n]*the operator of service and log; rests on bundle_hash/)
  })
})

test("brief says where the 18 hashes are explained", () => {
  const bundle = sealed("ok")
  expect(reportText(makeReport(bundle, contextOf(bundle), "brief"))).toContain(
    "The other formats say what each is a hash of.",
  )
})

describe("the report of a close", () => {
  test("tells when the act was permitted, that it failed, and what was reserved and used", () => {
    const text = whole(closed({ failed: "EXECUTOR_FAILED" }))
    expect(text).toMatch(
      /It was permitted on 2026-01-15T12:00:\S+Z \(log entry \d+\); the caller reported the act as failed/,
    )
    expect(text).toContain("EXECUTOR_FAILED, the executor failed while it acted")
    expect(text).toContain("The act failed; what passed is the service's part")
    expect(text).not.toContain("Charged for this run")
  })

  test.each([{}, { failed: "NOT_EXECUTED" }] as const)("never says that the service executed the act (%o)", spec => {
    const text = whole(closed(spec))
    expect(text).not.toMatch(/\bexecuted and sealed/)
    expect(text).toContain("The run was admitted, checked and sealed.")
    expect(text).toContain(
      "failed" in spec ? "Sealed; the permitted act failed" : "Sealed; the permitted act was reported done",
    )
  })

  test("that was refused says that the act may have been done", () => {
    const text = whole(closed({ outcome: "pepg_deny", denied_by: "rule" }))
    expect(text).toContain("The act had been permitted before and may have been done: what was refused is its result.")
    expect(text).not.toContain("nothing was executed")
  })

  test.each(REPORT_FORMATS)("of every ending can be made, %s", format => {
    for (const { bundle } of sealCloses())
      expect(reportText(makeReport(bundle, contextOf(bundle), format))).toContain("It was permitted on ")
  })
})
