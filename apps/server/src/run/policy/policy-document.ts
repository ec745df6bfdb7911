/**
 * The policy document that an operator gives the server (`--policy FILE`): which attested fields a run must carry and
 * the rules that admit or deny it. Its author is trusted with the decision, but makes mistakes: every doubt is refused.
 */

import type { JsonValue } from "@runseal/canonical"
import {
  ATTESTED_FIELDS,
  type AttestedField,
  MAX_RULES,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  ruleIdSchema,
} from "@runseal/core/vocabulary/decision-codes"
import { lineSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"

/** A policy that cannot be used. The message is one sentence for the operator at start; it never holds request data. */
export class PolicyError extends Error {
  override readonly name = "PolicyError"
}

/** Code units of one `when` expression. */
export const MAX_CONDITION_LENGTH = 4096
const MAX_DESCRIPTION_LENGTH = 1000

const ruleSchema = v.strictObject({
  id: ruleIdSchema,
  effect: v.picklist(["allow", "deny"]),
  description: v.exactOptional(lineSchema(MAX_DESCRIPTION_LENGTH)),
  when: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_CONDITION_LENGTH))),
})

const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length

const policyDocumentSchema = v.strictObject({
  policy_id: policyIdSchema,
  policy_name: policyNameSchema,
  profile_tag: v.exactOptional(profileTagSchema),
  required_attested_fields: v.pipe(
    v.array(v.picklist(ATTESTED_FIELDS)),
    v.check(fields => distinct(fields), "must not repeat a field"),
  ),
  rules: v.pipe(
    v.array(ruleSchema),
    v.maxLength(MAX_RULES),
    v.check(rules => distinct(rules.map(rule => rule.id)), "must not repeat a rule id"),
  ),
})

/** One rule: with `when` absent it matches every run. `when` is a Cedar expression over `context`. */
export interface PolicyRule {
  readonly id: string
  readonly effect: "allow" | "deny"
  readonly description?: string
  readonly when?: string
}

export interface PolicyDocument {
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  /** Fields of `attested_context` without which a run is not admitted (PEPG_ADMISSION). */
  readonly required_attested_fields: readonly AttestedField[]
  readonly rules: readonly PolicyRule[]
}

/** The policy in force when the operator names none: it admits everything, as the hosted service's does. */
export const BUILT_IN_POLICY: PolicyDocument = {
  policy_id: "runseal-baseline",
  policy_name: "Runseal baseline",
  required_attested_fields: [],
  rules: [{ id: "baseline-permit", effect: "allow", description: "Admits every run." }],
}

/**
 * Reads a policy document: strict, an unknown key is a mistake.
 * @throws PolicyError naming the place of the first mistake
 */
export function parsePolicyDocument(json: JsonValue): PolicyDocument {
  const result = v.safeParse(policyDocumentSchema, json)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new PolicyError(
    `The policy document is refused at "${v.getDotPath(issue) ?? "its top level"}": ${issue.message}.`,
  )
}
