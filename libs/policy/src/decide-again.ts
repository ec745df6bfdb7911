/**
 * Makes a sealed decision again, by the policy document that the record's `policy_hash` names. Who runs it trusts neither the company nor
 * the service: an operator with every key can seal another decision, and not one that the document comes to. docs/verifier.md, "Decided again".
 */
import { canonicalize, digest, isJsonValue, readStrictJson, sha256Hex, utf8Encode } from "@runseal/canonical"
import { readAct } from "@runseal/core/act/read-act"
import { type ActSection, shownAct } from "@runseal/core/artifacts/act-section"
import { shownApprovals } from "@runseal/core/artifacts/approvals"
import { shown } from "@runseal/core/artifacts/declared-sections"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import type { AttestationGapReceipt } from "@runseal/core/artifacts/sealed-artifacts"
import type { PolicyEvaluationSection, SealedSections } from "@runseal/core/artifacts/sealed-sections"
import { sectionsRead } from "@runseal/core/formulas/policy-context"
import type { DecidedSections } from "@runseal/core/seal/deciding-policy"
import { missingAttestedFields } from "@runseal/core/vocabulary/attested-presence"
import { DEFAULT_SIGNATURE_SCAN } from "@runseal/core/vocabulary/decision-codes"
import { isSameJson } from "@runseal/core/vocabulary/json-members"
import type { PolicyDocument } from "@runseal/core/wire/policy-document-schema"
import { decide, withheldSources } from "./decide.ts"
import { type CompiledPolicy, compilePolicy, POLICY_ENGINE_VERSION, policyPreimage } from "./load-policy.ts"
import { PolicyError } from "./policy-document.ts"

/** A record, an opening or a request for an approval, as far as its decision goes. */
export type SealedDecision = {
  readonly sections: SealedSections
  readonly attestation_gap_receipt?: AttestationGapReceipt
}

export type DecidedAgain =
  | {
      /** `payload`: the act was read again too. `facts`: on what the service stated of the payload. */
      readonly from: "payload" | "facts"
      /** The engine's release where another one decided than decides here. */
      readonly other_engine?: string
    }
  /** What the record has and the document does not come to: members of the evaluation, of the act, or of the receipt. */
  | { readonly differs: readonly string[] }
  /** Why nothing can be decided, as the end of a sentence. */
  | { readonly undecided: string }
  /** The run ended before a policy judged it: the record holds no decision of one. */
  | { readonly without_policy: true }

/** Decides one record again. @param payload its text, where it is at hand */
type DecideAgain = (record: SealedDecision, payload?: string) => DecidedAgain

/** The policy of an evaluation; undefined where none of some documents is. @throws PolicyError where this engine does not load it */
type PolicyOf = (evaluation: PolicyEvaluationSection) => CompiledPolicy | undefined

/** Policies that are ready. */
const COMPILED_MAX = 64

/** Finds the policy of each evaluation among these documents. It is compiled once for all of them. */
export function policiesOf(documents: readonly PolicyDocument[]): PolicyOf {
  const compiled = new Map<string, CompiledPolicy>()
  return ({ policy_hash, signature_scan, engine_version }) => {
    const asked = canonicalize({ policy_hash, signature_scan, engine_version })
    const known = compiled.get(asked)
    if (known !== undefined) return known
    const document = documents.find(
      each => digest(policyPreimage(each, signature_scan, engine_version)) === policy_hash,
    )
    const policy = document && compilePolicy(document, signature_scan)
    if (policy !== undefined && compiled.size < COMPILED_MAX) compiled.set(asked, policy)
    return policy
  }
}

/** Decides records again by whichever of these documents is the policy of each. A record of another policy differs in `policy_hash` alone. */
export function decidesAgain(
  documents: readonly PolicyDocument[],
  policyOf: PolicyOf = policiesOf(documents),
): DecideAgain {
  return (record, payload) => {
    const { policy_evaluation: evaluation, envelope } = record.sections
    const gap = record.attestation_gap_receipt
    if (evaluation === undefined || envelope === undefined)
      return gap === undefined ? { without_policy: true } : requiredAgain(record, gap, documents)
    try {
      const policy = policyOf(evaluation)
      if (policy === undefined) return { differs: ["policy_hash"] }
      return evaluatedAgain({ ...record.sections, envelope }, evaluation, policy, payload)
    } catch (error) {
      if (error instanceof PolicyError) return { undecided: "this version of the engine does not load its policy" }
      throw error
    }
  }
}

/** What a record holds that came to the policy gate. */
type Evaluated = SealedSections & DecidedSections

function evaluatedAgain(
  sections: Evaluated,
  evaluation: PolicyEvaluationSection,
  policy: CompiledPolicy,
  payload: string | undefined,
): DecidedAgain {
  const { envelope, act, approvals, mcd_finding, attested_context } = sections
  const { signature_scan, engine_version, facts } = evaluation
  if (payload !== undefined && sha256Hex(utf8Encode(payload)) !== sections.payload.payload_hash)
    return { differs: ["payload_hash"] }
  const required = policy.required_attested_fields
  const context = shown(attested_context)
  if (context === undefined && required.length > 0) return { undecided: REQUIRED_WITHHELD }
  if (context !== undefined && missingAttestedFields(context.declared, required).length > 0)
    return { differs: ["required_attested_fields"] }
  if (evaluation.engine !== policy.engine) return { differs: ["engine"] }
  if ((policy.readerOf(envelope.route_id) === undefined) !== (act === undefined)) return { differs: ["act"] }
  if (!hasNamedGroups(policy, sections)) return { differs: ["end_user"] }
  const other = engine_version === POLICY_ENGINE_VERSION ? {} : { other_engine: engine_version }
  const readAgain = payload === undefined ? [] : payloadDifferences(policy, sections, facts, payload)
  // A signature that denies comes before every rule. What it matched is the service's word, also where the payload is at hand.
  if (mcd_finding !== undefined && signature_scan.mode === "enforce")
    return readAgain.length > 0 ? { differs: readAgain } : { from: "facts", ...other }
  const hidden = withheldSources(policy, sections)[0]
  if (hidden !== undefined) return { undecided: `${hidden} is withheld, and ${readerOf(policy, hidden)} reads it` }
  if (act !== undefined && shownAct(act) === undefined) return { undecided: ACT_WITHHELD }
  if (approvals !== undefined && shownApprovals(approvals) === undefined) return { undecided: APPROVALS_WITHHELD }
  const { decision, context_hash } = decide(policy, sections, facts)
  const differs = [
    ...readAgain,
    ...(context_hash === evaluation.context_hash ? [] : ["context_hash"]),
    ...(["decision", "decision_reason_code", "fired_rule_id"] as const).filter(
      name => decision[name] !== evaluation[name],
    ),
    ...(isSameNeeded(decision, evaluation) ? [] : ["needed"]),
    ...(isSameJson([...decision.matched_rule_ids], [...evaluation.matched_rule_ids]) ? [] : ["matched_rule_ids"]),
  ]
  return differs.length > 0 ? { differs } : { from: payload === undefined ? "facts" : "payload", ...other }
}

function isSameNeeded(
  { needed: decided = [] }: Pick<PolicyEvaluationSection, "needed">,
  { needed: sealed = [] }: Pick<PolicyEvaluationSection, "needed">,
): boolean {
  const [one, other]: readonly unknown[] = [decided, sealed]
  return isJsonValue(one) && isJsonValue(other) && isSameJson(one, other)
}

/** Whether an end user that is shown has of its groups what the policy asks for: those that it names, or that they cannot be read. */
function hasNamedGroups({ named_groups: named }: CompiledPolicy, { end_user }: Evaluated): boolean {
  const person = end_user && shownEndUser(end_user)
  if (person === undefined) return true
  const { groups, groups_unreadable } = person
  if (named === undefined) return groups === undefined && groups_unreadable === undefined
  return groups === undefined ? groups_unreadable !== undefined : groups.every(group => named.has(group))
}

const ACT_WITHHELD = "act is withheld, and one that cannot be read is denied before a rule is asked"
const APPROVALS_WITHHELD = "approvals is withheld, and the decision rests on it"
const REQUIRED_WITHHELD = "attested_context is withheld, and the required fields are read from it"

/** That a run was not admitted: a document requires these fields, and the attested context lacks them. */
function requiredAgain(
  { sections }: SealedDecision,
  gap: AttestationGapReceipt,
  documents: readonly PolicyDocument[],
): DecidedAgain {
  const document = documents.find(each => digest(policyPreimage(each, DEFAULT_SIGNATURE_SCAN)) === gap.policy_hash)
  if (document === undefined)
    // Its hash is also of the signature scan, and the record of a run that was not admitted does not say how that was set.
    return documents.some(({ policy_id }) => policy_id === gap.policy_id)
      ? { undecided: "its policy has another hash, or a signature scan that the record does not describe" }
      : { differs: ["policy_hash"] }
  const required = document.required_attested_fields.toSorted()
  if (!isSameJson([...required], [...gap.required_fields])) return { differs: ["required_fields"] }
  const context = shown(sections.attested_context)
  if (context === undefined) return { undecided: REQUIRED_WITHHELD }
  const missing = missingAttestedFields(context.declared, required)
  return isSameJson([...missing], [...gap.missing_fields]) ? { from: "facts" } : { differs: ["missing_fields"] }
}

/** What of the act, and of the facts of the payload, the payload does not give. */
function payloadDifferences(
  policy: CompiledPolicy,
  { envelope, act }: Evaluated,
  { payload_is_json }: PolicyEvaluationSection["facts"],
  payload: string,
): readonly string[] {
  const reader = policy.readerOf(envelope.route_id)
  return [
    ...(payload_is_json === undefined || payload_is_json === (readStrictJson(payload) !== undefined)
      ? []
      : ["payload_is_json"]),
    ...(reader === undefined || act === undefined || isRead(act, readAct(reader, payload)) ? [] : ["act"]),
  ]
}

/** Whether an act is what was read; one that is withheld says nothing else. */
function isRead(section: ActSection, { values, unreadable }: ReturnType<typeof readAct>): boolean {
  const act = shownAct(section)
  if (act === undefined) return true
  const [sealed, read]: readonly unknown[] = [
    { values: act.values, unreadable: act.unreadable },
    { values, unreadable },
  ]
  return isJsonValue(sealed) && isJsonValue(read) && isSameJson(sealed, read)
}

/** Who reads a section, as a sentence names it. */
function readerOf({ rule_reads }: CompiledPolicy, section: string): string {
  const [first] = [...rule_reads]
    .filter(([, reads]) => sectionsRead(reads).some(name => name === section))
    .map(([id]) => id)
    .toSorted()
  return first === undefined ? "a rule" : `rule ${first}`
}
