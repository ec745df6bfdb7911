/** What a policy alone comes to on a run: required fields, then rules. Budgets and review do not depend on it. */
import type { EnvelopeSection, PayloadSection } from "@runseal/core/artifacts/sealed-sections"
import { missingAttestedFields } from "@runseal/core/vocabulary/attested-presence"
import type { Judgement } from "@runseal/core/wire/policy-requests"
import { evaluatePolicy } from "../../policy/evaluate-policy.ts"
import type { CompiledPolicy } from "../../policy/load-policy.ts"
import type { Decided } from "../draft.ts"
import { policyInput } from "./policy-facts.ts"

/** What a policy is asked about. */
export type JudgedRun = {
  readonly decided: Decided
  readonly envelope: Pick<EnvelopeSection, "tenant_id" | "execution_region">
  readonly payload: Pick<PayloadSection, "payload_bytes">
  /** Id of the signature that denied the run, which comes before every rule. */
  readonly signature?: string | undefined
}

export function judgePolicy(policy: CompiledPolicy, { decided, envelope, payload, signature }: JudgedRun): Judgement {
  const missing_fields = missingAttestedFields(decided.declared.attested_context, policy.required_attested_fields)
  if (missing_fields.length > 0) return { decision: "not_admitted", missing_fields: [...missing_fields] }
  if (signature !== undefined) return { decision: "denied", rule_id: signature, reason: "MCD_SIGNATURE_MATCH" }
  const found = policy.fixed_decision ?? evaluatePolicy(policy, policyInput(decided, envelope, payload))
  return {
    decision: found.decision === "allow" ? "admitted" : "denied",
    rule_id: found.fired_rule_id,
    reason: found.decision_reason_code,
  }
}
