/**
 * Decides a run from the sections that its record holds. Pipeline, dry run and verifiers call this one function, so that a decision is made
 * again exactly as it was made. docs/pipeline.md, "Gates".
 */
import type { JsonObject } from "@runseal/canonical"
import { type ActSection, shownAct } from "@runseal/core/artifacts/act-section"
import { DECLARED_NAMES, type DeclaredName, shown } from "@runseal/core/artifacts/declared-sections"
import { CLOSING_PARTS } from "@runseal/core/artifacts/permit-sections"
import type { EnvelopeSection, PayloadSection, PolicyEvaluationSection } from "@runseal/core/artifacts/sealed-sections"
import { type DeclaredSources, declaredView } from "@runseal/core/derivation/v2/declared-view"
import { contextHash, type PolicyFacts, sectionsRead } from "@runseal/core/formulas/policy-context"
import { evaluatePolicy } from "./evaluate-policy.ts"
import type { CompiledPolicy } from "./load-policy.ts"
import type { PolicyDecision } from "./policy-decision.ts"

/** What a decision is made from. */
export type DecidedSections = DeclaredSources & {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
  readonly act?: ActSection
}
/** What was given to the policy and no other section has. */
export type DecisionFacts = PolicyEvaluationSection["facts"]

export type Decided = {
  readonly decision: PolicyDecision
  /** Present exactly where rules were asked. */
  readonly context_hash?: string
}

/** A section that can be withheld and that attributes come from. */
type Source = DeclaredName | "act" | "closing"

/** The sections that the rules of a policy read of a run: at a close also what it declares, where a rule reads a section that it adds to. */
function sourcesOf({ reads }: CompiledPolicy, { act, closing }: DecidedSections): readonly Source[] {
  const read = sectionsRead(reads).filter(name => name !== "act" || act !== undefined)
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
    ...(key_name === undefined ? {} : { key_name }),
    ...(payload_is_json === undefined ? {} : { payload_is_json }),
    ...(audience === undefined || redeem_required === undefined || valid_for_seconds === undefined
      ? {}
      : { terms: { audience, redeem_required, valid_for_seconds } }),
  }
}

/** @param sections neither the act nor one that rules read is withheld */
export function decide(policy: CompiledPolicy, sections: DecidedSections, facts: DecisionFacts): Decided {
  const act = sections.act && shownAct(sections.act)
  const judged = act && { name: act.table, values: act.values, unreadable: act.unreadable }
  const { decision, request } = evaluatePolicy(policy, policyFacts(sections, facts), judged)
  return request === undefined
    ? { decision }
    : { decision, context_hash: contextHash(request, saltsOf(policy, sections)) }
}
