/**
 * Why a run was refused, as members that programs read, and the one place that makes a sentence of them. A record alone gives most of them;
 * what the rule says of itself and what it read need the policy. docs/api.md, "Explanation".
 */
import * as v from "valibot"
import { CONTEXT_WORDS, type PepgReasonCode } from "../vocabulary/decision-codes.ts"
import { countSchema, nonEmptySchema, type Shape } from "../vocabulary/scalars.ts"
import { shownAct } from "./act-section.ts"
import { shownApprovals } from "./approvals.ts"
import type { DenyReceipt, McdFinding, Receipt } from "./sealed-artifacts.ts"
import type { SealedSections } from "./sealed-sections.ts"

const opt = v.exactOptional
const namesSchema = v.array(nonEmptySchema)
export const readValueSchema = v.strictObject({
  /** As the rule names it, without `context`. */
  name: nonEmptySchema,
  value: v.string(),
  /** Whose word the value is. */
  word: v.picklist(CONTEXT_WORDS),
  /** The number that the rule compares it with, as `< 2`; absent where it compares it with none, or with several. */
  compared: v.exactOptional(v.pipe(v.string(), v.regex(/^[<>]=? -?\d+(?:\.\d{1,4})?$/))),
})
export type ReadValue = Shape<typeof readValueSchema>

export const explanationSchema = v.strictObject({
  /** A closed code: of the policy gate, of a budget, of the review, or ATTESTATION_GAP. */
  reason: nonEmptySchema,
  /** What decided, where the policy gate did: a rule, a signature, the default or the engine. */
  rule_id: opt(nonEmptySchema),
  /** What its author says of the rule, or what a signature finds. */
  description: opt(nonEmptySchema),
  /** Of a signature: its name. */
  title: opt(nonEmptySchema),
  /** Of a signature: a public reference, such as a CVE. */
  reference: opt(nonEmptySchema),
  /** Of a signature: the text in which it matched. */
  matched_in: opt(nonEmptySchema),
  /** What was asked for: fields, approvals, or the most tokens. */
  needed: opt(v.union([namesSchema, countSchema])),
  /** What there was of it. */
  present: opt(v.union([namesSchema, countSchema])),
  /** Fields that were not there; of an unreadable act its names and objects; of a required approval the end user. */
  missing: opt(namesSchema),
  /** What the deciding rule read. */
  read: opt(v.array(readValueSchema)),
})
export type Explanation = Shape<typeof explanationSchema>

/** What a list of runs shows of it: the first two; with details also what the record alone gives. */
export const listedExplanationSchema = v.strictObject(
  v.pick(explanationSchema, ["reason", "rule_id", "needed", "present", "missing", "matched_in", "title"]).entries,
)
export type ListedExplanation = Shape<typeof listedExplanationSchema>

/** What a record holds beside the receipt and an explanation is made from. */
export type ExplainedSections = Pick<
  SealedSections,
  "act" | "approvals" | "end_user" | "mcd_finding" | "policy_evaluation"
>

/** Why a run was refused, from its record alone. @param sections of the same run; none where only the receipt is at hand */
export function explainReceipt(receipt: Receipt, sections: ExplainedSections = {}): Explanation {
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
      return explainDenial(receipt, sections)
  }
}

function explainDenial(
  { decision_reason_code: reason, fired_rule_id: rule_id }: DenyReceipt,
  { act, approvals, end_user, mcd_finding, policy_evaluation }: ExplainedSections,
): Explanation {
  if (reason === "MCD_SIGNATURE_MATCH") return { reason, rule_id, ...matchOf(mcd_finding) }
  const required = policy_evaluation?.needed
  if (required !== undefined) {
    const decisions = (approvals && shownApprovals(approvals)?.decisions) ?? []
    return {
      reason,
      rule_id,
      needed: required.map(({ by, count }) => `${count} of ${by.join(" or ")}`),
      present: decisions.map(({ decision, person }) => `${decision} by ${person.subject}`),
      // Nobody is asked for the approval of an act behind which nobody is, unless the rule says so.
      ...(end_user === undefined && required.some(rule => rule.end_user !== "optional")
        ? { missing: ["end_user"] }
        : {}),
    }
  }
  const read = act && shownAct(act)
  if (reason !== "ACT_UNREADABLE" || read === undefined) return { reason, rule_id }
  const missing = read.unreadable.map(fault => ("name" in fault ? `act.${fault.name}` : fault.at || "payload"))
  return { reason, rule_id, missing }
}

const matchOf = (finding: McdFinding | undefined): Pick<Explanation, "matched_in"> =>
  finding === undefined ? {} : { matched_in: finding.matched_in }

/** The reason as a phrase, such as `rule large of the policy`; it follows a sealed sentence or the name of an outcome. */
export function causeOf(receipt: Receipt, explained: Explanation): string {
  switch (receipt.version) {
    case "vfa.attestation_gap_receipt.v1":
      return `the policy requires attested fields that are missing: ${receipt.missing_fields.join(", ")}`
    case "vfa.ccv_halt.v1":
      return `${receipt.consumed_at_halt} tokens declared, ${receipt.budget_limit} allowed for one run`
    case "vfa.macc_halt.v1":
      return `${receipt.cumulative_at_halt} tokens in the tenant's window, whose cap is ${receipt.budget_limit}`
    case "vfa.aivp_t4_halt.v1":
      return `${receipt.decision_reason}, by the governance review of the AI output`
    case "vfa.deny_receipt.v1":
      return DENIALS[receipt.decision_reason_code](explained, receipt.fired_rule_id)
  }
}

const ruled = ({ description }: Explanation, rule: string): string =>
  [`rule ${rule} of the policy`, ...(description === undefined ? [] : [description.replace(/\.$/, "")])].join(": ")

const listed = (values: Explanation["needed"]): readonly string[] =>
  Array.isArray(values) && values.length > 0 ? [values.join("; ")] : []

const DENIALS: Readonly<Record<PepgReasonCode, (explained: Explanation, rule: string) => string>> = {
  MCD_SIGNATURE_MATCH: ({ title, reference }, signature) =>
    [`${signature}, a signature of malicious code`, ...(title === undefined ? [] : [`${title} (${reference})`])].join(
      ": ",
    ),
  RULE_DENIED: ruled,
  RULE_ALLOWED: ruled,
  APPROVAL_REQUIRED: ({ needed, missing = [] }, rule) =>
    [
      [`rule ${rule} of the policy requires an approval`, ...listed(needed)].join(": "),
      missing.length > 0
        ? "the request has to name its end user, with X-End-User-Token"
        : "POST /permits asks people for it",
    ].join("; "),
  RULE_APPROVED: ruled,
  APPROVAL_REJECTED: ({ present }, rule) =>
    [`rule ${rule} of the policy requires an approval, and a person rejected the act`, ...listed(present)].join(": "),
  APPROVAL_EXPIRED: ({ needed }, rule) =>
    [`rule ${rule} of the policy requires an approval, and too few persons gave it in time`, ...listed(needed)].join(
      ": ",
    ),
  APPROVAL_UNUSED: (_, rule) =>
    `the act was approved as rule ${rule} of the policy requires, and nobody collected its permit`,
  APPROVAL_WITHDRAWN: (_, rule) =>
    `rule ${rule} of the policy requires an approval, and who asked for it withdrew the request`,
  DEFAULT_DENY: () => "no rule of the policy allows it",
  ACT_UNREADABLE: ({ missing = [] }) =>
    [
      "the payload is not as the act table of the policy says",
      ...(missing.length === 0 ? [] : [missing.join(", ")]),
    ].join(": "),
  END_USER_UNREADABLE: () => "the policy reads the end user's groups, and the token does not say them all",
  POLICY_EVALUATION_ERROR: () => "the policy could not be evaluated",
}
