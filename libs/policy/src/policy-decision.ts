/** What a policy can answer, in closed codes. */
import { ENDED_REASONS, type GivenApprovals } from "@runseal/core/artifacts/approvals"
import type { NeededApproval } from "@runseal/core/artifacts/sealed-sections"
import { approvalsHold } from "@runseal/core/vocabulary/approvals-satisfy"
import { DEFAULT_DENY_RULE_ID, type PolicyReasonCode, type RuleApproval } from "@runseal/core/vocabulary/decision-codes"

export interface PolicyDecision {
  readonly decision: "allow" | "deny"
  readonly decision_reason_code: PolicyReasonCode
  /** The first of `matched_rule_ids`, `default-deny`, or the rule that failed. */
  readonly fired_rule_id: string
  /** The rules that determined the decision, sorted: the denying ones when any denies, else the allowing ones. */
  readonly matched_rule_ids: readonly string[]
  /** Present exactly where rules that require an approval determined it: whose each of them requires. */
  readonly needed?: readonly NeededApproval[]
}

/** What persons decided of a request for an approval, and how it ended. */
export type Given = Pick<GivenApprovals, "outcome" | "decisions" | "requested_at"> & {
  /** When the run is admitted: RFC 3339. */
  readonly admission_clock: string
  readonly has_end_user: boolean
}

/**
 * The decision that the determining rules make; without any, the default denies whatever `decision` says. A rule that requires an approval is
 * a permit to the engine: it outweighs every allow, and no deny. A request that ended without its approval permits nothing, also where no rule
 * requires an approval any more.
 * @param given of a run that ends a request for an approval
 */
export function ruled(
  decision: "allow" | "deny",
  determining: readonly string[],
  approvals: ReadonlyMap<string, RuleApproval>,
  given?: Given,
): PolicyDecision {
  const requiring = decision === "allow" ? determining.filter(id => approvals.has(id)) : []
  const matched_rule_ids = (requiring.length > 0 ? requiring : determining).toSorted()
  const [fired_rule_id] = matched_rule_ids
  if (fired_rule_id === undefined) {
    return {
      decision: "deny",
      decision_reason_code: "DEFAULT_DENY",
      fired_rule_id: DEFAULT_DENY_RULE_ID,
      matched_rule_ids,
    }
  }
  const needed = matched_rule_ids.flatMap(rule_id => {
    const approval = requiring.length > 0 ? approvals.get(rule_id) : undefined
    return approval === undefined ? [] : [{ rule_id, ...approval }]
  })
  const [made, decision_reason_code] = reasonOf(decision, needed, given)
  return {
    decision: made,
    decision_reason_code,
    fired_rule_id,
    matched_rule_ids,
    ...(needed.length > 0 ? { needed } : {}),
  }
}

function reasonOf(
  decision: "allow" | "deny",
  needed: readonly NeededApproval[],
  given: Given | undefined,
): readonly ["allow" | "deny", PolicyReasonCode] {
  if (decision === "deny") return ["deny", "RULE_DENIED"]
  if (given !== undefined && given.outcome !== "approved") return ["deny", ENDED_REASONS[given.outcome]]
  if (needed.length === 0) return ["allow", "RULE_ALLOWED"]
  if (given === undefined) return ["deny", "APPROVAL_REQUIRED"]
  const { requested_at, admission_clock, has_end_user, decisions } = given
  const run = { requested_at: Date.parse(requested_at), at: Date.parse(admission_clock), has_end_user }
  return approvalsHold(needed, decisions, run) ? ["allow", "RULE_APPROVED"] : ["deny", "APPROVAL_REQUIRED"]
}

/** The deny of an evaluation that did not come to an answer. */
export function failed(fired_rule_id: string): PolicyDecision {
  return { decision: "deny", decision_reason_code: "POLICY_EVALUATION_ERROR", fired_rule_id, matched_rule_ids: [] }
}
