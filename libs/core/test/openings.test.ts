/** Openings and ends alone: what they hold, and what no honest one holds. */
import { canonicalize } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { DECLARED_NAMES, withhold } from "../src/artifacts/declared-sections.ts"
import { outcomeHeadline } from "../src/presentation/account.ts"
import { permitTexts } from "../src/presentation/permit-account.ts"
import { isUnreadable, verifyDocument, verifyText } from "../src/verify/document.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { makeDeployment } from "./fixtures/deployment.ts"
import { withValue } from "./fixtures/json-values.ts"
import { endPermits, type OpeningSpec, openPermit, redeemPermit } from "./fixtures/permits.ts"

const deployment = makeDeployment()
const report = (document: object): Report => {
  const found = verifyDocument(JSON.parse(JSON.stringify(document)), [deployment.trust])
  if (isUnreadable(found)) throw new Error(found.unreadable)
  return found
}
const failure = (document: object): string | undefined => {
  const { checks, first_failure } = report(document)
  return checks.find(({ id }) => id === first_failure)?.message
}
const opened = (spec: OpeningSpec = {}) => openPermit(deployment, spec).opening

describe("an opening", () => {
  test("verifies alone", () => {
    const opening = opened()
    expect(report(opening)).toMatchObject({ document: "opening", verdict: VERDICTS.opening })
    expect(verifyText(canonicalize(opening), [deployment.trust])).toMatchObject({ verdict: VERDICTS.opening })
    expect(verifyText(canonicalize(opening), [])).toMatchObject({ verdict: VERDICTS.failed })
    expect(outcomeHeadline(report(opening))?.text).toMatch(/^Act permitted at 2026-01-15T12:00:0/)
    expect(permitTexts(report(opening).facts ?? {}, true)).toHaveLength(3)
  })

  test.each(DECLARED_NAMES)("verifies without %s", name => {
    const { sections, ...rest } = opened()
    const shown = report({ ...rest, sections: { ...sections, [name]: withhold(sections[name]) } })
    expect(shown).toMatchObject({ verdict: VERDICTS.opening, withheld: [name] })
  })

  const dishonest: readonly (readonly [says: string, spec: OpeningSpec])[] = [
    ["valid for a time that no request can ask for", { valid_for_seconds: 3601 }],
    ["valid for a time that no request can ask for", { valid_for_seconds: 0 }],
    ["may be closed for a time that no request can ask for", { close_within_seconds: 119 }],
    ["may be closed for a time that no request can ask for", { close_within_seconds: 86_401 }],
    ["takes the window to its cap", { tenant: "api-key-9", window_cap: 2000 }],
    ["more tokens than one run may use", { run_limit: 1999 }],
    ["declares the cost", { declared: { request_substance: { cost: { total_tokens: 1 } } } }],
    ["of another envelope", { alterBody: body => ({ ...body, permit_id: `pmt-${"0".repeat(32)}` }) }],
    ["one movement", { alterBody: body => ({ ...body, reservation: { ...body.reservation, reserved: 1 } }) }],
    [
      "the charge is not this run's",
      { alterBody: body => ({ ...body, reservation: { ...body.reservation, window_seconds: 3600 } }) },
    ],
    [
      "another run",
      { alter: { policy_evaluation: part => withValue(part, "/evaluation_clock", "2026-01-15T12:00:00.000Z") } },
    ],
    ["600 s are allowed", { logged_after_s: 700 }],
  ]
  test.each(dishonest)("is refused that is or has: %s", (says, spec) => {
    expect(failure(opened(spec))).toContain(says)
  })

  test("with a longer time verifies when it must be redeemed", () => {
    expect(report(opened({ valid_for_seconds: 86_400, redeem_required: true })).verdict).toBe(VERDICTS.opening)
  })

  test("is not another one's: audience, tenant and hash are anchored", () => {
    const opening = opened()
    expect(failure({ ...opening, audience: "another" })).toBe(
      "the policy was given other terms than those of the permit",
    )
    expect(failure({ ...opening, tenant_salt: "0".repeat(64) })).toContain("the opening does not match its hash")
    expect(failure({ ...opening, leaf: opened().leaf })).toContain("anchored leaf names another opening")
  })
})

describe("an end", () => {
  test("verifies alone, and says what it released", () => {
    const end = endPermits(deployment, [openPermit(deployment), openPermit(deployment, { reserve_tokens: 0 })])
    expect(report(end)).toMatchObject({ document: "permit_end", verdict: VERDICTS.permit_end })
    expect(permitTexts(report(end).facts ?? {}, true)).toEqual([
      "2 permits ended without a close: nobody closed in time. 2000 tokens released.",
    ])
  })

  test("says which acts were started and never reported, and what stays charged for them", () => {
    const redeemed = redeemPermit(deployment, openPermit(deployment), "2026-01-15T12:03:00.000Z")
    const end = endPermits(deployment, [openPermit(deployment, { reserve_tokens: 7 }), redeemed])
    expect(report(end).verdict).toBe(VERDICTS.permit_end)
    expect(permitTexts(report(end).facts ?? {}, true)).toEqual([
      "2 permits ended without a close: nobody closed in time. 7 tokens released. 1 was redeemed: its act was started and never reported; 2000 tokens stay charged.",
    ])
  })

  test("of revoked permits says so", () => {
    const end = endPermits(deployment, [openPermit(deployment)], { reason: "revoked" })
    expect(outcomeHeadline(report(end))?.text).toContain("the API key was revoked")
  })

  test("is refused whose releases do not follow each other, or that ends one twice", () => {
    const two = () => [openPermit(deployment), openPermit(deployment)]
    const changed = endPermits(deployment, two(), {
      alterBody: body => ({ ...body, openings: body.openings.map(one => ({ ...one, total_after: 5 })) }),
    })
    expect(failure(changed)).toContain("do not follow each other")
    const [one] = two()
    if (one === undefined) throw new Error("there are two")
    expect(failure(endPermits(deployment, [one, one]))).toContain("a permit ends twice")
    const end = endPermits(deployment, two())
    expect(failure({ ...end, reason: "revoked" })).toBe("the end does not match its hash")
  })
})
