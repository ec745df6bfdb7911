/**
 * Why a run was refused, as members that programs read; the prose is made of them in one place. docs/concepts.md, "Explanation". What rules read
 * is shown to those who may see the record's content: the caller of these functions decides who that is.
 */
import { shownAct } from "@runseal/core/artifacts/act-section"
import type { Receipt } from "@runseal/core/artifacts/sealed-artifacts"
import type { SealedSections } from "@runseal/core/artifacts/sealed-sections"
import { CONTEXT_WORDS, type ContextWord, cedarRequest, UnwritableValue } from "@runseal/core/formulas/policy-context"
import { type DecidedSections, policyFacts, withheldSources } from "./decide.ts"
import type { CompiledPolicy } from "./load-policy.ts"

/** A value that the deciding rule read, and whose word it is. */
export type ReadValue = {
  /** As the rule names it, without `context`. */
  readonly name: string
  readonly value: string
  readonly word: ContextWord
}

export type Explanation = {
  /** A closed code: of the policy gate, of a budget, of the review, or ATTESTATION_GAP. */
  readonly reason: string
  /** What decided, where the policy gate did: a rule, a signature, the default or the engine. */
  readonly rule_id?: string
  /** What its author says of the rule. */
  readonly description?: string
  /** What was asked for: fields, or the most tokens. */
  readonly needed?: readonly string[] | number
  /** What there was of it. */
  readonly present?: readonly string[] | number
  /** Fields that were not there; of an unreadable act its names and objects. */
  readonly missing?: readonly string[]
  readonly read?: readonly ReadValue[]
}

/**
 * @param receipt of the refusal
 * @param policy that decided, where its document is at hand
 */
export function explain(sections: SealedSections, receipt: Receipt, policy?: CompiledPolicy): Explanation {
  switch (receipt.version) {
    case "vfa.attestation_gap_receipt.v1":
      return {
        reason: receipt.decision_reason_code,
        needed: receipt.required_fields,
        present: receipt.required_fields.filter(field => !receipt.missing_fields.includes(field)),
        missing: receipt.missing_fields,
      }
    case "vfa.ccv_halt.v1":
      return { reason: receipt.halt_reason_code, needed: receipt.budget_limit, present: receipt.consumed_at_halt }
    case "vfa.macc_halt.v1":
      return { reason: receipt.halt_reason_code, needed: receipt.budget_limit, present: receipt.cumulative_at_halt }
    case "vfa.aivp_t4_halt.v1":
      return { reason: receipt.decision_reason }
    case "vfa.deny_receipt.v1":
      return explainDenial(sections, receipt.decision_reason_code, receipt.fired_rule_id, policy)
  }
}

function explainDenial(
  sections: SealedSections,
  reason: string,
  rule_id: string,
  policy: CompiledPolicy | undefined,
): Explanation {
  const act = sections.act && shownAct(sections.act)
  const missing = (act?.unreadable ?? []).map(fault =>
    "name" in fault ? `act.${fault.name}` : fault.at || "the payload",
  )
  const rule = policy?.document.rules.find(({ id }) => id === rule_id)
  const read = policy === undefined || rule === undefined ? [] : valuesRead(sections, rule_id, policy)
  return {
    reason,
    rule_id,
    ...(reason === "ACT_UNREADABLE" ? { missing } : {}),
    ...(rule?.description === undefined ? {} : { description: rule.description }),
    ...(read.length === 0 ? {} : { read }),
  }
}

/** The values that a rule read, in the order of their names; none where a section that it reads is withheld. */
function valuesRead(sections: SealedSections, rule_id: string, policy: CompiledPolicy): readonly ReadValue[] {
  const { envelope, policy_evaluation: evaluation, act: section } = sections
  const reads = policy.rule_reads.get(rule_id)
  if (envelope === undefined || evaluation === undefined || reads === undefined) return []
  const decided: DecidedSections = { ...sections, envelope }
  if (withheldSources({ ...policy, reads }, decided).length > 0) return []
  const act = section && shownAct(section)
  try {
    const { context } = cedarRequest(
      policyFacts(decided, evaluation.facts),
      act && { name: act.table, values: act.values },
      reads,
    )
    return [...reads].toSorted().flatMap(name => {
      const word = CONTEXT_WORDS.find(each => name.startsWith(`${each}.`))
      const value = valueAt(context, name.split("."))
      return word === undefined || value === undefined ? [] : [{ name, value, word }]
    })
  } catch (error) {
    if (error instanceof UnwritableValue) return []
    throw error
  }
}

/** A value of the context as a text; undefined for a record, and where there is none. */
function valueAt(context: unknown, path: readonly string[]): string | undefined {
  const found = path.reduce(
    (value: unknown, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined,
    context,
  )
  if (typeof found !== "object" || found === null) return found === undefined ? undefined : `${found}`
  if (Array.isArray(found)) return found.join(", ")
  const extension: unknown = Reflect.get(found, "__extn")
  const arg: unknown = typeof extension === "object" && extension !== null ? Reflect.get(extension, "arg") : undefined
  return typeof arg === "string" ? arg : undefined
}
