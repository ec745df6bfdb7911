/** What a policy alone comes to on a run: required fields, then rules. Budgets and review do not depend on it. */
import { shown } from "@runseal/core/artifacts/declared-sections"
import type { DecidedSections, DecisionFacts } from "@runseal/core/seal/deciding-policy"
import { missingAttestedFields } from "@runseal/core/vocabulary/attested-presence"
import type { Judgement } from "@runseal/core/wire/policy-requests"
import { decide } from "@runseal/policy/decide"
import type { CompiledPolicy } from "@runseal/policy/load-policy"

/** What a policy is asked about. */
export type JudgedRun = {
  readonly sections: DecidedSections
  readonly facts: DecisionFacts
  /** Id of the signature that denied the run, which comes before every rule. */
  readonly signature?: string | undefined
}

export function judgePolicy(policy: CompiledPolicy, { sections, facts, signature }: JudgedRun): Judgement {
  const attested = shown(sections.attested_context)?.declared
  const missing_fields = missingAttestedFields(attested, policy.required_attested_fields)
  if (missing_fields.length > 0) return { decision: "not_admitted", missing_fields: [...missing_fields] }
  if (signature !== undefined) return { decision: "denied", rule_id: signature, reason: "MCD_SIGNATURE_MATCH" }
  const { decision } = decide(policy, sections, facts)
  return {
    decision: decision.decision === "allow" ? "admitted" : "denied",
    rule_id: decision.fired_rule_id,
    reason: decision.decision_reason_code,
  }
}
