/**
 * What a policy adds to the explanation of a refusal: how its author describes the rule that decided, and what that rule read. Who may see it
 * is the caller's decision. docs/api.md, "Explanation".
 */
import { shownAct } from "@runseal/core/artifacts/act-section"
import type { Explanation, ReadValue } from "@runseal/core/artifacts/explanation"
import type { SealedSections } from "@runseal/core/artifacts/sealed-sections"
import { cedarRequest, UnwritableValue } from "@runseal/core/formulas/policy-context"
import type { DecidedSections } from "@runseal/core/seal/deciding-policy"
import { CONTEXT_WORDS } from "@runseal/core/vocabulary/decision-codes"
import { cedar } from "./cedar-engine.node.ts"
import { policyFacts, withheldSources } from "./decide.ts"
import type { CompiledPolicy } from "./load-policy.ts"
import { limitsOf } from "./rule-limits.ts"

/**
 * The members that only a policy gives; none where a rule of it did not deny the run.
 * @param policy the one that decided: its hash is that of the evaluation
 */
export function explainRule(
  sections: SealedSections,
  policy: CompiledPolicy,
): Pick<Explanation, "description" | "read"> {
  const { decision, fired_rule_id: fired } = sections.policy_evaluation ?? {}
  const rule = policy.document.rules.find(({ id }) => decision === "deny" && id === fired)
  if (rule === undefined) return {}
  const read = valuesRead(sections, rule.id, policy)
  return {
    ...(rule.description === undefined ? {} : { description: rule.description }),
    ...(read.length === 0 ? {} : { read }),
  }
}

/** The rule that denied a run as its author wrote it, in one line; undefined where no rule of the policy did. */
export function ruleText(sections: SealedSections, { document }: Pick<CompiledPolicy, "document">): string | undefined {
  const fired = sections.policy_evaluation?.fired_rule_id
  const rule = document.rules.find(({ id }) => id === fired)
  if (rule === undefined) return undefined
  const { effect, act, routes, when } = rule
  return [
    effect.replaceAll("_", " "),
    ...(act === undefined ? [] : [`act ${act}`]),
    ...(routes === undefined ? [] : [`on ${routes.join(", ")}`]),
    ...(when === undefined ? [] : [`when ${when.replaceAll(/\s+/g, " ")}`]),
  ].join(" ")
}

/** The values that a rule read, in the order of their names; none where a section that it reads is withheld. */
function valuesRead(sections: SealedSections, rule_id: string, policy: CompiledPolicy): ReadValue[] {
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
    const limits = limitsOf(conditionsOf(policy.texts[rule_id] ?? ""))
    return [...reads].toSorted().flatMap(name => {
      const word = CONTEXT_WORDS.find(each => name.startsWith(`${each}.`))
      const value = valueAt(context, name.split("."))
      return word === undefined || value === undefined ? [] : [{ name, value, word, ...comparedOf(limits.get(name)) }]
    })
  } catch (error) {
    if (error instanceof UnwritableValue) return []
    throw error
  }
}

const comparedOf = (compared: string | undefined): Pick<ReadValue, "compared"> =>
  compared === undefined ? {} : { compared }

/** The conditions of a rule, as the engine reads its text. */
function conditionsOf(text: string): unknown {
  const parsed = cedar().policyToJson(text)
  return parsed.type === "success" ? parsed.json.conditions : []
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
