/** What a policy can answer, in closed codes. */
import { DEFAULT_DENY_RULE_ID, type PolicyReasonCode } from "@runseal/core/vocabulary/decision-codes"

export interface PolicyDecision {
  readonly decision: "allow" | "deny"
  readonly decision_reason_code: PolicyReasonCode
  /** The first of `matched_rule_ids`, `default-deny`, or the rule that failed. */
  readonly fired_rule_id: string
  /** The rules that determined the decision, sorted: the denying ones when any denies, else the allowing ones. */
  readonly matched_rule_ids: readonly string[]
}

/** The decision that the determining rules make; without any, the default denies whatever `decision` says. */
export function ruled(decision: "allow" | "deny", determining: readonly string[]): PolicyDecision {
  const matched_rule_ids = determining.toSorted()
  const [fired_rule_id] = matched_rule_ids
  if (fired_rule_id === undefined) {
    return {
      decision: "deny",
      decision_reason_code: "DEFAULT_DENY",
      fired_rule_id: DEFAULT_DENY_RULE_ID,
      matched_rule_ids,
    }
  }
  const decision_reason_code = decision === "allow" ? "RULE_ALLOWED" : "RULE_DENIED"
  return { decision, decision_reason_code, fired_rule_id, matched_rule_ids }
}

/** The deny of an evaluation that did not come to an answer. */
export function failed(fired_rule_id: string): PolicyDecision {
  return { decision: "deny", decision_reason_code: "POLICY_EVALUATION_ERROR", fired_rule_id, matched_rule_ids: [] }
}
