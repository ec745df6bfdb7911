/**
 * Contradictions that no honest run has: values that exclude each other within a section, a receipt or the run. They show in the record
 * alone, even in one whose hashes and signatures are all right. docs/formats.md section 3.
 */
import { sha256Hex } from "@runseal/canonical"
import { isValueOf } from "../act/act-value.ts"
import { type ActSection, shownAct } from "../artifacts/act-section.ts"
import { type ApprovalsSection, ENDED_REASONS, isEndedReason, shownApprovals } from "../artifacts/approvals.ts"
import { isShown } from "../artifacts/declared-sections.ts"
import { type EndUserSection, shownEndUser } from "../artifacts/end-user.ts"
import type { McdFinding, Receipt } from "../artifacts/sealed-artifacts.ts"
import type { GovernanceReviewSection, PayloadSection, PolicyEvaluationSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { approvalsHold } from "../vocabulary/approvals-satisfy.ts"
import type { PepgReasonCode } from "../vocabulary/decision-codes.ts"
import { categoryOf, MCD_REASON_CODE, MCD_SCOPES, PEPG_REASONS } from "../vocabulary/decision-codes.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import {
  AIVP_HALT_CODES,
  type AivpHaltKind,
  BUILTIN_DECISIONS,
  isVerdict,
  MAX_REPORTED_PER_RULE,
  MODEL_ADAPTERS,
  type ReviewAdapter,
  type ReviewReasonCode,
} from "../vocabulary/review-codes.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { SHIPPED_LIBRARY_HASH, SHIPPED_SEVERITIES } from "../vocabulary/shipped-signatures.ts"

/** A condition, and what is wrong when it does not hold. */
export type Rule = readonly [holds: boolean, problem: string]

/** What is wrong, of the rules that do not hold. */
export const brokenRules = (rules: readonly Rule[]): readonly string[] =>
  rules.flatMap(([holds, problem]) => (holds ? [] : [problem]))

/** Whether names rise by UTF-16 code units: sorted, and each once. */
export const rises = (names: readonly string[]): boolean =>
  names.every((name, i) => i === 0 || (names[i - 1] ?? "") < name)

const HASH_OF_NOTHING = sha256Hex("")

/** The empty text has a hash that no other text has, and texts with one hash have one length. */
export function payloadContradictions(payload: PayloadSection): readonly string[] {
  const { payload_hash, payload_bytes, ai_output_hash, ai_output_bytes } = payload
  const fits = (hash: string | undefined, bytes: number | undefined): boolean =>
    (hash === HASH_OF_NOTHING) === (bytes === 0)
  return brokenRules([
    [(ai_output_hash === undefined) === (ai_output_bytes === undefined), "the AI output has a hash or a length alone"],
    [fits(payload_hash, payload_bytes), "the payload's hash and length are not of one text"],
    [fits(ai_output_hash, ai_output_bytes), "the AI output's hash and length are not of one text"],
    [
      payload_hash !== ai_output_hash || payload_bytes === ai_output_bytes,
      "payload and AI output have one hash and two lengths",
    ],
  ])
}

/** The authenticated caller is the tenant, and each section that can be withheld has a salt of its own. */
export function callerContradictions(sections: Sections, tenantId: string): readonly string[] {
  const shown = [
    sections.attested_context,
    sections.request_substance,
    sections.authorization_chain,
    sections.regulatory_scaffolding,
    sections.causal_graph,
    sections.reproducibility_context,
    ...(sections.closing === undefined ? [] : [sections.closing]),
  ].filter(isShown)
  const act = sections.act && shownAct(sections.act)
  const endUser = sections.end_user && shownEndUser(sections.end_user)
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  const salted = [...shown, ...[act, endUser, approvals].filter(section => section !== undefined)]
  const salts = new Set(salted.map(({ salt }) => salt))
  const { request_substance: substance } = sections
  const caller = isShown(substance) ? substance.origin?.authentication : undefined
  const anonymous = caller?.method === "anonymous"
  const tenant = caller !== undefined && (anonymous ? "anonymous" : `api-key-${caller.api_key_id}`)
  return brokenRules([
    [salts.size === salted.length, "two sections have one salt"],
    [caller === undefined || tenant === tenantId, "the caller that was authenticated is not the tenant"],
    [
      caller === undefined || (anonymous ? caller.api_key_id === 0 : caller.api_key_id > 0),
      "an anonymous caller has key 0, and no other caller",
    ],
    [
      caller === undefined || anonymous === (caller.api_key_name === undefined),
      "a key has a name, and an anonymous caller none",
    ],
  ])
}

/** Each value of an act is one that its type can have, each name is there once, and a name that was not read has no value. */
export function actContradictions(section: ActSection): readonly string[] {
  const act = shownAct(section)
  if (act === undefined) return []
  const names = act.values.map(({ name }) => name)
  const failed = act.unreadable.flatMap(fault => ("name" in fault ? [fault.name] : []))
  return brokenRules([
    [rises(names), "the values of the act are not in order, each once"],
    [rises(failed), "the unreadable names of the act are not in order, each once"],
    [!failed.some(name => names.includes(name)), "a name of the act has a value and is unreadable"],
    [act.values.every(({ type, value }) => isValueOf(type, value)), "a value of the act is not of its type"],
  ])
}

/** A token ends after it was issued, and its groups are in order, or cannot be read. */
export function endUserContradictions(section: EndUserSection): readonly string[] {
  const endUser = shownEndUser(section)
  if (endUser === undefined) return []
  const { issued_at, expires_at, groups, groups_unreadable } = endUser
  return brokenRules([
    [issued_at <= expires_at, "the end user's token ended before it was issued"],
    [rises(groups ?? []), "the groups of the end user are not in order, each once"],
    [groups === undefined || groups_unreadable === undefined, "the groups of the end user are read and unreadable"],
  ])
}

/** Whether rules that require an approval determined the decision. After a request that ended without one, others may have. */
const requiresApproval = (code: PepgReasonCode, needed: number): boolean =>
  code === "APPROVAL_REQUIRED" || code === "RULE_APPROVED" || (needed > 0 && isEndedReason(code))

/** What persons decided fits together: each once, in time, and to the outcome and the reason that the record gives. */
export function approvalContradictions(
  section: ApprovalsSection,
  { decision_reason_code: code, needed = [] }: PolicyEvaluationSection,
  { admission_clock: decided_at, has_end_user }: { readonly admission_clock: string; readonly has_end_user: boolean },
): readonly string[] {
  const approvals = shownApprovals(section)
  if (approvals === undefined) return []
  const { outcome, decisions, requested_at, expires_at } = approvals
  const times = decisions.map(each => each.decided_at)
  const persons = decisions.map(({ person }) => person.subject)
  const passkeys = decisions.flatMap(({ passkey }) => passkey?.public_key ?? [])
  const rejected = decisions.some(({ decision }) => decision === "reject")
  const ended = outcome === "approved" ? undefined : ENDED_REASONS[outcome]
  const [asked = 0, at = 0] = [requested_at, decided_at].map(clockMillis)
  const areGiven = approvalsHold(needed, decisions, { requested_at: asked, at, has_end_user })
  return brokenRules([
    [requested_at < expires_at, "the request for an approval expired before it was made"],
    [requested_at <= decided_at, "the request for an approval was made after the run"],
    [new Set(persons).size === persons.length, "one person decided twice"],
    [
      times.every((time, at) => time >= (times[at - 1] ?? requested_at) && time < expires_at),
      "a person decided before the request, after its end, or out of order",
    ],
    [(times.at(-1) ?? requested_at) <= decided_at, "a person decided after the run"],
    [decisions.slice(0, -1).every(({ decision }) => decision === "approve"), "a person decided after a rejection"],
    [decisions.every(({ groups }) => rises(groups)), "the groups of an approver are not in order, each once"],
    [
      decisions.every(({ proof, person, key_name }) =>
        proof === "key" ? key_name !== undefined : person.issuer !== undefined && key_name === undefined,
      ),
      "an approval is proven otherwise than its person is named",
    ],
    [
      decisions.every(({ proof, passkey }) => (proof === "passkey") === (passkey !== undefined)),
      "an approval is proven by a passkey that is not there, or has one that it is not proven by",
    ],
    [new Set(passkeys).size === passkeys.length, "two persons have one passkey"],
    [(outcome === "rejected") === rejected, "a rejection and the outcome of the request do not agree"],
    [outcome !== "approved" || decided_at < expires_at, "the request was collected after its end"],
    [
      (outcome !== "expired" && outcome !== "unused") || decided_at >= expires_at,
      "the request expired before its time",
    ],
    [
      !(isEndedReason(code) || code === "APPROVAL_REQUIRED") || code === (ended ?? "APPROVAL_REQUIRED"),
      "the reason is that of another outcome of the request",
    ],
    [PEPG_REASONS[code].decision === "deny" || ended === undefined, "a request that was not approved is permitted"],
    [code !== "RULE_APPROVED" || areGiven, "the rules require approvals that nobody gave"],
    [code !== "APPROVAL_REQUIRED" || !areGiven, "the approvals that the rules require were given"],
  ])
}

type Fired = { readonly fired_rule_id: string; readonly decision_reason_code: PepgReasonCode }

/** A reason belongs to one decision, and to certain rules. */
const reasonRules = (
  { fired_rule_id: fired, decision_reason_code: code }: Fired,
  decision: "allow" | "deny",
): Rule[] => [
  [PEPG_REASONS[code].decision === decision, `the reason ${code} is none for ${decision}`],
  [PEPG_REASONS[code].fires(fired), `${fired} cannot have fired with the reason ${code}`],
]

export function evaluationContradictions(evaluation: PolicyEvaluationSection): readonly string[] {
  const { decision, fired_rule_id: fired, matched_rule_ids: matched, decision_reason_code: code } = evaluation
  const { determined } = PEPG_REASONS[code]
  const { signature_scan: scan, needed = [] } = evaluation
  return brokenRules([
    ...reasonRules(evaluation, decision),
    [rises(matched), "the matched rules are not sorted, or one is there twice"],
    [
      isSameJson([...needed.map(({ rule_id }) => rule_id)], requiresApproval(code, needed.length) ? [...matched] : []),
      "the approvals that are needed are not those of the rules that matched",
    ],
    [rises(scan.disabled), "the disabled signatures are not sorted, or one is there twice"],
    [
      rises(scan.scope.map(part => `${MCD_SCOPES.indexOf(part)}`)),
      "the scope of the scan is out of order, or repeats a part",
    ],
    [
      determined ? matched[0] === fired : matched.length === 0,
      "the rule that fired is not the first of those that matched",
    ],
  ])
}

/** A signature's id names the category of its finding; of a shipped signature the severity is known too. */
export function findingContradictions(finding: McdFinding): readonly string[] {
  const { matched_signature_id: id, category, severity, library_hash } = finding
  const shipped = library_hash === SHIPPED_LIBRARY_HASH
  return brokenRules([
    [categoryOf(id) === category, "the finding's category is not the one its signature names"],
    [!shipped || SHIPPED_SEVERITIES.get(id) === severity, "the library has no such signature, or of another severity"],
  ])
}

/** Whether a review is one that its adapter can give when there is something to review. */
const ANSWERS: Readonly<Record<ReviewAdapter, (review: GovernanceReviewSection) => boolean>> = {
  none: review => isRelease(review, "REVIEW_DISABLED"),
  "builtin-rules": isBuiltinAnswer,
  "openai-compatible": isModelAnswer,
  anthropic: isModelAnswer,
}

const isRelease = (review: GovernanceReviewSection, reason: ReviewReasonCode): boolean =>
  review.decision_kind === "release" &&
  review.decision_reason === reason &&
  review.rule_ids.length === 0 &&
  review.finding_count === 0

/** Of the rules that found something the gravest decides. */
function isBuiltinAnswer(review: GovernanceReviewSection): boolean {
  const found = BUILTIN_DECISIONS.filter(({ id }) => review.rule_ids.includes(id))
  const [gravest] = found
  // In a text of no bytes no rule finds anything.
  if (gravest === undefined || review.ai_output_hash === HASH_OF_NOTHING) return isRelease(review, "NO_FINDINGS")
  const least = found.reduce((sum, rule) => sum + rule.least, 0)
  return (
    found.length === review.rule_ids.length &&
    rises(review.rule_ids) &&
    gravest.decision_kind === review.decision_kind &&
    gravest.decision_reason === review.decision_reason &&
    review.finding_count >= least &&
    review.finding_count <= found.length * MAX_REPORTED_PER_RULE
  )
}

/** A model names no rule, and finds one thing or nothing. */
function isModelAnswer({ decision_kind, decision_reason, rule_ids, finding_count }: GovernanceReviewSection): boolean {
  const released = decision_kind === "release"
  return isVerdict(decision_kind, decision_reason) && rule_ids.length === 0 && finding_count === (released ? 0 : 1)
}

export function reviewContradictions(review: GovernanceReviewSection): readonly string[] {
  const { adapter_id: adapter, ai_output_hash: output, model } = review
  const isPossible = output === undefined ? isRelease(review, "NO_AI_OUTPUT") : ANSWERS[adapter](review)
  return brokenRules([
    [isPossible, `decision, reason, rules and findings are no answer of the reviewer ${adapter} to this`],
    [MODEL_ADAPTERS.includes(adapter) === (model !== undefined), "a reviewer names its model exactly when it asks one"],
  ])
}

/** Whether an adapter can stop a run with this decision and reason. */
function haltsWith(adapter: ReviewAdapter, kind: AivpHaltKind, reason: ReviewReasonCode): boolean {
  if (adapter === "none") return false
  if (MODEL_ADAPTERS.includes(adapter)) return isVerdict(kind, reason)
  return BUILTIN_DECISIONS.some(rule => rule.decision_kind === kind && rule.decision_reason === reason)
}

/** A receipt's own values, in a bundle or as its endpoint serves it. */
export function receiptContradictions(receipt: Receipt): readonly string[] {
  switch (receipt.version) {
    case "vfa.deny_receipt.v1": {
      const matched = receipt.decision_reason_code === MCD_REASON_CODE
      const named = (receipt.mcd_finding_hash ?? "") !== ""
      return brokenRules([
        ...reasonRules(receipt, "deny"),
        [matched === named, "a finding is named exactly when a signature matched"],
      ])
    }
    case "vfa.ccv_halt.v1":
      return brokenRules([[receipt.consumed_at_halt > receipt.budget_limit, "the tokens do not exceed the budget"]])
    case "vfa.macc_halt.v1":
      return brokenRules([
        [receipt.cumulative_at_halt >= receipt.budget_limit, "the window's total is below its cap"],
        [receipt.per_run_consumption <= receipt.cumulative_at_halt, "the run consumed more than its window"],
        [receipt.window_start <= receipt.halt_clock, "the window began after the run"],
      ])
    case "vfa.aivp_t4_halt.v1": {
      const { adapter_id: adapter, decision_kind: kind, decision_reason: reason } = receipt
      return brokenRules([
        [AIVP_HALT_CODES[kind] === receipt.halt_reason_code, "halt_reason_code is not that of the decision"],
        [
          adapter !== "builtin-rules" || receipt.ai_output_hash !== HASH_OF_NOTHING,
          "the built-in rules find nothing in a text of no bytes",
        ],
        [haltsWith(adapter, kind, reason), `the reviewer ${adapter} does not answer ${kind} with ${reason}`],
      ])
    }
    case "vfa.attestation_gap_receipt.v1": {
      const { missing_fields: missing, required_fields: required } = receipt
      // A set, because a forged receipt may name as many fields as a document has room for.
      const known = new Set<string>(required)
      return brokenRules([
        [rises(missing) && rises(required), "the receipt's field lists are not sorted"],
        [missing.length > 0, "no field is missing"],
        [missing.every(name => known.has(name)), "a missing field is not a required one"],
      ])
    }
  }
}
