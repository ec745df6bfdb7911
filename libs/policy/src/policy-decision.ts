/** What a policy can answer, in closed codes. */
import type { NeededApproval } from "@runseal/core/artifacts/sealed-sections"
import { DEFAULT_DENY_RULE_ID, type PolicyReasonCode } from "@runseal/core/vocabulary/decision-codes"
import type { Approval } from "@runseal/core/wire/policy-document-schema"

export interface PolicyDecision {
  readonly decision: "allow" | "deny"
  readonly decision_reason_code: PolicyReasonCode
  /** The first of `matched_rule_ids`, `default-deny`, or the rule that failed. */
  readonly fired_rule_id: string
  /** The rules that determined the decision, sorted: the denying ones when any denies, else the allowing ones. */
  readonly matched_rule_ids: readonly string[]
  /** Present exactly with APPROVAL_REQUIRED: whose approval each of these rules requires. */
  readonly needed?: readonly NeededApproval[]
}

/**
 * The decision that the determining rules make; without any, the default denies whatever `decision` says. A rule that requires an approval is
 * a permit to the engine: it outweighs every allow, and no deny.
 */
export function ruled(
  decision: "allow" | "deny",
  determining: readonly string[],
  approvals: ReadonlyMap<string, Approval>,
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
  if (requiring.length > 0) {
    const needed = matched_rule_ids.flatMap(rule_id => {
      const approval = approvals.get(rule_id)
      return approval === undefined ? [] : [{ rule_id, by: approval.by, count: approval.count }]
    })
    return {
      decision: "deny",
      decision_reason_code: "APPROVAL_REQUIRED",
      fired_rule_id,
      matched_rule_ids,
      needed,
    }
  }
  const decision_reason_code = decision === "allow" ? "RULE_ALLOWED" : "RULE_DENIED"
  return { decision, decision_reason_code, fired_rule_id, matched_rule_ids }
}

/** The deny of an evaluation that did not come to an answer. */
export function failed(fired_rule_id: string): PolicyDecision {
  return { decision: "deny", decision_reason_code: "POLICY_EVALUATION_ERROR", fired_rule_id, matched_rule_ids: [] }
}
