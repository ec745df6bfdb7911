/** A run in the words, signs and colours of lists and charts, on the server and in islands alike. */
import type { NewsTone } from "@runseal/core/presentation/account"
import type { PepgReasonCode } from "@runseal/core/vocabulary/decision-codes"
import { OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { ReviewReasonCode } from "@runseal/core/vocabulary/review-codes"

/** Short names, for lists and charts. The whole sentence is in `OUTCOMES`. */
export const OUTCOME_NAMES: Readonly<Record<OutcomeKind, string>> = {
  ok: "Passed",
  pepg_deny: "Denied",
  ccv_halt: "Run budget",
  macc_halt: "Window budget",
  aivp_t4_halt: "Review",
  attestation_gap: "Not attested",
  stage_error: "Failed",
}

const TONES = { attestation: "good", refusal: "warn", diagnosis: "bad" } as const satisfies Record<string, NewsTone>

export const toneOf = (kind: OutcomeKind): NewsTone => TONES[OUTCOMES[kind].words.standing]

/** What a list says of a run beside its outcome, which alone would say too much. */
export function marksOf(run: {
  readonly enforcement?: unknown
  readonly closing_outcome?: unknown
}): readonly { readonly text: string; readonly tone: "info" | "bad" }[] {
  return [
    ...(run.enforcement === undefined ? [] : [{ text: "only observed", tone: "info" } as const]),
    ...(run.closing_outcome === "failed" ? [{ text: "act failed", tone: "bad" } as const] : []),
  ]
}

/** The sign before an outcome, so that colour is not the only difference. */
export const SIGNS: Readonly<Record<NewsTone, string>> = { good: "✓", warn: "■", bad: "✗" }

/** How long something took. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds} ms`
  const seconds = milliseconds / 1000
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`
}

/** A name ends a word with one of these; a word without an end is broken after 24 characters. */
const WORD = /.{1,24}?(?:[-/_.:@\s]+|$)|.{24}/gsu

/** The words of a name such as `mcp/filesystem/read_text_file`, each with the sign behind it; together they are the name. */
export const wordsOf = (name: string): readonly string[] => name.match(WORD) ?? []

// Why a run ended as it did: plain words, and the name that records have for it.

/** Reasons with which a gate lets a run pass. */
type Passing = "RULE_ALLOWED" | "REVIEW_DISABLED" | "NO_AI_OUTPUT" | "NO_FINDINGS" | "ACCEPTABLE"
type Budget = "TOKEN_BUDGET_EXCEEDED" | "CUMULATIVE_TOKEN_BUDGET_EXCEEDED"
type Reason = Exclude<PepgReasonCode | ReviewReasonCode, Passing> | Budget | "ATTESTATION_GAP"

const WORDS: Readonly<Record<string, string>> = {
  RULE_DENIED: "a rule of the policy",
  APPROVAL_REQUIRED: "a rule requires an approval",
  DEFAULT_DENY: "no rule allows it",
  RULE_APPROVED: "persons approved",
  APPROVAL_REJECTED: "a person rejected it",
  APPROVAL_EXPIRED: "too few persons approved in time",
  APPROVAL_UNUSED: "approved, and nobody collected the permit",
  APPROVAL_WITHDRAWN: "the request was withdrawn",
  ACT_UNREADABLE: "the payload is not as the act table says",
  END_USER_UNREADABLE: "the token does not say all groups of the end user",
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

/** What decided where no rule and no signature did: their names say no more than the words. */
const NAMELESS: readonly string[] = ["default-deny", "policy-engine"]

export type Why = {
  /** Absent for a reason that this release does not know: its name says it. */
  readonly words: string | undefined
  /** Of the rule, the signature, the missing fields or the tokens; else of the reason. */
  readonly name: string
}

/** What an explanation says of a refusal, as far as a list has it. */
type Explained = {
  readonly reason: string
  readonly rule_id?: string | undefined
  readonly title?: string | undefined
  readonly needed?: unknown
  readonly present?: unknown
  readonly missing?: readonly string[] | undefined
}

/** Why a gate refused a run: its kind in words, and what exactly. */
export function whyOf({ reason, rule_id, title, needed, present, missing = [] }: Explained): Why {
  const named = rule_id === undefined || NAMELESS.includes(rule_id) ? undefined : rule_id
  const tokens =
    typeof needed === "number" && typeof present === "number"
      ? `${present.toLocaleString("en-US")} of ${needed.toLocaleString("en-US")}`
      : undefined
  const fields = missing.length > 0 && !missing.includes("end_user") ? missing.join(", ") : undefined
  return { words: title ?? WORDS[reason], name: named ?? tokens ?? fields ?? reason }
}

/** Who acted: the end user, else the actor that the caller declares. @param who undefined where the list did not read the record */
export const whoseOf = (
  who: { readonly end_user?: string | undefined; readonly actor_id?: string | undefined } | undefined,
): string | undefined => (who === undefined ? "record not read" : (who.end_user ?? who.actor_id))
