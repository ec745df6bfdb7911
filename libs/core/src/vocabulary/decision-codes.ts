/**
 * What the policy gate and its signature scan may answer. Codes are closed; ids of rules are the operator's and have a shape. The
 * service is held to this table when it loads a policy or a library, and the verifier holds every record to it.
 */
import * as v from "valibot"
import { lineSchema, type Shape } from "./scalars.ts"

/** Every `decision_reason_code` that a policy can give. */
export const POLICY_REASON_CODES = [
  "RULE_ALLOWED",
  "RULE_DENIED",
  "RULE_APPROVED",
  "APPROVAL_REQUIRED",
  "APPROVAL_REJECTED",
  "APPROVAL_EXPIRED",
  "APPROVAL_UNUSED",
  "APPROVAL_WITHDRAWN",
  "DEFAULT_DENY",
  "ACT_UNREADABLE",
  "END_USER_UNREADABLE",
  "POLICY_EVALUATION_ERROR",
] as const
export type PolicyReasonCode = (typeof POLICY_REASON_CODES)[number]
/** Reason code of a deny by Malicious Code Defense (docs/formats.md section 3.1). */
export const MCD_REASON_CODE = "MCD_SIGNATURE_MATCH"
export type PepgReasonCode = PolicyReasonCode | typeof MCD_REASON_CODE
export const PEPG_REASON_CODES: readonly PepgReasonCode[] = [...POLICY_REASON_CODES, MCD_REASON_CODE]

/** `fired_rule_id` of a run that no allow rule admits. */
export const DEFAULT_DENY_RULE_ID = "default-deny"
/** `fired_rule_id` when the engine failed as a whole, so that no single rule can be named. */
export const ENGINE_RULE_ID = "policy-engine"
/** Rules in one policy; evaluation time grows with them. */
export const MAX_RULES = 256

const RULE_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/
const SIGNATURE_ID = /^MCD-(PI|DA|SC|FE)-\d{3}$/

/** Whether an operator may give a rule this id. Signature ids are uppercase, so that a `fired_rule_id` names one or the other. */
const isRuleId = (id: string): boolean => RULE_ID.test(id) && id !== DEFAULT_DENY_RULE_ID && id !== ENGINE_RULE_ID
const isSignatureId = (id: string): boolean => SIGNATURE_ID.test(id)

/** Id of an operator's rule. */
export const ruleIdSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(
    isRuleId,
    "must be lowercase letters, digits, dots, underscores and hyphens, at most 64 and no reserved rule id",
  ),
  v.metadata({ pattern: RULE_ID.source }),
)
export const signatureIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(SIGNATURE_ID))
/** What decided: a rule, the default, the engine or a signature. */
export const firedRuleIdSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(id => RULE_ID.test(id) || isSignatureId(id), "must be the id of a rule or of a signature"),
  v.metadata({ pattern: `${RULE_ID.source}|${SIGNATURE_ID.source}` }),
)
export const pepgReasonSchema: v.GenericSchema<unknown, PepgReasonCode> = v.picklist(PEPG_REASON_CODES)

/** Longest name of a group of approvers, in UTF-16 units, and most groups of one rule. */
const APPROVER_GROUP_MAX_LENGTH = 512
export const APPROVER_GROUPS_MAX = 16
/** Most persons that one rule may ask for. */
export const APPROVERS_MAX = 8
/** A group of approvers, as the identity provider names it. */
export const approverGroupSchema = lineSchema(APPROVER_GROUP_MAX_LENGTH)

/** How an approval may have to be proven: by any means, by a sign-in at the identity provider, or by a passkey besides. */
const APPROVAL_PROOFS = ["any", "idp", "passkey"] as const

/** Bounds of the time in which an act may be approved, in seconds. */
const APPROVAL_SECONDS_MIN = 60
const APPROVAL_SECONDS_MAX = 604_800

/** Whose approval a rule requires: so many persons, each of any of these groups. */
export const approvalEntries = {
  by: v.pipe(
    v.array(approverGroupSchema),
    v.minLength(1, "must name a group"),
    v.maxLength(APPROVER_GROUPS_MAX, `must name at most ${APPROVER_GROUPS_MAX} groups`),
  ),
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(APPROVERS_MAX)),
  /** For how long it may be approved, from when it is asked for. */
  within_seconds: v.pipe(v.number(), v.integer(), v.minValue(APPROVAL_SECONDS_MIN), v.maxValue(APPROVAL_SECONDS_MAX)),
  /** `any` when absent. */
  proof: v.exactOptional(v.picklist(APPROVAL_PROOFS)),
  /** Whether there has to be an end user, whom no approver may be; `required` when absent. */
  end_user: v.exactOptional(v.picklist(["required", "optional"])),
}
const approvalShape = v.strictObject(approvalEntries)
export type RuleApproval = Shape<typeof approvalShape>

/** How an operator names a policy: one line of text each. */
export const policyIdSchema: v.GenericSchema<string> = lineSchema(64)
export const policyNameSchema: v.GenericSchema<string> = lineSchema(200)
export const profileTagSchema: v.GenericSchema<string> = lineSchema(64)

/** What a decision is like that gives a reason. */
type ReasonRow = {
  readonly decision: "allow" | "deny"
  /** What can have fired. */
  readonly fires: (id: string) => boolean
  /** Whether rules determined it: then the first of them fired, else none is listed. */
  readonly determined: boolean
}

export const PEPG_REASONS: Readonly<Record<PepgReasonCode, ReasonRow>> = {
  RULE_ALLOWED: { decision: "allow", fires: isRuleId, determined: true },
  RULE_DENIED: { decision: "deny", fires: isRuleId, determined: true },
  RULE_APPROVED: { decision: "allow", fires: isRuleId, determined: true },
  APPROVAL_REQUIRED: { decision: "deny", fires: isRuleId, determined: true },
  APPROVAL_REJECTED: { decision: "deny", fires: isRuleId, determined: true },
  APPROVAL_EXPIRED: { decision: "deny", fires: isRuleId, determined: true },
  APPROVAL_UNUSED: { decision: "deny", fires: isRuleId, determined: true },
  APPROVAL_WITHDRAWN: { decision: "deny", fires: isRuleId, determined: true },
  DEFAULT_DENY: { decision: "deny", fires: id => id === DEFAULT_DENY_RULE_ID, determined: false },
  ACT_UNREADABLE: { decision: "deny", fires: id => id === ENGINE_RULE_ID, determined: false },
  END_USER_UNREADABLE: { decision: "deny", fires: id => id === ENGINE_RULE_ID, determined: false },
  POLICY_EVALUATION_ERROR: { decision: "deny", fires: id => isRuleId(id) || id === ENGINE_RULE_ID, determined: false },
  MCD_SIGNATURE_MATCH: { decision: "deny", fires: isSignatureId, determined: false },
}

/** Whose word a value is that a rule reads, by the member of the context that it is in. docs/policy-and-review.md, "What a rule reads". */
export const CONTEXT_WORDS = ["act", "bound", "verified", "declared"] as const
export type ContextWord = (typeof CONTEXT_WORDS)[number]
/** The same, as the end of a sentence on the value. */
export const CONTEXT_WORD_TEXTS: Readonly<Record<ContextWord, string>> = {
  act: "read by the service from the payload",
  bound: "bound by the run or permit",
  verified: "established by the service",
  declared: "declared by the caller",
}

export const MCD_CATEGORIES = ["prompt_injection", "dangerous_api", "supply_chain", "filesystem_escape"] as const
export type McdCategory = (typeof MCD_CATEGORIES)[number]
export const MCD_SEVERITIES = ["low", "medium", "high", "critical"] as const
export type McdSeverity = (typeof MCD_SEVERITIES)[number]

/** The letters after `MCD-` in the id of a signature. */
const CATEGORY_OF_LETTERS: Readonly<Record<string, McdCategory>> = {
  PI: "prompt_injection",
  DA: "dangerous_api",
  SC: "supply_chain",
  FE: "filesystem_escape",
}

/** The category that a signature's id names; undefined for what is no such id. */
export function categoryOf(signatureId: string): McdCategory | undefined {
  const [, letters = ""] = SIGNATURE_ID.exec(signatureId) ?? []
  return Object.hasOwn(CATEGORY_OF_LETTERS, letters) ? CATEGORY_OF_LETTERS[letters] : undefined
}

/** What the signature scan searches; `declared` is the route and the six declared sections. */
export const MCD_SCOPES = ["payload", "ai_output", "declared"] as const
export type McdScope = (typeof MCD_SCOPES)[number]
/** Whether a match denies the run, or is recorded only. */
export const MCD_MODES = ["enforce", "observe"] as const
export type McdMode = (typeof MCD_MODES)[number]
/** Signatures in one library. */
export const MAX_SIGNATURES = 1024

/** How the operator set the signature scan. The policy's hash covers it. */
export type SignatureScan = {
  readonly mode: McdMode
  /** In the order of `MCD_SCOPES`, at least one. */
  readonly scope: readonly McdScope[]
  /** Signatures that are not searched for, sorted. */
  readonly disabled: readonly string[]
}
export const DEFAULT_SIGNATURE_SCAN: SignatureScan = { mode: "enforce", scope: MCD_SCOPES, disabled: [] }

export const signatureScanSchema = v.strictObject({
  mode: v.picklist(MCD_MODES),
  scope: v.pipe(v.array(v.picklist(MCD_SCOPES)), v.minLength(1), v.maxLength(MCD_SCOPES.length)),
  disabled: v.pipe(v.array(signatureIdSchema), v.maxLength(MAX_SIGNATURES)),
})

/** Where a text is that matched: the payload, the AI output, the route, or the pointer of a declared text or key. */
const MATCHED_IN =
  /^(?:payload|ai_output|\/route_id|\/(?:attested_context|request_substance|authorization_chain|regulatory_scaffolding|causal_graph|reproducibility_context|closing)(?:\/(?:[\w.-]{1,64}|#\d{1,7})){1,64})$/
export const matchedInSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(MATCHED_IN))

/** The part of the scan's scope that a place belongs to. */
export const scopeOf = (matchedIn: string): McdScope =>
  matchedIn === "payload" || matchedIn === "ai_output" ? matchedIn : "declared"

/** The fields `attested_context` accepts, and so those that a policy can require. docs/api.md, "POST /execute". */
export const ATTESTED_FIELDS = [
  "attested",
  "actor_id",
  "actor_role",
  "authorization_policy",
  "actor_signature",
  "model_provider",
  "model_name",
  "model_version",
  "model_temperature",
  "prompt_hash",
  "decision_kind",
  "decision_result",
  "decision_note",
] as const
export type AttestedField = (typeof ATTESTED_FIELDS)[number]
