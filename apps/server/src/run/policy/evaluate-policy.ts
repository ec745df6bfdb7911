/** Evaluation of a compiled policy. Doubt denies: an engine that reports any error has not decided. */
import type { AuthorizationAnswer } from "@cedar-policy/cedar-wasm/nodejs"
import { ENGINE_RULE_ID } from "@runseal/core/vocabulary/decision-codes"
import { cedar } from "./cedar-engine.ts"
import { ruleSetOf } from "./engine-rules.ts"
import type { CompiledPolicy } from "./load-policy.ts"
import { failed, type PolicyDecision, ruled } from "./policy-decision.ts"
import { cedarDecimal, cedarRequest, type PolicyInput } from "./policy-input.ts"

/** Cedar skips a forbid that errors and may then answer allow; so any error denies, whatever the engine decided. */
function readAnswer(answer: AuthorizationAnswer): PolicyDecision {
  if (answer.type === "failure") return failed(ENGINE_RULE_ID)
  const { decision, diagnostics } = answer.response
  const [erring] = diagnostics.errors.map(error => error.policyId).toSorted()
  return erring === undefined ? ruled(decision, diagnostics.reason) : failed(erring)
}

/**
 * Decides one run with the Cedar engine; a policy with a `fixed_decision` does not need it. Deterministic, without clock or
 * I/O; never throws.
 * A rule that reads a temperature which no Cedar decimal can express exactly denies as an evaluation error: rounding
 * it, or calling it absent, could change a deny into an allow.
 */
export function evaluatePolicy(policy: CompiledPolicy, input: PolicyInput): PolicyDecision {
  const [temperatureRule] = policy.temperature_rule_ids
  const temperature = input.attested?.model_temperature
  if (temperatureRule !== undefined && temperature !== undefined && cedarDecimal(temperature) === undefined) {
    return failed(temperatureRule)
  }
  try {
    const request = cedarRequest(input)
    return readAnswer(
      cedar().statefulIsAuthorized({ ...request, preparsedPolicySetId: ruleSetOf(policy), entities: [] }),
    )
  } catch {
    // The engine refuses what it cannot read (a lone surrogate, say) by throwing; its message may quote the request.
    return failed(ENGINE_RULE_ID)
  }
}
