/** What the engine asks of a policy. How rules are evaluated is not here: the service and the verifiers share that in the package of policies. */
import type { ActReader } from "../act/read-act.ts"
import type { ActSection } from "../artifacts/act-section.ts"
import type { ApprovalsSection } from "../artifacts/approvals.ts"
import type { EndUserSection } from "../artifacts/end-user.ts"
import type { EnvelopeSection, PayloadSection, PolicyEvaluationSection } from "../artifacts/sealed-sections.ts"
import type { DeclaredSources } from "../derivation/v2/declared-view.ts"
import type { EvaluatedPolicy, PepgDecision } from "../formulas/decision.ts"
import type { ContextReads } from "../formulas/policy-context.ts"
import type { AttestedField, SignatureScan } from "../vocabulary/decision-codes.ts"

/** What a decision is made from. */
export type DecidedSections = DeclaredSources & {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
  readonly end_user?: EndUserSection
  readonly act?: ActSection
  readonly approvals?: ApprovalsSection
}

/** What was given to the policy and no other section has. */
export type DecisionFacts = PolicyEvaluationSection["facts"]

export type DecidingPolicy = EvaluatedPolicy & {
  readonly required_attested_fields: readonly AttestedField[]
  readonly signature_scan: SignatureScan
  /** Reads the payloads of a route; undefined for a route that no act table names. */
  readonly readerOf: (route_id: string) => ActReader | undefined
  /** The attributes that any rule reads. */
  readonly reads: ContextReads
  /** The groups that rules name, of all that a token may have; undefined where no rule reads the groups of an end user. */
  readonly named_groups: ReadonlySet<string> | undefined
  /** Deterministic. `context_hash` is present exactly where rules were asked. */
  readonly decide: (
    sections: DecidedSections,
    facts: DecisionFacts,
  ) => { readonly decision: PepgDecision; readonly context_hash?: string }
}
