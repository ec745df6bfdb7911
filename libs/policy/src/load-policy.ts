/**
 * Policy document → parsed Cedar rules. Whatever could surprise at evaluation is refused here, when it is loaded:
 * an expression that is more than one expression or too deep, an unknown attribute, a rule that can never apply, rules that take long.
 */
import type { DetailedError, PolicyJson } from "@cedar-policy/cedar-wasm/nodejs"
import { digest, type JsonObject, type JsonValue, utf8Decode, utf8Encode } from "@runseal/canonical"
import { type ActTable, tableOf } from "@runseal/core/act/act-table"
import { type ActReader, actReader } from "@runseal/core/act/read-act"
import { attributesOf, type ContextReads, cedarSchema } from "@runseal/core/formulas/policy-context"
import {
  type AttestedField,
  DEFAULT_SIGNATURE_SCAN,
  type RuleApproval,
  type SignatureScan,
} from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import { cedar } from "./cedar-engine.node.ts"
import { contextPath, contextReads, groupsNamed, unknownReads } from "./context-reads.ts"
import { type EngineRules, ruleSetOf } from "./engine-rules.ts"
import { type PolicyDecision, ruled } from "./policy-decision.ts"
import { BUILT_IN_POLICY, PolicyError, parsePolicyDocument } from "./policy-document.ts"

/** The engine named in every policy hash: another engine may read the same rules differently. */
const POLICY_ENGINE = "cedar-wasm"
/** As the engine says it; it is not loaded for this. */
export const POLICY_ENGINE_VERSION = "4.13.0"

/** A policy ready to evaluate. `policy_hash` is the digest of `policyPreimage`. */
export interface CompiledPolicy extends EngineRules {
  readonly document: PolicyDocument
  readonly engine: string
  readonly engine_version: string
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  /** Sorted. */
  readonly required_attested_fields: readonly AttestedField[]
  readonly preimage: JsonObject
  readonly signature_scan: SignatureScan
  /** Reads the payloads of a route; undefined for a route that no act table names. */
  readonly readerOf: (route_id: string) => ActReader | undefined
  /** The attributes that each rule reads, by its id; and those that any rule reads. */
  readonly rule_reads: ReadonlyMap<string, ContextReads>
  readonly reads: ContextReads
  /** The groups that rules name, of all that a token may have; undefined where no rule reads the groups of an end user. */
  readonly named_groups: ReadonlySet<string> | undefined
  /** Whose approval rules require, by the id of each such rule. */
  readonly approvals: ReadonlyMap<string, RuleApproval>
  /** The decision on every run whose act can be read, when every rule applies to every run and none requires an approval: the engine would only repeat it. */
  readonly fixed_decision?: PolicyDecision
}

const isSame = (one: PolicyDocument, other: PolicyDocument): boolean =>
  digest(policyPreimage(one)) === digest(policyPreimage(other))

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)
const byId = (a: PolicyRule, b: PolicyRule): number => (a.id < b.id ? -1 : 1)

/** What `policy_hash` commits to: the document with fields, acts and rules sorted, how the scan is set, and the engine. */
export function policyPreimage(
  document: PolicyDocument,
  scan: SignatureScan = DEFAULT_SIGNATURE_SCAN,
  engine_version: string = POLICY_ENGINE_VERSION,
): JsonObject {
  return {
    kind: "vfa.policy.v3",
    policy_id: document.policy_id,
    policy_name: document.policy_name,
    ...(document.profile_tag === undefined ? {} : { profile_tag: document.profile_tag }),
    required_attested_fields: document.required_attested_fields.toSorted(),
    ...(document.acts === undefined ? {} : { acts: document.acts.toSorted(byName).map(table => ({ ...table })) }),
    rules: document.rules.toSorted(byId).map(rule => ({ ...rule })),
    signature_scan: scan,
    engine: POLICY_ENGINE,
    engine_version,
  }
}

const CEDAR_EFFECTS = { allow: "permit", deny: "forbid", require_approval: "permit" } as const

/** A route as a pattern of Cedar's `like`, and as a text. */
const quoted = (route: string): string => JSON.stringify(route).replaceAll("\u007f", "\\u{7f}")
const matchesRoute = (route: string): string =>
  route.endsWith("/*") ? `context.bound.route_id like ${quoted(route)}` : `context.bound.route_id == ${quoted(route)}`

const cedarHead = ({ effect, act, routes }: PolicyRule): string =>
  [
    `${CEDAR_EFFECTS[effect]}(principal, action${act === undefined ? "" : ` == Action::${quoted(act)}`}, resource)`,
    ...(routes === undefined ? [] : [`when { ${routes.map(matchesRoute).join(" || ")} }`]),
    "when {\n",
  ].join(" ")

/** The rule as Cedar text. The line break keeps a trailing `//` comment from swallowing the closing brace. */
const cedarText = (rule: PolicyRule): string => `${cedarHead(rule)}${rule.when ?? "true"}\n};`

/** The rules of a document as Cedar text, by their ids. */
export const ruleTexts = ({ rules }: PolicyDocument): Record<string, string> =>
  Object.fromEntries(rules.map(rule => [rule.id, cedarText(rule)]))

const conditionOf = (rule: PolicyRule, acts: readonly ActTable[] = []) => ({
  head: cedarHead(rule),
  when: rule.when ?? "true",
  acts,
  ...(rule.act === undefined ? {} : { act: rule.act }),
})

function isOurShape(policy: PolicyJson, rule: PolicyRule): boolean {
  const { effect, principal, action, resource, conditions, annotations } = policy
  return (
    effect === CEDAR_EFFECTS[rule.effect] &&
    principal.op === "All" &&
    action.op === (rule.act === undefined ? "All" : "==") &&
    resource.op === "All" &&
    conditions.length === (rule.routes === undefined ? 1 : 2) &&
    conditions.every(({ kind }) => kind === "when") &&
    Object.keys(annotations ?? {}).length === 0
  )
}

/** Parses one rule and proves that its `when` is one expression: `true }; permit(…) when { true` is two statements. */
function parseRule(rule: PolicyRule): PolicyJson {
  if (conditionDepth(rule.when ?? "") > MAX_CONDITION_DEPTH) {
    throw new PolicyError(`Rule "${rule.id}" is nested too deeply: split it, or compare with a set of values.`)
  }
  const text = cedarText(rule)
  const parts = cedar().policySetTextToParts(text)
  if (parts.type === "failure") {
    const fault = conditionFault(parts.errors[0], conditionOf(rule))
    throw new PolicyError(`Rule "${rule.id}" is not a Cedar expression: ${fault}.`)
  }
  const parsed = cedar().policyToJson(text)
  const single = parts.policies.length === 1 && parts.policy_templates.length === 0
  if (!single || parsed.type === "failure" || !isOurShape(parsed.json, rule)) {
    throw new PolicyError(`Rule "${rule.id}" must be one Cedar expression, without clauses or statements of its own.`)
  }
  return parsed.json
}

/** Strict validation against the request's schema. Warnings refuse too: a rule that never applies is a mistake. */
function validateRules({ rules, acts = [] }: PolicyDocument, policies: Record<string, string>): void {
  const answer = cedar().validate({
    validationSettings: { mode: "strict" },
    schema: cedarSchema(acts),
    policies: { staticPolicies: policies },
  })
  if (answer.type === "success") {
    const [finding] = [...answer.validationErrors, ...answer.validationWarnings]
    if (finding === undefined) return
    const rule = rules.find(({ id }) => id === finding.policyId)
    if (rule !== undefined) {
      const condition = conditionOf(rule, acts)
      const parsed = cedar().policyToJson(policies[rule.id] ?? "")
      const [unknown] = parsed.type === "failure" ? [] : unknownReads(parsed.json.conditions, condition)
      throw new PolicyError(
        `Rule "${rule.id}" does not validate: ${conditionFault(finding.error, condition, unknown)}.`,
      )
    }
  }
  throw new PolicyError("The engine cannot validate the rules.")
}

function readsOf(id: string, { conditions }: PolicyJson): ContextReads {
  const reads = contextReads(conditions)
  if (reads === undefined)
    throw new PolicyError(
      `Rule "${id}" takes a record as one value: compare its attributes, as context.bound.route_id.`,
    )
  return reads
}

function groupsOf(id: string, { conditions }: PolicyJson): readonly string[] {
  const named = groupsNamed(conditions)
  if (named === undefined)
    throw new PolicyError(
      `Rule "${id}" reads groups otherwise than by contains("a"), containsAny(["a", "b"]) or containsAll(["a", "b"]) of texts: a run has only the groups that rules name.`,
    )
  return named
}

const approvalsOf = (rules: readonly PolicyRule[]): ReadonlyMap<string, RuleApproval> =>
  new Map(rules.flatMap(({ id, approval }) => (approval === undefined ? [] : [[id, approval] as const])))

function fixedDecision(rules: readonly PolicyRule[]): { fixed_decision?: PolicyDecision } {
  if (rules.some(({ when, act, routes, approval }) => (when ?? act ?? routes ?? approval) !== undefined)) return {}
  const denying = rules.filter(rule => rule.effect === "deny")
  const determining = denying.length > 0 ? denying : rules
  return {
    fixed_decision: ruled(
      denying.length > 0 ? "deny" : "allow",
      determining.map(rule => rule.id),
      new Map(),
    ),
  }
}

/**
 * Compiles a policy document, by default the built-in one.
 * @param scan how the operator set the signature scan
 * @throws PolicyError with one sentence for the operator
 */
export const loadPolicy = (json?: JsonValue, scan?: SignatureScan): CompiledPolicy =>
  compilePolicy(json === undefined ? BUILT_IN_POLICY : parsePolicyDocument(json), scan)

/** The same of a document that was read. */
export function compilePolicy(document: PolicyDocument, scan: SignatureScan = DEFAULT_SIGNATURE_SCAN): CompiledPolicy {
  const texts = ruleTexts(document)
  const preimage = policyPreimage(document, scan)
  const policy_hash = digest(preimage)
  // The built-in policy has no condition, so it is decided without the engine, and no start waits until that is loaded.
  const judged = isSame(document, BUILT_IN_POLICY) ? [] : document.rules
  const parsed = judged.map(rule => ({ id: rule.id, policy: parseRule(rule) }))
  boundSteps(parsed)
  if (judged.length > 0) {
    validateRules(document, texts)
    ruleSetOf({ policy_hash, texts })
  }
  const rule_reads = new Map(parsed.map(({ id, policy }) => [id, readsOf(id, policy)]))
  const groups = parsed.flatMap(({ id, policy }) => groupsOf(id, policy))
  const approvals = approvalsOf(document.rules)
  const readers = new Map((document.acts ?? []).map(table => [table, actReader(table)]))
  return {
    document,
    engine: POLICY_ENGINE,
    engine_version: POLICY_ENGINE_VERSION,
    policy_id: document.policy_id,
    policy_name: document.policy_name,
    ...(document.profile_tag === undefined ? {} : { profile_tag: document.profile_tag }),
    required_attested_fields: document.required_attested_fields.toSorted(),
    policy_hash,
    texts,
    preimage,
    signature_scan: scan,
    readerOf: route_id => {
      const table = tableOf(document.acts ?? [], route_id)
      return table && readers.get(table)
    },
    rule_reads,
    reads: new Set([...rule_reads.values()].flatMap(reads => [...reads])),
    named_groups: groups.length === 0 ? undefined : new Set(groups),
    approvals,
    ...fixedDecision(document.rules),
  }
}

// How deep a condition is nested. The engine calls itself for each level of an expression, on a stack of its own: where that ends, it
// answers nothing any more until the process starts anew. So a condition is measured before the engine reads it.

/** A bracket fills this stack as four operators do. */
const BRACKET = 4
const IF = 2

/** 40 brackets in each other, or 200 operators in a row. The engine bears more than one and a half times as much. */
const MAX_CONDITION_DEPTH = 200

/** Texts and comments, which nest nothing, and every token that does. */
const TOKEN = /"(?:\\.|[^"\\])*"?|\/\/[^\r\n]*|!=|&&|\|\||[()[\]{},.!+*-]|\bif\b|==|[<>]|\b(?:in|like|has|is)\b/gs

/** One pair of brackets, or the whole condition. */
type Group = {
  /** Of what is before the last comma. */
  deepest: number
  /** Operators since then: each one has all before it as its left side. */
  operators: number
  /** The longest row of members and calls since then, and the present one. */
  members: number
  row: number
  /** The deepest bracket since then. */
  inner: number
}

const newGroup = (): Group => ({ deepest: 0, operators: 0, members: 0, row: 0, inner: 0 })

const endItem = (group: Group): number => Math.max(group.deepest, group.operators + group.members + group.inner)

/** At least the depth of the expression that a condition is; of a text that is none, any number. */
function conditionDepth(condition: string): number {
  const outer: Group[] = []
  let group = newGroup()
  const close = (): void => {
    const parent = outer.pop()
    if (parent === undefined) return
    parent.inner = Math.max(parent.inner, endItem(group) + BRACKET)
    group = parent
  }
  for (const [token] of condition.matchAll(TOKEN)) {
    if (token.startsWith('"') || token.startsWith("//")) continue
    switch (token) {
      case "(":
      case "[":
      case "{":
        group.members = Math.max(group.members, ++group.row)
        outer.push(group)
        group = newGroup()
        break
      case ")":
      case "]":
      case "}":
        close()
        break
      case ",":
        group = { ...newGroup(), deepest: endItem(group) }
        break
      case ".":
        group.members = Math.max(group.members, ++group.row)
        break
      case "if":
        group.operators += IF
        group.row = 0
        break
      case "&&":
      case "||":
      case "!":
      case "+":
      case "*":
      case "-":
        group.operators++
        group.row = 0
        break
      default:
        group.row = 0
    }
  }
  while (outer.length > 0) close()
  return endItem(group)
}

// What is wrong with a condition, and where, in words of our own. The engine's message is about a text that the author did not write: it
// counts bytes, and names brackets that were put around the condition.

/** Kinds of faults, by what the engine says of them; the first that fits counts. */
const KINDS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/optional attribute/, "the attribute may be absent: ask `has` first"],
  [/ not found/, "there is no such attribute"],
  [/unexpected type|not compatible/, "the types do not fit"],
  [/is impossible/, "the rule matches no run"],
  [/unrecognized (entity type|action)/, "there is no such type or action"],
  [/mixed scripts|BIDI|confusable/i, "the text has characters that look like others"],
  [/empty set/, "the set is empty"],
  [/extension function argument|non-literal|number of arguments/, "the function does not take these arguments"],
  [/not a valid (function|method)|is a method|is a function/, "there is no such function or method"],
  [/invalid variable/, "there is no such name: attributes begin with `context.`, and texts have double quotes"],
  [/too large/, "the number is too large"],
  [/single quotes|strings are closed/, "texts begin and end with a double quote"],
  [/'=' is not/, "two values are compared with `==`"],
  [/unexpected token|invalid token/, "the condition cannot be read from there on"],
]

/** Where the condition begins in a text, how it is written, and which act it may read. */
type Condition = { readonly head: string; readonly when: string } & NonNullable<Parameters<typeof attributesOf>[1]>

/**
 * The place and the reason, as the end of a sentence without its full stop.
 * @param unknown a path that the condition reads and that there is not: one that is only asked for with `has` makes the engine say less
 */
function conditionFault(error: DetailedError | undefined, condition: Condition, unknown?: string): string {
  const { message = "", help, sourceLocations = [] } = error ?? {}
  const reported = `${message} ${help ?? ""}`
  const reason =
    unknownAttribute(message, condition) ??
    (unknown === undefined ? undefined : noAttribute(unknown, condition)) ??
    KINDS.find(([pattern]) => pattern.test(reported))?.[1] ??
    "the engine does not accept it"
  return `${placeOf(sourceLocations[0]?.start, condition)}${reason}`
}

/** A name that can be shown, of an attribute that the context does not have. */
const NOT_FOUND = /attribute `((?:\w{1,64}\.){0,2})(\w{1,64})` in context .* not found/

/** Names the attribute, and those that there are beside it; undefined for any other fault. */
function unknownAttribute(message: string, condition: Condition): string | undefined {
  const [, within, name] = NOT_FOUND.exec(message) ?? []
  if (within === undefined || name === undefined) return undefined
  if (within === "" && name === "act")
    return "the rule reads an act and names none: give it the name of its act table under `act`"
  return noAttribute(`${within}${name}`, condition)
}

/** Names an attribute that there is not, and those that there are in its place. */
function noAttribute(path: string, condition: Condition): string {
  const within = path.slice(0, path.lastIndexOf(".") + 1)
  const known = attributesOf(within.slice(0, -1), condition).map(each => `context.${within}${each}`)
  return `there is no attribute context.${path}, only ${known.join(", ")}`
}

/** @param start in bytes of the whole text */
function placeOf(start: number | undefined, { head, when }: Condition): string {
  const at = (start ?? 0) - utf8Encode(head).length
  if (at < 0) return ""
  const bytes = utf8Encode(when)
  if (at >= bytes.length) return "at its end: "
  const lines = (utf8Decode(bytes.subarray(0, at)) ?? when).split("\n")
  return `at line ${lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}: `
}

// How long the rules of a policy take at most, in steps: the nodes of their conditions, however the request is and whatever machine
// judges it. Every run waits for its decision, so a policy beyond the bound is refused when it is loaded. Decision 0240.

/** Most steps of all rules together: some hundred comparisons, or a list of some thousand values. */
const MAX_STEPS = 4096
/** Of an attribute of the context, however deep it is. */
const ATTRIBUTE_STEPS = 2
/** Of an operation whose time grows with a text or a set that the caller declares, which may be as large as a body. */
const LONG_STEPS = 128

/** Members of the context whose length callers choose: texts under `attested`, and sets. */
const TEXTS = "attested"
const SETS: readonly string[] = ["data_labels", "effect_kinds", "approver_ids", "breached_thresholds"]

type Counted = { readonly id: string; readonly policy: { readonly conditions: readonly unknown[] } }

/** @throws PolicyError that names the rule with the most steps, for rules that have too many together */
function boundSteps(rules: readonly Counted[]): void {
  const counts = rules.map(({ id, policy }) => ({ id, steps: stepsIn(policy.conditions) }))
  const total = counts.reduce((sum, { steps }) => sum + steps, 0)
  if (total <= MAX_STEPS) return
  const { id, steps } = counts.reduce((most, next) => (next.steps > most.steps ? next : most))
  throw new PolicyError(
    `The rules take ${total} steps together for each run, and at most ${MAX_STEPS} are allowed: shorten them, first rule "${id}" with ${steps}.`,
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The steps of a condition as Cedar's JSON has it, where each node is an object `{operator: operands}`. */
function stepsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + stepsIn(item), 0)
  if (!isRecord(value)) return 0
  if (contextPath(value) !== undefined) return ATTRIBUTE_STEPS
  return Object.entries(value).reduce(
    (sum, [operator, operands]) => sum + stepsIn(operands) + (isLong(operator, operands) ? LONG_STEPS : 0),
    1,
  )
}

function isLong(operator: string, operands: unknown): boolean {
  if (!isRecord(operands)) return false
  const { left, right } = operands
  if (operator === "like") return reads(left, [TEXTS])
  const comparesSets = ["containsAll", "containsAny", "==", "!="].includes(operator)
  return comparesSets && reads(left, SETS) && reads(right, SETS)
}

/** Whether a value reads one of these members. */
function reads(value: unknown, members: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some(item => reads(item, members))
  if (!isRecord(value)) return false
  return Object.values(value).some(item => (typeof item === "string" ? members.includes(item) : reads(item, members)))
}
