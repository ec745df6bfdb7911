/** Requests for an approval, alone and with what they come to: what they hold, and what no honest one holds. */

import { canonicalize } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { APPROVAL_OUTCOMES, type ApprovalOutcome, type GivenApprovals } from "../src/artifacts/approvals.ts"
import type { WithholdableName } from "../src/artifacts/declared-sections.ts"
import { reduce, withholdSections } from "../src/derivation/derive.ts"
import { permitLines } from "../src/presentation/permit-account.ts"
import { readDocument, verifyText } from "../src/verify/document.ts"
import { evidenceSummary } from "../src/verify/evidence-summary.ts"
import { createApprovalCheck } from "../src/verify/export-approvals.ts"
import { parseDocument } from "../src/verify/parsed-text.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import {
  collectPermit,
  type EndedSpec,
  given,
  type RequestSpec,
  refusedSpec,
  refuseRequest,
  requestApproval,
  type SealedRequest,
} from "./fixtures/asked-approvals.ts"
import { approvalExports, contradictingApprovals } from "./fixtures/contradicting-approvals.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { asJson, type Json, withValue } from "./fixtures/json-values.ts"
import { exportReport, reportOn } from "./fixtures/judged.ts"
import { withPasskeys } from "./fixtures/passkeys.ts"
import { closePermit, later } from "./fixtures/permits.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { DENIED_WITHOUT_APPROVAL } from "./fixtures/samples.ts"
import { requiringEndUser } from "./fixtures/vectors/approval-vectors.ts"
import { ASKED } from "./fixtures/vectors/asked-transfer.ts"
import { END_USER } from "./fixtures/vectors/end-user-vectors.ts"

const deployment = makeDeployment()
const report = (document: object): Report => reportOn(canonicalize(asJson(document)), [deployment.trust])
const failure = (document: object): string | undefined => {
  const { checks, first_failure } = report(document)
  return checks.find(({ id }) => id === first_failure)?.message
}
const requested = (spec: RequestSpec = {}): SealedRequest => requestApproval(deployment, { ...ASKED, ...spec })

describe("a request for an approval", () => {
  test("verifies alone, and as its answer has it", () => {
    const { request } = requested()
    expect(report(request)).toMatchObject({ document: "approval_request", verdict: VERDICTS.approval_request })
    const answer = { ok: true, approval_id: request.approval_id, state: "waiting", request }
    expect(report(answer).verdict).toBe(VERDICTS.approval_request)
    expect(verifyText(canonicalize(request), [])).toMatchObject({ verdict: VERDICTS.failed })
  })

  const withheld: readonly Exclude<WithholdableName, "closing" | "approvals">[] = [
    "attested_context",
    "authorization_chain",
    "end_user",
    "act",
  ]
  test.each(withheld)("verifies without %s", name => {
    const { sections, ...rest } = requested().request
    const section = sections[name]
    if (section === undefined) throw new Error("the request has the section")
    const { kind, hash } = section
    const lacking = { ...rest, sections: { ...sections, [name]: { kind, withheld: true, hash } } }
    expect(report(lacking)).toMatchObject({ verdict: VERDICTS.approval_request, withheld: [name] })
  })

  test("ends when the shortest time of its rules is over", () => {
    const { request } = requested({ denied_by: "approval" })
    expect(request.sections.policy_evaluation.needed).toEqual(DENIED_WITHOUT_APPROVAL.needed)
    expect(Date.parse(request.expires_at) - Date.parse(request.sections.envelope.admission_clock)).toBe(3_600_000)
    expect(report(request).verdict).toBe(VERDICTS.approval_request)
  })

  const evaluation = (pointer: string, value: Json) => ({
    alter: { policy_evaluation: (part: Json) => withValue(part, pointer, value) },
  })
  test("needs no end user where no rule requires one", () => {
    const optional = evaluation("/needed/0/end_user", "optional")
    const unasked = (spec: RequestSpec = {}) => requestApproval(deployment, { ...optional, ...spec }).request
    expect(report(unasked()).verdict).toBe(VERDICTS.approval_request)
    expect(failure(unasked({ alterBody: requiringEndUser }))).toContain("requires an end user")
  })

  const dishonest: readonly (readonly [says: string, spec: RequestSpec])[] = [
    ["for a time that no request can ask for", { valid_for_seconds: 0 }],
    ["for a time that no request can ask for", { valid_for_seconds: 86_401 }],
    ["to be closed in a time that no request can ask for", { close_within_seconds: 119 }],
    [
      "at another time than that of its rules",
      { alterBody: body => ({ ...body, expires_at: "2026-01-15T14:00:00.750Z" }) },
    ],
    ["of another envelope", { alterBody: body => ({ ...body, approval_id: `apr-${"0".repeat(32)}` }) }],
    ["other terms than those of the request", { alterBody: body => ({ ...body, audience: "another" }) }],
    ["other terms than those of the request", evaluation("/facts/redeem_required", false)],
    ["other tokens than the permit is to reserve", { alterBody: body => ({ ...body, reserve_tokens: 1 }) }],
    ["cost of an act that it precedes", { declared: { request_substance: { cost: { total_tokens: 1 } } } }],
    ["600 s are allowed", { logged_after_s: 700 }],
  ]
  test.each(dishonest)("is refused with: %s", (says, spec) => {
    expect(
      report(requested(spec).request)
        .checks.map(({ message }) => message)
        .join("\n"),
    ).toContain(says)
  })

  test("is not another one's: its leaf names it", () => {
    const { request } = requested()
    expect(failure({ ...request, leaf: requested().request.leaf })).toContain("anchored leaf names another request")
    expect(failure({ ...request, tenant_salt: "0".repeat(64) })).toContain("the request does not match its hash")
  })
})

describe("an opening that rests on a request for an approval", () => {
  test("verifies with its approvals, and without them", () => {
    const { opening } = collectPermit(deployment, requested())
    expect(report(opening)).toMatchObject({ verdict: VERDICTS.opening })
    const { approvals, ...others } = opening.sections
    if (approvals === undefined) throw new Error("there are approvals")
    const { kind, hash } = approvals
    const withheldApprovals = { ...opening, sections: { ...others, approvals: { kind, withheld: true, hash } } }
    expect(report(withheldApprovals)).toMatchObject({ verdict: VERDICTS.opening, withheld: ["approvals"] })
    expect(failure({ ...opening, sections: others })).toBeDefined()
  })

  test("gives its approvals to its close", () => {
    const opened = collectPermit(deployment, requested())
    const closed = closePermit(deployment, opened, {
      redeemed_at: "2026-01-15T12:04:00.000Z",
      at: "2026-01-15T12:05:00.000Z",
    })
    expect(closed.bundle.sections.approvals).toEqual(opened.opening.sections.approvals)
    expect(report(reduce(closed.bundle)).verdict).toBe(VERDICTS.complete)
    expect(report(withholdSections(closed.bundle, ["approvals"])).verdict).toBe(VERDICTS.complete)
  })
})

const REFUSED: readonly Exclude<ApprovalOutcome, "approved">[] = ["rejected", "expired", "unused", "withdrawn"]

test.each(REFUSED)("a refused run ends a request that was %s", outcome => {
  const { bundle, receipt } = refuseRequest(deployment, requested(), outcome)
  expect(bundle.sections.policy_evaluation?.decision_reason_code).toBe(`APPROVAL_${outcome.toUpperCase()}`)
  expect(report(reduce(bundle)).verdict).toBe(VERDICTS.complete)
  expect(report(withholdSections(bundle, ["approvals"])).verdict).toBe(VERDICTS.complete)
  expect(report(receipt ?? {}).verdict).toBe(VERDICTS.receipt)
})

test("an approval is used up by a run that another gate refuses", () => {
  for (const outcome of ["macc_halt", "pepg_deny"] as const) {
    const spec = outcome === "pepg_deny" ? { denied_by: "rule" as const } : { window_cap: 2000 }
    const { bundle } = refuseRequest(deployment, requested(), "approved", { outcome, ...spec })
    expect(report(reduce(bundle)).verdict).toBe(VERDICTS.complete)
  }
})

describe("an operator cannot seal in an opening that", () => {
  type Retell = NonNullable<EndedSpec["retell"]>
  const second = ({ decisions }: GivenApprovals) => decisions.slice(1, 2)
  const first = ({ decisions }: GivenApprovals) => decisions.slice(0, 1)
  const changed =
    (change: Partial<GivenApprovals["decisions"][number]>): Retell =>
    approvals => ({
      ...approvals,
      decisions: [...first(approvals), ...second(approvals).map(each => ({ ...each, ...change }))],
    })
  const retold: readonly (readonly [says: string, problem: string, retell: Retell])[] = [
    [
      "one person decided twice",
      "one person decided twice",
      approvals => ({ ...approvals, decisions: first(approvals).flatMap(each => [each, each]) }),
    ],
    ["too few persons approved", "that nobody gave", approvals => ({ ...approvals, decisions: first(approvals) })],
    ["nobody decided", "that nobody gave", approvals => ({ ...approvals, decisions: [] })],
    ["a person of another group approved", "that nobody gave", changed({ groups: ["audit"] })],
    ["a person rejected", "a rejection and the outcome", changed({ decision: "reject" })],
    [
      "a person decided before the request",
      "before the request",
      approvals => ({ ...approvals, requested_at: later(approvals.requested_at, 61) }),
    ],
    ["a person decided after its end", "after its end", changed({ decided_at: "2026-01-15T14:00:00.750Z" })],
    ["a person decided after the run", "after the run", changed({ decided_at: "2026-01-15T12:30:00.750Z" })],
    [
      "the request was over",
      "collected after its end",
      approvals => ({ ...approvals, expires_at: "2026-01-15T12:02:30.000Z" }),
    ],
    [
      "the end user approved",
      "the end user decided on its own act",
      changed({ person: { subject: END_USER.subject } }),
    ],
    ["a sign-in has no identity provider", "proven otherwise", changed({ proof: "idp" })],
    ["groups are out of order", "groups of an approver", changed({ groups: ["treasury", "finance"] })],
  ]
  test.each(retold)("%s", (_says, problem, retell) => {
    const { opening } = collectPermit(deployment, requested(), { retell })
    expect(failure(opening)).toContain(problem)
  })

  test("the request was withdrawn", () => {
    const alter = { approvals: (part: Json) => withValue(part, "/outcome", "withdrawn") }
    expect(failure(collectPermit(deployment, requested(), { alter }).opening)).toContain(
      "that was not approved is permitted",
    )
  })

  test("names another request than its evaluation", () => {
    const alter = { policy_evaluation: (part: Json) => withValue(part, "/approval_request_hash", "0".repeat(64)) }
    expect(failure(collectPermit(deployment, requested(), { alter }).opening)).toContain(
      "another request for an approval",
    )
  })

  test("need not be redeemed", () => {
    const alter = { policy_evaluation: (part: Json) => withValue(part, "/facts/redeem_required", false) }
    expect(failure(collectPermit(deployment, requested(), { alter }).opening)).toContain("is no act of one permit")
  })
})

describe("an operator cannot seal in a refused run that", () => {
  const failureOf = (outcome: ApprovalOutcome, spec: EndedSpec) =>
    failure(reduce(refuseRequest(deployment, requested(), outcome, spec).bundle))

  test("a request expired before its time", () => {
    expect(failureOf("expired", { at: "2026-01-15T12:30:00.750Z" })).toContain("expired before its time")
  })

  test("its reason is that of another outcome", () => {
    const reason = (code: string) => ({
      policy_evaluation: (part: Json) => withValue(part, "/decision_reason_code", code),
    })
    for (const outcome of REFUSED)
      for (const other of [...REFUSED.map(each => `APPROVAL_${each.toUpperCase()}`), "APPROVAL_REQUIRED"].filter(
        each => each !== `APPROVAL_${outcome.toUpperCase()}`,
      ))
        expect(failureOf(outcome, { alter: reason(other) })).toContain("another outcome of the request")
  })

  test("a person decided after a rejection", () => {
    const retell = ({ decisions, ...rest }: GivenApprovals): GivenApprovals => {
      const [first, last] = decisions
      return first === undefined || last === undefined
        ? { decisions, ...rest }
        : {
            ...rest,
            decisions: [
              { ...first, decision: "reject" },
              { ...last, decision: "approve" },
            ],
          }
    }
    expect(failureOf("rejected", { retell })).toContain("after a rejection")
  })

  test("an approval is missing that was given", () => {
    const required = { denied_by: "two" } as const
    expect(failureOf("approved", required)).toContain("the approvals that the rules require were given")
  })
})

test("without approvals no decision rests on them", () => {
  const spec = { outcome: "pepg_deny", denied_by: "two" } as const
  for (const code of [...REFUSED.map(each => `APPROVAL_${each.toUpperCase()}`)]) {
    const alter = { policy_evaluation: (part: Json) => withValue(part, "/decision_reason_code", code) }
    expect(failure(reduce(sealRun(deployment, { ...spec, alter }).bundle))).toContain("the record has none")
  }
})

describe("an export", () => {
  const outcomesOf = (text: string) => exportReport(text, [makeDeployment().trust])
  const [chain, range] = approvalExports({ signatures: "rfc6979" })

  test("is complete with its requests, and counts those that wait", () => {
    expect(outcomesOf(chain?.text ?? "")).toMatchObject({
      verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED",
      problems: [],
      requests: 3,
      open_requests: 1,
    })
    expect(outcomesOf(range?.text ?? "")).toMatchObject({
      verdict: "COMPLETE RANGE VERIFIED AND ANCHORED",
      problems: [],
      requests: 1,
      open_requests: 1,
    })
  })

  test("shows a request that ends twice, also in a range without it", () => {
    const check = createApprovalCheck(false)
    const documents = (chain?.text ?? "")
      .trimEnd()
      .split("\n")
      .flatMap(line => {
        const read = readDocument(parseDocument(line))
        return "unreadable" in read ? [] : (read.inChain() ?? [])
      })
    const end = documents.find(
      ({ decided, closes }) => closes === undefined && decided?.sections.policy_evaluation?.approval_request_hash,
    )
    if (end === undefined) throw new Error("a request ends in the export")
    expect(check.take(end)).toEqual([])
    expect(check.take(end)).toEqual(["ends a request for an approval that has ended already"])
  })

  const cases = contradictingApprovals({ signatures: "rfc6979" })
  test.each(cases.map(one => [one.name, one] as const))(
    "no operator can write: %s",
    (_name, { text, problem, tail }) => {
      const found = outcomesOf(text)
      expect(found.verdict).toBe("FAILED")
      const first = found.problems[0]?.sentence ?? ""
      expect(first.slice(0, problem.length)).toBe(problem)
      expect(first).toContain(tail ?? problem)
      for (const line of text.trimEnd().split("\n"))
        expect(verifyText(line, [makeDeployment().trust])).not.toMatchObject({ verdict: "FAILED" })
    },
  )
})

test("the approvals of every outcome name the request", () => {
  const found = requested()
  for (const outcome of APPROVAL_OUTCOMES) expect(given(found, outcome).request_hash).toBe(found.request.request_hash)
})

describe("of a record in no log no report claims that a passkey signed", () => {
  const found = requested()
  const nowhere = { receipt_anchor: "none", complete_record: false } as const
  const signed = refusedSpec(found, "rejected", { retell: withPasskeys(found.request) })
  /** Of a report: the check, the sentences, and the summary. */
  const texts = (spec: RunSpec) => {
    const { bundle } = sealRun(deployment, spec)
    const read = report(bundle)
    const decision = read.checks.find(({ id }) => id === "decision")?.message ?? ""
    const summary = evidenceSummary(bundle).map(({ value }) => value)
    return { verdict: read.verdict, decision, lines: permitLines(read).join("\n"), summary: summary.join("\n") }
  }

  test("it says that the signatures were not checked", () => {
    const { verdict, decision, ...rest } = texts({ ...signed, ...nowhere })
    expect(verdict).toBe(VERDICTS.unanchored)
    expect(decision).toMatch(/signatures of passkeys were not checked/)
    for (const text of Object.values(rest)) {
      expect(text.match(/with a passkey whose signature was not checked/g)).toHaveLength(2)
      expect(text).not.toContain("signed with a passkey")
    }
  })

  test("of a record in the log they were, and without passkeys nothing is said of them", () => {
    const { verdict, decision, ...rest } = texts(signed)
    expect(verdict).toBe(VERDICTS.complete)
    expect(decision).not.toContain("passkey")
    for (const text of Object.values(rest)) expect(text.match(/and signed with a passkey/g)).toHaveLength(2)
    expect(Object.values(texts({ ...refusedSpec(found, "rejected"), ...nowhere })).join()).not.toContain("passkey")
  })
})
