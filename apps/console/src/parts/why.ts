/** Why a run ended as it did, as a list says it, on the server and in islands alike: plain words, and the name that records have for it. */
import type { PepgReasonCode } from "@runseal/core/vocabulary/decision-codes"
import type { ReviewReasonCode } from "@runseal/core/vocabulary/review-codes"

/** Reasons with which a gate lets a run pass. */
type Passing = "RULE_ALLOWED" | "REVIEW_DISABLED" | "NO_AI_OUTPUT" | "NO_FINDINGS" | "ACCEPTABLE"
type Budget = "TOKEN_BUDGET_EXCEEDED" | "CUMULATIVE_TOKEN_BUDGET_EXCEEDED"
type Reason = Exclude<PepgReasonCode | ReviewReasonCode, Passing> | Budget | "ATTESTATION_GAP"

const WORDS: Readonly<Record<string, string>> = {
  RULE_DENIED: "a rule of the policy",
  DEFAULT_DENY: "no rule allows it",
  ACT_UNREADABLE: "the payload is not as the act table says",
  POLICY_EVALUATION_ERROR: "the policy could not be evaluated",
  MCD_SIGNATURE_MATCH: "a signature of malicious code",
  ATTESTATION_GAP: "required fields are missing",
  TOKEN_BUDGET_EXCEEDED: "too many tokens in one run",
  CUMULATIVE_TOKEN_BUDGET_EXCEEDED: "too many tokens in the window",
  PRIVATE_KEY_EXPOSED: "a private key in the AI output",
  SECRET_EXPOSED: "a secret in the AI output",
  POSSIBLE_SECRET: "perhaps a secret in the AI output",
  PERSONAL_DATA: "personal data in the AI output",
  POSSIBLE_PERSONAL_DATA: "perhaps personal data in the AI output",
  HARMFUL_CONTENT: "harmful content in the AI output",
  UNAUTHORIZED_ACTION: "an action in the AI output that nobody authorized",
  INSTRUCTION_INJECTION: "injected instructions in the AI output",
  DECEPTIVE_CONTENT: "deceptive content in the AI output",
  UNCERTAIN: "the reviewer could not decide",
} satisfies Record<Reason, string>

/** Reasons of a rule or signature, whose name says more. */
const BY_NAME: readonly string[] = ["RULE_DENIED", "MCD_SIGNATURE_MATCH"] satisfies readonly Reason[]

export type Why = {
  /** Absent for a reason that this release does not know: its name says it. */
  readonly words: string | undefined
  /** Of the rule, the signature, the reason or the stage. */
  readonly name: string
}

/** @param rule_id of the rule or signature that decided, where the policy gate did */
export const whyOf = (reason: string, rule_id: string | undefined): Why => ({
  words: WORDS[reason],
  name: (BY_NAME.includes(reason) ? rule_id : undefined) ?? reason,
})
