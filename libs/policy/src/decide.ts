/**
 * Decides a run from the sections that its record holds. Pipeline, dry run and verifiers call this one function, so that a decision is made
 * again exactly as it was made. docs/pipeline.md, "Gates".
 */

import type { AuthorizationAnswer } from "@cedar-policy/cedar-wasm/nodejs"
import type { JsonObject } from "@runseal/canonical"
import type { ReadAct } from "@runseal/core/act/read-act"
import { shownAct } from "@runseal/core/artifacts/act-section"
import { shownApprovals } from "@runseal/core/artifacts/approvals"
import { DECLARED_NAMES, type DeclaredName, shown } from "@runseal/core/artifacts/declared-sections"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { CLOSING_PARTS } from "@runseal/core/artifacts/permit-sections"
import { declaredView } from "@runseal/core/derivation/v2/declared-view"
import {
  type CedarRequest,
  cedarRequest,
  contextHash,
  type PolicyFacts,
  sectionsRead,
  UnwritableValue,
} from "@runseal/core/formulas/policy-context"
import type { DecidedSections, DecidingPolicy, DecisionFacts } from "@runseal/core/seal/deciding-policy"
import { ENGINE_RULE_ID } from "@runseal/core/vocabulary/decision-codes"
import { cedar } from "./cedar-engine.node.ts"
import { ruleSetOf } from "./engine-rules.ts"
import type { CompiledPolicy } from "./load-policy.ts"
import { failed, type Given, type PolicyDecision, ruled } from "./policy-decision.ts"

export type Decided = {
  readonly decision: PolicyDecision
  /** Present exactly where rules were asked. */
  readonly context_hash?: string
}

/** A section that can be withheld and that attributes come from. */
type Source = DeclaredName | "act" | "end_user" | "closing"

/** The sections that the rules of a policy read of a run: at a close also what it declares, where a rule reads a section that it adds to. */
function sourcesOf({ reads }: CompiledPolicy, { act, end_user, closing }: DecidedSections): readonly Source[] {
  const there = { act, end_user }
  const read = sectionsRead(reads).filter(name => (name !== "act" && name !== "end_user") || there[name] !== undefined)
  const adds = closing !== undefined && CLOSING_PARTS.some(part => read.includes(part))
  return adds ? [...read, "closing"] : read
}

/** Sections that are withheld and that rules read: without them nothing can be decided. */
export const withheldSources = (policy: CompiledPolicy, sections: DecidedSections): readonly Source[] =>
  sourcesOf(policy, sections).filter(name => "withheld" in (sections[name] ?? {}))

const saltOf = (section: DecidedSections[Source]): string | undefined =>
  section === undefined || "withheld" in section ? undefined : section.salt

function saltsOf(policy: CompiledPolicy, sections: DecidedSections): Partial<Record<Source, string>> {
  const salts: Partial<Record<Source, string>> = {}
  for (const name of sourcesOf(policy, sections)) {
    const salt = saltOf(sections[name])
    if (salt !== undefined) salts[name] = salt
  }
  return salts
}

/** The facts that rules read of a run. */
export function policyFacts(sections: DecidedSections, facts: DecisionFacts): PolicyFacts {
  const { envelope, payload } = sections
  const { tokens, payload_is_json, audience, redeem_required, valid_for_seconds } = facts
  const declared: Partial<Record<DeclaredName, JsonObject>> = {}
  for (const name of DECLARED_NAMES) {
    const content = declaredView(sections, name)?.declared
    if (content !== undefined) declared[name] = content
  }
  const person = sections.end_user && shownEndUser(sections.end_user)
  const key_name = shown(sections.request_substance)?.origin?.authentication.api_key_name
  return {
    program_id: envelope.program_id,
    route_id: envelope.route_id,
    registry_record_hash: envelope.registry_record_hash,
    tenant_id: envelope.tenant_id,
    execution_region: envelope.execution_region,
    admission_clock: envelope.admission_clock,
    payload_bytes: payload.payload_bytes,
    has_ai_output: payload.ai_output_hash !== undefined,
    tokens,
    declared,
    ...(person === undefined ? {} : { end_user: person }),
    ...(key_name === undefined ? {} : { key_name }),
    ...(payload_is_json === undefined ? {} : { payload_is_json }),
    ...(audience === undefined || redeem_required === undefined || valid_for_seconds === undefined
      ? {}
      : { terms: { audience, redeem_required, valid_for_seconds } }),
  }
}

/** @param sections neither the act, nor the approvals, nor one that rules read is withheld */
export function decide(policy: CompiledPolicy, sections: DecidedSections, facts: DecisionFacts): Decided {
  const act = sections.act && shownAct(sections.act)
  const judged = act && { name: act.table, values: act.values, unreadable: act.unreadable }
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  const given = approvals && {
    ...approvals,
    admission_clock: sections.envelope.admission_clock,
    has_end_user: sections.end_user !== undefined,
  }
  const { decision, request } = evaluatePolicy(policy, policyFacts(sections, facts), judged, given)
  return request === undefined
    ? { decision }
    : { decision, context_hash: contextHash(request, saltsOf(policy, sections)) }
}

/** A policy as the sealing engine asks it. */
export const deciding = (policy: CompiledPolicy): DecidingPolicy => ({
  ...policy,
  decide: (sections, facts) => decide(policy, sections, facts),
})

// Evaluation of a compiled policy. Doubt denies: an engine that reports any error has not decided.

/** Cedar skips a forbid that errors and may then answer allow; so any error denies, whatever the engine decided. */
function readAnswer(
  answer: AuthorizationAnswer,
  { approvals }: CompiledPolicy,
  given: Given | undefined,
): PolicyDecision {
  if (answer.type === "failure") return failed(ENGINE_RULE_ID)
  const { decision, diagnostics } = answer.response
  const [erring] = diagnostics.errors.map(error => error.policyId).toSorted()
  return erring === undefined ? ruled(decision, diagnostics.reason, approvals, given) : failed(erring)
}

/** The deny of an act that is not as its table says, or of an end user whose groups cannot be read: no rule is asked. */
const unreadable = (decision_reason_code: "ACT_UNREADABLE" | "END_USER_UNREADABLE"): PolicyDecision => ({
  decision: "deny",
  decision_reason_code,
  fired_rule_id: ENGINE_RULE_ID,
  matched_rule_ids: [],
})

/** What a policy decided, and the request that it decided on; without one, no rule was asked. */
type Evaluated = { readonly decision: PolicyDecision; readonly request?: CedarRequest }

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
 * @param given of a run that ends a request for an approval
 */
export function evaluatePolicy(policy: CompiledPolicy, facts: PolicyFacts, act?: JudgedAct, given?: Given): Evaluated {
  if (act !== undefined && act.unreadable.length > 0) return { decision: unreadable("ACT_UNREADABLE") }
  if (policy.named_groups !== undefined && facts.end_user?.groups_unreadable)
    return { decision: unreadable("END_USER_UNREADABLE") }
  const { fixed_decision: fixed } = policy
  // After a request that ended without its approval a policy that allows everything does not.
  if (fixed !== undefined) return { decision: ruled(fixed.decision, fixed.matched_rule_ids, policy.approvals, given) }
  try {
    const request = cedarRequest(facts, act, policy.reads)
    const answer = cedar().statefulIsAuthorized({
      ...request,
      preparsedPolicySetId: ruleSetOf(policy),
      entities: [],
    })
    return { decision: readAnswer(answer, policy, given), request }
  } catch (error) {
    // The engine refuses what it cannot read (a lone surrogate, say) by throwing; its message may quote the request.
    return { decision: failed(error instanceof UnwritableValue ? readerOfTemperature(policy) : ENGINE_RULE_ID) }
  }
}
