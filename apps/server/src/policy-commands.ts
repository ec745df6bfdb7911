/** `policy check FILE` and `policy test FILE CASES`: a policy tried without a service. docs/policy-and-review.md, "Tighten a policy without an accident". */

import { readFileSync } from "node:fs"
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { ActTable } from "@runseal/core/act/act-table"
import { END_USER_MAX_GROUPS, type EndUser, endUserTextSchema } from "@runseal/core/artifacts/end-user"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-object-schema"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { ATTESTED_FIELDS, CONTEXT_WORD_TEXTS, PEPG_REASON_CODES } from "@runseal/core/vocabulary/decision-codes"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { clockSchema, tenantIdSchema } from "@runseal/core/vocabulary/scalars"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import { examplePayload } from "@runseal/policy/example-payload"
import { type CompiledPolicy, compilePolicy, loadPolicy } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { type RuleReview, reviewRules } from "@runseal/policy/rule-review"
import * as v from "valibot"
import { signatureScanOf } from "./boot.ts"
import { askedPermit, readExecuteBody, readOpenPermitBody } from "./http/request-bodies.ts"
import { HttpError } from "./http-error.ts"
import type { PolicyCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { compileSignatureLibrary } from "./policy/signature-library.ts"
import { inWords, type Judging, PLAIN, type PolicyOutput, tryRun } from "./tried-run.ts"

/** @throws StartupError for a file that cannot be used */
export function doWithPolicy(config: Config, command: PolicyCommand): PolicyOutput {
  const json = readJson(command.file)
  const { document, policy } = usable(command.file, () => ({
    document: parsePolicyDocument(json),
    policy: loadPolicy(json, signatureScanOf(config, compileSignatureLibrary())),
  }))
  return command.action === "check"
    ? check(config, document, policy)
    : testCases(config, policy, command.cases, readJson(command.cases))
}

function readJson(file: string): JsonValue {
  return usable(file, () => {
    try {
      const bytes = readFileSync(file)
      const problem = savedProblem(bytes)
      if (problem !== undefined) throw new PolicyError(problem)
      return parseStrictJson(savedText(bytes))
    } catch (error) {
      if (error instanceof StrictJsonError || error instanceof PolicyError) throw error
      throw new StartupError(`${file} cannot be read`)
    }
  })
}

function usable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PolicyError || error instanceof StrictJsonError)
      throw new StartupError(`${file}: ${error.message}`)
    throw error
  }
}

// `policy test FILE CASES`: whether a policy decides each case as its author expects. docs/policy-and-review.md, "Cases".

/** Most cases of a file. */
const CASES_MAX = 10_000
const caseSchema = v.pipe(
  v.strictObject({
    name: v.string(),
    /** A body of `POST /execute`. What a case does not give is as in a request that declares nothing. */
    request: v.exactOptional(jsonObjectSchema),
    /** The same of `POST /permits`, with its terms. */
    opening: v.exactOptional(jsonObjectSchema),
    /** Whose run it is; `api-key-1` when absent. */
    tenant_id: v.exactOptional(tenantIdSchema),
    /** Whose token comes with it; none when absent. */
    end_user: v.exactOptional(
      v.strictObject({
        issuer: v.optional(endUserTextSchema, "https://login.example"),
        subject: endUserTextSchema,
        audience: v.optional(endUserTextSchema, "example"),
        client: v.exactOptional(endUserTextSchema),
        groups: v.optional(v.pipe(v.array(endUserTextSchema), v.maxLength(END_USER_MAX_GROUPS)), []),
        /** The token does not say all groups. */
        groups_unreadable: v.exactOptional(v.literal(true)),
      }),
    ),
    /** When it is admitted; the instant of the test when absent. */
    clock: v.exactOptional(clockSchema),
    expect: v.strictObject({
      decision: v.picklist(["admitted", "denied", "not_admitted"]),
      /** Which rule has to decide it, and why; any when absent. */
      rule_id: v.exactOptional(v.string()),
      reason: v.exactOptional(v.picklist(PEPG_REASON_CODES)),
    }),
  }),
  v.check(
    ({ request, opening }) => (request === undefined) !== (opening === undefined),
    "must have a request or an opening",
  ),
)
type Case = v.InferOutput<typeof caseSchema>
const casesSchema = v.pipe(
  v.array(caseSchema),
  v.minLength(1, "must hold a case"),
  v.maxLength(CASES_MAX, `must hold at most ${CASES_MAX} cases`),
)

function testCases(config: Config, policy: CompiledPolicy, file: string, json: JsonValue): PolicyOutput {
  const cases = v.safeParse(casesSchema, json)
  if (!cases.success) throw new StartupError(`${file}: ${issueText(cases.issues[0])}`)
  const results = cases.output.map(each => {
    const { name, tenant_id = "api-key-1", clock, expect } = each
    const end_user = each.end_user && tokenOf(each.end_user)
    const { run, asked } = submitted(`${file}, ${name}`, each)
    const { unreadable = [], ...found } = tryRun(policy, config, { tenant_id, clock, asked, end_user }, run)
    const passed =
      found.decision === expect.decision &&
      (expect.rule_id ?? found.rule_id) === found.rule_id &&
      (expect.reason ?? found.reason) === found.reason
    return { name, passed, expected: expect, found: { ...found, unreadable: [...unreadable] } }
  })
  const failed = results.filter(({ passed }) => !passed)
  return {
    passed: failed.length === 0,
    json: {
      ok: failed.length === 0,
      policy_hash: policy.policy_hash,
      cases: results.length,
      failed: failed.length,
      results,
    },
    lines: [
      ...results.map(({ name, passed, expected, found }) =>
        passed
          ? `ok      ${name}: ${inWords(found)}`
          : `FAILED  ${name}: ${inWords(found)}; expected ${expectedInWords(expected)}`,
      ),
      `${results.length - failed.length} of ${results.length} cases as expected, policy_hash ${policy.policy_hash}`,
    ],
  }
}

/** The token of a case, which is in force. */
function tokenOf({ groups, groups_unreadable, ...person }: NonNullable<Case["end_user"]>): EndUser {
  const issued_at = new Date().toISOString()
  return { ...person, issued_at, expires_at: issued_at, ...(groups_unreadable ? {} : { groups }) }
}

const expectedInWords = ({ decision, rule_id, reason }: Case["expect"]): string =>
  `${decision}${rule_id === undefined ? "" : ` by ${rule_id}`}${reason === undefined ? "" : ` (${reason})`}`

const { program_id, route_id, registry_record_hash } = PLAIN
const REQUEST = { program_id, route_id, registry_record_hash }
const OPENING = { ...REQUEST, audience: "example", reserve_tokens: 0 }

/** The payload of a case as a text: one that is written as an object is its JSON. */
const withPayload = (request: JsonObject): JsonObject => ({
  ...(request.payload_text === undefined ? { payload: PLAIN.payload } : {}),
  ...request,
  ...(isObject(request.payload) ? { payload: JSON.stringify(request.payload) } : {}),
})

function submitted(
  place: string,
  { request, opening = {} }: Case,
): { readonly run: SubmittedRun; readonly asked?: Judging["asked"] } {
  try {
    if (request !== undefined) return { run: readExecuteBody({ ...REQUEST, ...withPayload(request) }) }
    const { run, permit } = readOpenPermitBody({ ...OPENING, ...withPayload(opening) })
    return { run, asked: askedPermit(permit) }
  } catch (error) {
    if (error instanceof HttpError) throw new StartupError(`${place}: ${error.message}`)
    throw error
  }
}

// `policy check FILE`: what a policy rests on, what it decides on examples, how long its rules take, and mistakes that people make.

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
