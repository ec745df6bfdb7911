/** `policy check FILE`: what a policy rests on, what it decides on examples, how long its rules take, and mistakes that people make. */
import type { JsonObject } from "@runseal/canonical"
import type { ActTable } from "@runseal/core/act/act-table"
import { ATTESTED_FIELDS, CONTEXT_WORD_TEXTS } from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import { examplePayload } from "@runseal/policy/example-payload"
import { type CompiledPolicy, compilePolicy } from "@runseal/policy/load-policy"
import { type RuleReview, reviewRules } from "@runseal/policy/rule-review"
import type { Config } from "./options/config.ts"
import { inWords, PLAIN, type PolicyOutput, tryRun } from "./tried-run.ts"

const ATTESTED: JsonObject = Object.fromEntries(
  ATTESTED_FIELDS.map(field => {
    if (field === "attested") return [field, true]
    if (field === "model_temperature") return [field, 0]
    if (field === "prompt_hash") return [field, "c3".repeat(32)]
    return [field, field === "actor_signature" ? "ZXhhbXBsZQ==" : "example"]
  }),
)

/** Runs that show at a glance how far a policy lets anybody come. */
const EXAMPLES: readonly (readonly [says: string, run: SubmittedRun])[] = [
  ["a run that declares nothing, of a route that no table names", PLAIN],
  ["the same with every attested field", { ...PLAIN, declared: { attested_context: ATTESTED } }],
  [
    "the same with 1,000,000 tokens, an e-mail as effect and the label personal",
    {
      ...PLAIN,
      declared: {
        attested_context: ATTESTED,
        causal_graph: { effect_log: [{ effect_kind: "email" }] },
        regulatory_scaffolding: { data_classification: { gdpr: ["personal"] } },
      },
      declared_tokens: 1_000_000,
    },
  ],
]

/** A route that a pattern, a route or a prefix, names. */
const routeOf = ([pattern = PLAIN.route_id]: readonly string[]): string => pattern.replace(/\*$/, "example")

/** A run of each act, with a payload that its table reads. */
const actExamples = (tables: readonly ActTable[]): typeof EXAMPLES =>
  tables.flatMap(table => {
    const payload = examplePayload(table, "small")
    const route_id = routeOf(table.routes)
    const run = { ...PLAIN, route_id, declared: { attested_context: ATTESTED } }
    return payload === undefined
      ? []
      : [
          [
            `a run of ${route_id} with the least payload of ${table.name}, and every attested field`,
            { ...run, payload },
          ],
        ]
  })

const restsInWords = ({ rule_id, effect, rests_on }: RuleReview): string =>
  `${rule_id} (${effect}): ${rests_on.length === 0 ? "every run" : rests_on.map(({ word, attributes }) => `${attributes.join(", ")} (${CONTEXT_WORD_TEXTS[word]})`).join("; ")}`

export function check(config: Config, document: PolicyDocument, policy: CompiledPolicy): PolicyOutput {
  const { policy_id, policy_hash } = policy
  const examples = [...EXAMPLES, ...actExamples(document.acts ?? [])].map(([run, request]) => ({
    run,
    ...tryRun(policy, config, { tenant_id: "api-key-1" }, request),
  }))
  const reviews = reviewRules(policy)
  const warnings = [...warningsOf(document), ...reviews.flatMap(each => each.warnings), ...slowRules(config, document)]
  const rests = reviews.map(({ rule_id, effect, rests_on }) => ({
    rule_id,
    effect,
    rests_on: rests_on.map(({ word, attributes }) => ({ word, attributes: [...attributes] })),
  }))
  const judged = examples.map(({ unreadable = [], ...each }) => ({ ...each, unreadable: [...unreadable] }))
  return {
    passed: true,
    json: {
      ok: true,
      policy_id,
      policy_hash,
      rules: document.rules.length,
      rests_on: rests,
      warnings,
      examples: judged,
    },
    lines: [
      `${policy_id}: ${document.rules.length} ${document.rules.length === 1 ? "rule, which" : "rules, each of which"} can apply`,
      `policy_hash ${policy_hash}`,
      ...reviews.map(restsInWords),
      ...warnings.map(warning => `warning: ${warning}`),
      ...examples.map(({ run, ...judgement }) => `${run}: ${inWords(judgement)}`),
      `Judged for the tenant api-key-1 in the region ${config.region}. Signatures, budgets and the review of AI output are not part of this.`,
    ],
  }
}

/** A rule is named that takes longer for the run below, in milliseconds. */
const SLOW_MS = 1
/** How often a rule is timed; the quickest time counts, since the machine does other things too. */
const TIMED = 25
/** After so long, in milliseconds, rules are timed no more often: what takes so long needs no second look. */
const TIMING_MAX_MS = 5000
/** As large as requests are that take some time anyway. */
const LONG_TEXT = "example ".repeat(12_500)
const MANY: readonly string[] = Array.from({ length: 1000 }, (_, i) => `example-${i}`)
const LARGE: SubmittedRun = {
  ...PLAIN,
  declared: {
    attested_context: { ...ATTESTED, decision_note: LONG_TEXT, actor_id: LONG_TEXT },
    causal_graph: { effect_log: MANY.map(effect_kind => ({ effect_kind })) },
    regulatory_scaffolding: { data_classification: { gdpr: [...MANY] } },
  },
}

/** A condition that reads nothing large: what a policy takes without the rule that is timed. */
const READING: PolicyDocument["rules"][number] = {
  id: "reading",
  effect: "deny",
  when: "context.verified.has_ai_output",
}

/** The large request that a rule is timed with: of the rule's act or route, where it names one; undefined where none fits its table. */
function largeRun({ act, routes }: PolicyRule, { acts = [] }: PolicyDocument): SubmittedRun | undefined {
  const table = acts.find(({ name }) => name === act)
  if (table === undefined) return { ...LARGE, route_id: routeOf(routes ?? []) }
  const payload = examplePayload(table, "large")
  return payload === undefined ? undefined : { ...LARGE, route_id: routeOf(table.routes), payload }
}

/** Which rules take long for a large request, beyond what reading the request takes. */
function slowRules(config: Config, document: PolicyDocument): readonly string[] {
  const conditional = document.rules.filter(({ when }) => when !== undefined)
  const runs = new Map(conditional.map(rule => [rule, largeRun(rule, document)]))
  const routes = new Set([...runs.values()].flatMap(run => run?.route_id ?? []))
  return [
    ...conditional
      .filter(rule => runs.get(rule) === undefined)
      .map(({ id }) => `${id} was not timed: no example of a payload fits its act table`),
    ...[...routes].flatMap(route => {
      const [run] = [...runs.values()].filter(each => each?.route_id === route)
      const rules = conditional.filter(rule => runs.get(rule)?.route_id === route)
      return run === undefined ? [] : slowOf(rules, run, config, document)
    }),
  ]
}

/** @param run that all of the rules apply to */
function slowOf(
  rules: readonly PolicyRule[],
  run: SubmittedRun,
  config: Config,
  document: PolicyDocument,
): readonly string[] {
  const policies = [READING, ...rules].map(rule =>
    compilePolicy({ ...document, required_attested_fields: [], rules: [rule] }),
  )
  const timed = (policy: CompiledPolicy): number => {
    const since = performance.now()
    tryRun(policy, config, { tenant_id: "api-key-1" }, run)
    return performance.now() - since
  }
  // In turn, so that a machine that is busy for a while slows every rule and not one.
  const end = performance.now() + TIMING_MAX_MS
  const rounds = [policies.map(timed)]
  while (rounds.length < TIMED && performance.now() < end) rounds.push(policies.map(timed))
  const [reading = 0, ...least] = policies.map((_, i) => Math.min(...rounds.map(times => times[i] ?? 0)))
  return rules.flatMap(({ id }, i) => {
    const ms = (least[i] ?? 0) - reading
    return ms > SLOW_MS ? [`${id} takes ${ms.toFixed(1)} ms for a large request, and every run waits for it`] : []
  })
}

/** What is right and yet seldom meant. */
function warningsOf({ rules }: PolicyDocument): readonly string[] {
  const allowing = rules.filter(({ effect }) => effect === "allow")
  const always = rules.filter(({ when, act, routes }) => (when ?? act ?? routes) === undefined)
  const denier = always.find(({ effect }) => effect === "deny")
  const allower = always.find(({ effect }) => effect === "allow")
  return [
    ...(allowing.length === 0 ? ["there is no allow rule: every run is denied"] : []),
    ...(denier === undefined ? [] : [`${denier.id} has no condition and denies every run`]),
    ...(allower !== undefined && allowing.length > 1
      ? [`${allower.id} has no condition: the other allow rules change nothing`]
      : []),
  ]
}
