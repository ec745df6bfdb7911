/**
 * The policy document: which attested fields a run must carry, and the rules that admit or deny it. Its author is trusted with the
 * decision, but makes mistakes: every doubt is refused. docs/policy-and-review.md, "The policy document".
 */
import * as v from "valibot"
import {
  ATTESTED_FIELDS,
  type AttestedField,
  MAX_RULES,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  ruleIdSchema,
} from "../vocabulary/decision-codes.ts"
import { lineSchema } from "../vocabulary/scalars.ts"

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

/** Strict: an unknown member is a mistake. What Cedar makes of the conditions is judged by the service. */
export const policyDocumentSchema = v.strictObject({
  policy_id: policyIdSchema,
  policy_name: policyNameSchema,
  profile_tag: v.exactOptional(profileTagSchema),
  required_attested_fields: v.pipe(
    v.array(v.picklist(ATTESTED_FIELDS)),
    v.check(fields => distinct(fields), "must not repeat a field"),
    v.metadata({ uniqueItems: true }),
  ),
  rules: v.pipe(
    v.array(ruleSchema),
    v.maxLength(MAX_RULES),
    v.check(rules => distinct(rules.map(rule => rule.id)), "must not repeat a rule id"),
    v.description("No two rules have the same id."),
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
