/** Evaluation of a compiled policy. Doubt denies: an engine that reports any error has not decided. */
import type { AuthorizationAnswer } from "@cedar-policy/cedar-wasm/nodejs"
import type { ReadAct } from "@runseal/core/act/read-act"
import {
  type CedarRequest,
  cedarRequest,
  type PolicyFacts,
  UnwritableValue,
} from "@runseal/core/formulas/policy-context"
import { ENGINE_RULE_ID } from "@runseal/core/vocabulary/decision-codes"
import { cedar } from "./cedar-engine.node.ts"
import { ruleSetOf } from "./engine-rules.ts"
import type { CompiledPolicy } from "./load-policy.ts"
import { failed, type PolicyDecision, ruled } from "./policy-decision.ts"

/** Cedar skips a forbid that errors and may then answer allow; so any error denies, whatever the engine decided. */
function readAnswer(answer: AuthorizationAnswer): PolicyDecision {
  if (answer.type === "failure") return failed(ENGINE_RULE_ID)
  const { decision, diagnostics } = answer.response
  const [erring] = diagnostics.errors.map(error => error.policyId).toSorted()
  return erring === undefined ? ruled(decision, diagnostics.reason) : failed(erring)
}

/** The deny of an act that is not as its table says: no rule is asked. */
const UNREADABLE: PolicyDecision = {
  decision: "deny",
  decision_reason_code: "ACT_UNREADABLE",
  fired_rule_id: ENGINE_RULE_ID,
  matched_rule_ids: [],
}

/** What a policy decided, and the request that it decided on; without one, no rule was asked. */
export type Evaluated = { readonly decision: PolicyDecision; readonly request?: CedarRequest }

/** An act as it was read by its table. */
type JudgedAct = ReadAct & { readonly name: string }

/** The first rule that reads a value which Cedar cannot have exactly. */
const readerOfTemperature = ({ rule_reads }: CompiledPolicy): string =>
  [...rule_reads]
    .filter(([, reads]) => reads.has(TEMPERATURE))
    .map(([id]) => id)
    .toSorted()[0] ?? ENGINE_RULE_ID
const TEMPERATURE = "declared.attested.model_temperature"

/**
 * Decides one run with the Cedar engine; a policy with a `fixed_decision` does not need it. Deterministic, without clock or I/O; never
 * throws.
 * A rule that reads a temperature which no Cedar decimal can express exactly denies as an evaluation error: rounding it, or calling it
 * absent, could change a deny into an allow.
 * @param act present exactly where the policy has an act table for the route
 */
export function evaluatePolicy(policy: CompiledPolicy, facts: PolicyFacts, act?: JudgedAct): Evaluated {
  if (act !== undefined && act.unreadable.length > 0) return { decision: UNREADABLE }
  if (policy.fixed_decision !== undefined) return { decision: policy.fixed_decision }
  try {
    const request = cedarRequest(facts, act, policy.reads)
    const answer = cedar().statefulIsAuthorized({
      ...request,
      preparsedPolicySetId: ruleSetOf(policy),
      entities: [],
    })
    return { decision: readAnswer(answer), request }
  } catch (error) {
    // The engine refuses what it cannot read (a lone surrogate, say) by throwing; its message may quote the request.
    return { decision: failed(error instanceof UnwritableValue ? readerOfTemperature(policy) : ENGINE_RULE_ID) }
  }
}
