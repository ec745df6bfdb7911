/**
 * Policy document → preparsed Cedar policy set. Whatever could surprise at evaluation is refused here, when it is loaded:
 * an expression that is more than one expression or too deep, an unknown attribute, a rule that can never apply, rules that take long.
 */
import { isDeepStrictEqual } from "node:util"
import type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs"
import { digest, type JsonObject, type JsonValue } from "@runseal/canonical"
import { type AttestedField, DEFAULT_SIGNATURE_SCAN, type SignatureScan } from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import { cedar } from "./cedar-engine.ts"
import { conditionDepth, MAX_CONDITION_DEPTH } from "./condition-depth.ts"
import { conditionFault } from "./condition-fault.ts"
import { type EngineRules, ruleSetOf } from "./engine-rules.ts"
import { type PolicyDecision, ruled } from "./policy-decision.ts"
import { BUILT_IN_POLICY, PolicyError, parsePolicyDocument } from "./policy-document.ts"
import { CEDAR_SCHEMA } from "./policy-input.ts"
import { boundSteps } from "./rule-steps.ts"

/** The engine named in every policy hash: another engine may read the same rules differently. */
const POLICY_ENGINE = "cedar-wasm"
/** As the engine says it; it is not loaded for this. */
const POLICY_ENGINE_VERSION = "4.13.0"

/** A policy ready to evaluate. `policy_hash` is the digest of `policyPreimage`. */
export interface CompiledPolicy extends EngineRules {
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  /** Sorted. */
  readonly required_attested_fields: readonly AttestedField[]
  readonly preimage: JsonObject
  readonly signature_scan: SignatureScan
  /** Rules that mention `model_temperature`, sorted: they must not be asked when the number cannot be given exactly. */
  readonly temperature_rule_ids: readonly string[]
  /** The decision on every run, when no rule has a condition: the engine would only repeat it. */
  readonly fixed_decision?: PolicyDecision
}

const byId = (a: PolicyRule, b: PolicyRule): number => (a.id < b.id ? -1 : 1)

/** What `policy_hash` commits to: `{kind, policy_id, policy_name, profile_tag?, fields and rules sorted, signature_scan, engine}`. */
export function policyPreimage(document: PolicyDocument, scan: SignatureScan = DEFAULT_SIGNATURE_SCAN): JsonObject {
  return {
    kind: "vfa.policy.v2",
    policy_id: document.policy_id,
    policy_name: document.policy_name,
    ...(document.profile_tag === undefined ? {} : { profile_tag: document.profile_tag }),
    required_attested_fields: document.required_attested_fields.toSorted(),
    rules: document.rules.toSorted(byId).map(rule => ({ ...rule })),
    signature_scan: scan,
    engine: POLICY_ENGINE,
    engine_version: POLICY_ENGINE_VERSION,
  }
}

const CEDAR_EFFECTS = { allow: "permit", deny: "forbid" } as const

const cedarHead = ({ effect }: PolicyRule): string =>
  `${CEDAR_EFFECTS[effect]}(principal, action == Action::"execute", resource) when {\n`

/** The rule as Cedar text. The line break keeps a trailing `//` comment from swallowing the closing brace. */
const cedarText = (rule: PolicyRule): string => `${cedarHead(rule)}${rule.when ?? "true"}\n};`

const conditionOf = (rule: PolicyRule) => ({ head: cedarHead(rule), when: rule.when ?? "true" })

function isOurShape(policy: PolicyJson, rule: PolicyRule): boolean {
  const { effect, principal, action, resource, conditions, annotations } = policy
  return (
    effect === CEDAR_EFFECTS[rule.effect] &&
    principal.op === "All" &&
    action.op === "==" &&
    resource.op === "All" &&
    conditions.length === 1 &&
    conditions[0]?.kind === "when" &&
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
function validateRules(rules: readonly PolicyRule[], policies: Record<string, string>): void {
  const answer = cedar().validate({
    validationSettings: { mode: "strict" },
    schema: CEDAR_SCHEMA,
    policies: { staticPolicies: policies },
  })
  if (answer.type === "success") {
    const [finding] = [...answer.validationErrors, ...answer.validationWarnings]
    if (finding === undefined) return
    const rule = rules.find(({ id }) => id === finding.policyId)
    if (rule !== undefined)
      throw new PolicyError(`Rule "${rule.id}" does not validate: ${conditionFault(finding.error, conditionOf(rule))}.`)
  }
  throw new PolicyError("The engine cannot validate the rules.")
}

function fixedDecision(rules: readonly PolicyRule[]): { fixed_decision?: PolicyDecision } {
  if (rules.some(rule => rule.when !== undefined)) return {}
  const denying = rules.filter(rule => rule.effect === "deny")
  const determining = denying.length > 0 ? denying : rules
  return {
    fixed_decision: ruled(
      denying.length > 0 ? "deny" : "allow",
      determining.map(rule => rule.id),
    ),
  }
}

/**
 * Compiles a policy document, by default the built-in one.
 * @param scan how the operator set the signature scan
 * @throws PolicyError with one sentence for the operator
 */
export function loadPolicy(json?: JsonValue, scan: SignatureScan = DEFAULT_SIGNATURE_SCAN): CompiledPolicy {
  const document = json === undefined ? BUILT_IN_POLICY : parsePolicyDocument(json)
  const texts = Object.fromEntries(document.rules.map(rule => [rule.id, cedarText(rule)]))
  const preimage = policyPreimage(document, scan)
  const policy_hash = digest(preimage)
  // The built-in policy has no condition, so it is decided without the engine, and no start waits until that is loaded.
  const judged = isDeepStrictEqual(document, BUILT_IN_POLICY) ? [] : document.rules
  const parsed = judged.map(rule => ({ id: rule.id, policy: parseRule(rule) }))
  boundSteps(parsed)
  if (judged.length > 0) {
    validateRules(judged, texts)
    ruleSetOf({ policy_hash, texts })
  }
  return {
    policy_id: document.policy_id,
    policy_name: document.policy_name,
    ...(document.profile_tag === undefined ? {} : { profile_tag: document.profile_tag }),
    required_attested_fields: document.required_attested_fields.toSorted(),
    policy_hash,
    texts,
    preimage,
    signature_scan: scan,
    temperature_rule_ids: parsed
      .filter(({ policy }) => JSON.stringify(policy).includes('"model_temperature"'))
      .map(({ id }) => id)
      .toSorted(),
    ...fixedDecision(document.rules),
  }
}
