/**
 * The policy document: which attested fields a run must carry, and the rules that admit or deny it. Its author is trusted with the
 * decision, but makes mistakes: every doubt is refused. docs/policy-and-review.md, "The policy document".
 */
import * as v from "valibot"
import { type ActTable, actNameSchema, actTableSchema, MAX_ACT_TABLES, routesSchema } from "../act/act-table.ts"
import {
  ATTESTED_FIELDS,
  type AttestedField,
  approvalEntries,
  MAX_RULES,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  type RuleApproval,
  ruleIdSchema,
} from "../vocabulary/decision-codes.ts"
import { lineSchema } from "../vocabulary/scalars.ts"

/** Code units of one `when` expression. */
export const MAX_CONDITION_LENGTH = 8192
const MAX_DESCRIPTION_LENGTH = 1000

const approvalSchema = v.strictObject({
  ...approvalEntries,
  by: v.pipe(
    approvalEntries.by,
    v.check(groups => distinct(groups), "must not repeat a group"),
    v.metadata({ uniqueItems: true }),
  ),
})

const ruleSchema = v.strictObject({
  id: ruleIdSchema,
  effect: v.picklist(["allow", "deny", "require_approval"]),
  /** Of a rule that requires an approval, and of no other: whose. */
  approval: v.exactOptional(approvalSchema),
  /** The act table whose names the rule reads: it applies to runs of that table's routes alone. */
  act: v.exactOptional(actNameSchema),
  /** Routes, or prefixes that end in `/*`, to which the rule applies. */
  routes: v.exactOptional(routesSchema),
  description: v.exactOptional(lineSchema(MAX_DESCRIPTION_LENGTH)),
  when: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_CONDITION_LENGTH))),
})

const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length

const actsSchema = v.pipe(
  v.array(actTableSchema),
  v.maxLength(MAX_ACT_TABLES, `must have at most ${MAX_ACT_TABLES} tables`),
  v.check(acts => distinct(acts.map(({ name }) => name)), "must not repeat a name"),
  v.check(acts => distinct(acts.flatMap(({ routes }) => routes)), "must not name a route in two tables"),
  v.description("No two tables have the same name or the same route."),
)

type Parts = { readonly acts?: readonly ActTable[] | undefined; readonly rules: readonly PolicyRule[] }

const namesKnownActs = ({ acts = [], rules }: Parts): boolean =>
  rules.every(({ act }) => act === undefined || acts.some(({ name }) => name === act))
const saysWhoApproves = ({ rules }: Parts): boolean =>
  rules.every(({ effect, approval }) => (effect === "require_approval") === (approval !== undefined))
/** The agent chooses the route: an allow that names neither would admit `payments/Transfer`, which no table speaks of. */
const allowsWhatIsNamed = ({ acts = [], rules }: Parts): boolean =>
  acts.length === 0 || rules.every(({ effect, act, routes }) => effect === "deny" || (act ?? routes) !== undefined)

/** Strict: an unknown member is a mistake. What Cedar makes of the conditions is judged by the service. */
export const policyDocumentSchema = v.pipe(
  v.strictObject({
    policy_id: policyIdSchema,
    policy_name: policyNameSchema,
    profile_tag: v.exactOptional(profileTagSchema),
    required_attested_fields: v.pipe(
      v.array(v.picklist(ATTESTED_FIELDS)),
      v.check(fields => distinct(fields), "must not repeat a field"),
      v.metadata({ uniqueItems: true }),
    ),
    acts: v.exactOptional(actsSchema),
    rules: v.pipe(
      v.array(ruleSchema),
      v.maxLength(MAX_RULES),
      v.check(rules => distinct(rules.map(rule => rule.id)), "must not repeat a rule id"),
      v.description("No two rules have the same id."),
    ),
  }),
  v.check(document => namesKnownActs(document), "has a rule whose act is no table of the policy"),
  v.check(
    document => saysWhoApproves(document),
    "has a rule that requires an approval and does not say whose, or another rule that says so",
  ),
  v.check(
    document => allowsWhatIsNamed(document),
    "has act tables, and a rule that allows or requires an approval and names neither an act nor routes: callers choose the route, so say which it admits",
  ),
  v.description(
    "The act of a rule is one of the tables. Where there are tables, a rule that allows or requires an approval names an act or routes. A rule has approval exactly when its effect is require_approval.",
  ),
)

/** One rule: with `when` absent it matches every run. `when` is a Cedar expression over `context`. */
export interface PolicyRule {
  readonly id: string
  readonly effect: "allow" | "deny" | "require_approval"
  readonly approval?: RuleApproval
  readonly act?: string
  readonly routes?: readonly string[]
  readonly description?: string
  readonly when?: string
}

export interface PolicyDocument {
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  /** Fields of `attested_context` without which a run is not admitted (PEPG_ADMISSION). */
  readonly required_attested_fields: readonly AttestedField[]
  readonly acts?: readonly ActTable[]
  readonly rules: readonly PolicyRule[]
}
