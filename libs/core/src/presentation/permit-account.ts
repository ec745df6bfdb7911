/** The sentences on a permit, the same in every program and report that tells of one. */
import { decisionText, type GivenApprovals } from "../artifacts/approvals.ts"
import type { ActFailureCode } from "../artifacts/permit-sections.ts"
import type { EndFacts, PermitFacts, RecordFacts } from "../verify/record-facts.ts"
import { type Report, VERDICTS } from "../verify/report.ts"
import { isRefused, type OutcomeKind } from "../vocabulary/outcomes.ts"

const FAILURES: Readonly<Record<ActFailureCode, string>> = {
  NOT_EXECUTED: "nothing was executed",
  EXECUTOR_REFUSED: "the executor refused to act",
  EXECUTOR_FAILED: "the executor failed while it acted",
  TIMED_OUT: "no result came in time",
}

/** Why an act failed, as the caller reports it: "TIMED_OUT, no result came in time". */
export const failureText = (code: ActFailureCode): string => `${code}, ${FAILURES[code]}`

/** What a document states of its permit, one sentence a line; none for a document of no permit. @param isInLog as for `decisionText` */
export const permitTexts = ({ permit, ended, approvals }: RecordFacts, isInLog: boolean): readonly string[] => [
  ...(approvals === undefined ? [] : approvalTexts(approvals, isInLog)),
  ...(permit === undefined ? [] : usedTexts(permit)),
  ...(ended === undefined ? [] : [endText(ended)]),
]

/** What a refusal at a close means for the act, which was permitted before it; undefined for every other record. */
export const refusedCloseText = (outcome: OutcomeKind | undefined, { permit }: RecordFacts): string | undefined =>
  outcome !== undefined && isRefused(outcome) && permit !== undefined
    ? "The act had been permitted before and may have been done: what was refused is its result."
    : undefined

/** The same of a verified document; none for one that failed, whose words nobody may rely on. */
export function permitLines({
  verdict,
  outcome_kind,
  facts,
}: Pick<Report, "verdict" | "outcome_kind" | "facts">): readonly string[] {
  if (verdict === VERDICTS.failed || (facts?.permit ?? facts?.approvals) === undefined || facts === undefined) return []
  const refused = refusedCloseText(outcome_kind, facts)
  return [...permitTexts(facts, verdict !== VERDICTS.unanchored), ...(refused === undefined ? [] : [refused])]
}

/** How the request for an approval ended, and a sentence for each person that decided: who, when, and how that is proven. */
const approvalTexts = (
  { approval_id, requested_at, outcome, decisions }: GivenApprovals,
  isInLog: boolean,
): readonly string[] => [
  `Approval ${approval_id}, asked for at ${requested_at}: ${outcome}.`,
  ...decisions.map(decision => {
    const text = decisionText(decision, isInLog)
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  }),
]

function usedTexts({
  permitted_at,
  log_index,
  audience,
  expires_at,
  close_by,
  ...use
}: PermitFacts): readonly string[] {
  const { outcome, code, redeemed_at, closed_at, reserved_tokens, used_tokens } = use
  const reserved = `${reserved_tokens} tokens reserved`
  return [
    `Permitted at ${permitted_at} (log entry ${log_index}).`,
    ...(audience === undefined
      ? []
      : [`Who is to act: ${audience}, until ${expires_at}; to be closed by ${close_by}.`]),
    ...(redeemed_at === undefined ? [] : [`The permit was redeemed at ${redeemed_at}.`]),
    ...(closed_at === undefined
      ? []
      : [
          code === undefined || outcome !== "failed"
            ? `The act was reported as completed; closed at ${closed_at}.`
            : `The act was reported as failed (${failureText(code)}); closed at ${closed_at}.`,
        ]),
    used_tokens === undefined ? `${reserved}.` : `${reserved}, ${used_tokens} used.`,
  ]
}

/** How permits ended, for a first line. */
export function endText({ reason, permits, released_tokens, redeemed, charged_tokens }: EndFacts): string {
  const what = permits === 1 ? "1 permit ended without a close" : `${permits} permits ended without a close`
  const why = reason === "expired" ? "nobody closed in time" : "the API key was revoked"
  const who = redeemed === 1 ? "1 was redeemed: its act was" : `${redeemed} were redeemed: their acts were`
  const charged = redeemed === 0 ? "" : ` ${who} started and never reported; ${charged_tokens} tokens stay charged.`
  return `${what}: ${why}. ${released_tokens} tokens released.${charged}`
}
