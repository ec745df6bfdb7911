/**
 * What the governance review may answer: adapters, reasons, and the rules of the built-in reviewer with what each decides. The
 * reviewers of the service answer with this table, and the verifier holds every record to it.
 */
import * as v from "valibot"

export const REVIEW_DECISIONS = ["release", "deny", "halt", "defer"] as const
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number]
export const AIVP_HALT_KINDS = ["deny", "halt", "defer"] as const
export type AivpHaltKind = (typeof AIVP_HALT_KINDS)[number]
/** `halt_reason_code` of a halt, by what was decided. */
export const AIVP_HALT_CODES = { deny: "AIVP_T4_DENY", halt: "AIVP_T4_HALT", defer: "AIVP_T4_DEFER" } as const

export const REVIEW_ADAPTERS = ["none", "builtin-rules", "openai-compatible", "anthropic"] as const
export type ReviewAdapter = (typeof REVIEW_ADAPTERS)[number]
/** Adapters that ask a model, whose name the record has. */
export const MODEL_ADAPTERS: readonly ReviewAdapter[] = ["openai-compatible", "anthropic"]

/** The reasons a model may choose from; `ACCEPTABLE` goes with a release and with nothing else. */
export const VERDICT_REASONS = [
  "ACCEPTABLE",
  "SECRET_EXPOSED",
  "PERSONAL_DATA",
  "HARMFUL_CONTENT",
  "UNAUTHORIZED_ACTION",
  "INSTRUCTION_INJECTION",
  "DECEPTIVE_CONTENT",
  "UNCERTAIN",
] as const
type VerdictReason = (typeof VERDICT_REASONS)[number]

/** Whether a model's decision and reason go together. */
export const isVerdict = (decision: ReviewDecision, reason: string): boolean =>
  VERDICT_REASONS.some(known => known === reason) &&
  (decision === "release") === (reason === "ACCEPTABLE") &&
  (reason !== "UNCERTAIN" || decision === "defer")

/** Every `decision_reason` a review can carry, whichever adapter made it. */
export type ReviewReasonCode = VerdictReason | (typeof OTHER_REASONS)[number]
const OTHER_REASONS = [
  "REVIEW_DISABLED",
  "NO_AI_OUTPUT",
  "NO_FINDINGS",
  "PRIVATE_KEY_EXPOSED",
  "POSSIBLE_SECRET",
  "POSSIBLE_PERSONAL_DATA",
] as const
export const REVIEW_REASON_CODES: readonly ReviewReasonCode[] = [...OTHER_REASONS, ...VERDICT_REASONS]

/** Findings counted per rule; more change no decision. */
export const MAX_FINDINGS_PER_RULE = 1000
/** Most findings one rule reports: one of them counts two kinds of place. */
export const MAX_REPORTED_PER_RULE: number = 2 * MAX_FINDINGS_PER_RULE

/** A text with this many e-mail addresses and as many telephone numbers is a list of contacts. */
export const CONTACT_LIST_SIZE = 5
/** A text with this many e-mail addresses alone may be one. */
export const MAILING_LIST_SIZE = 10

/** What a rule of the built-in reviewer decides when it finds something. */
export type BuiltinDecision = {
  readonly id: string
  readonly decision_kind: AivpHaltKind
  readonly decision_reason: ReviewReasonCode
  /** Fewest findings with which it reports any. */
  readonly least: number
}

type Consequence = Pick<BuiltinDecision, "decision_kind" | "decision_reason">
const SECRET: Consequence = { decision_kind: "halt", decision_reason: "SECRET_EXPOSED" }
const PERSONAL: Consequence = { decision_kind: "deny", decision_reason: "PERSONAL_DATA" }
const POSSIBLE_SECRET: Consequence = { decision_kind: "defer", decision_reason: "POSSIBLE_SECRET" }
const POSSIBLY_PERSONAL: Consequence = { decision_kind: "defer", decision_reason: "POSSIBLE_PERSONAL_DATA" }

/** Rules of Secretlint's recommended preset that are applied, without their prefix. */
const SECRETLINT_RULES =
  "aws gcp privatekey npm basicauth slack sendgrid shopify stripe github gitlab grafana openai anthropic groq huggingface linear notion 1password database-connection-string hashicorp-vault vercel databricks docker figma cloudflare tailscale"

const rule = (id: string, consequence: Consequence, least = 1): BuiltinDecision => ({ id, ...consequence, least })

/**
 * The built-in rules, gravest first: the first that finds something decides. A secret halts: it must be revoked, even if
 * nobody has read the run. Personal data denies. What may be either is deferred to a human.
 */
export const BUILTIN_DECISIONS: readonly BuiltinDecision[] = [
  rule("private-key", { decision_kind: "halt", decision_reason: "PRIVATE_KEY_EXPOSED" }),
  ...SECRETLINT_RULES.split(" ").map(name => rule(`secretlint-rule-${name}`, SECRET)),
  rule("api-key", SECRET),
  rule("payment-card", PERSONAL),
  rule("iban", PERSONAL),
  rule("us-ssn", PERSONAL),
  rule("passport", PERSONAL),
  rule("contact-list", PERSONAL, CONTACT_LIST_SIZE),
  rule("token", POSSIBLE_SECRET),
  rule("credential-assignment", POSSIBLE_SECRET),
  rule("payment-card-bare", POSSIBLY_PERSONAL),
  rule("mailing-list", POSSIBLY_PERSONAL, MAILING_LIST_SIZE),
]
const BUILTIN_RULE_IDS: readonly string[] = BUILTIN_DECISIONS.map(({ id }) => id)

export const reviewAdapterSchema: v.GenericSchema<unknown, ReviewAdapter> = v.picklist(REVIEW_ADAPTERS)
export const reviewReasonSchema: v.GenericSchema<unknown, ReviewReasonCode> = v.picklist(REVIEW_REASON_CODES)
export const reviewRuleIdsSchema: v.GenericSchema<unknown, string[]> = v.pipe(
  v.array(v.picklist(BUILTIN_RULE_IDS)),
  v.maxLength(BUILTIN_RULE_IDS.length),
)
