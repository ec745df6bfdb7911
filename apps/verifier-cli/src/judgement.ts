/** The verdict line and the exit code, from a report and the user's flags. */
import type { Explanation } from "@runseal/core/artifacts/explanation"
import type { CheckId, Limitation, LimitationCode, Report, Verdict } from "@runseal/core/verify/report"
import { exitCode, VERDICTS } from "@runseal/core/verify/report"
import type { RunAccount } from "@runseal/core/verify/run-account"

/** Checks of what the user expects of a record, and of what lies beside it in a ZIP. */
export const EXPECTATION_IDS = [
  "expected_outcome",
  "expected_payload",
  "expected_ai_output",
  "expected_program",
  "expected_route",
  "expected_tenant",
  "expected_policy_hash",
  "expected_not_before",
  "expected_max_age",
  "expected_opening",
  "decided_again",
  "proven_by_passkeys",
  "report_in_zip",
] as const
export type ExpectationId = (typeof EXPECTATION_IDS)[number]
/** What became of deciding a document again: from the payload, on facts of the service, not, by a policy of which no file was given, or no decision to make. */
export const DECIDED_WORDS = ["payload", "facts", "not", "other_policy", "none"] as const
export const DECIDED_TEXTS: Readonly<Record<(typeof DECIDED_WORDS)[number], string>> = {
  payload: "DECIDED AGAIN FROM THE PAYLOAD",
  facts: "DECIDED AGAIN ON FACTS THAT THE SERVICE STATED",
  not: "NOT DECIDED AGAIN",
  other_policy: "decided by a policy of which no file was given",
  none: "without a decision of a policy",
}
/** Of every decision that was made again: the search for signatures is not repeated. */
export const SCAN_STATED = "the signature scan is the service's word"
export type DecidedWord = (typeof DECIDED_WORDS)[number]
/** Whether passkeys that the reader knows prove the approvals of a document: yes, no, or it rests on none. */
export const PROVEN_WORDS = ["proven", "not", "none"] as const
export type ProvenWord = (typeof PROVEN_WORDS)[number]
export const PROVEN_TEXTS: Readonly<Record<ProvenWord, string>> = {
  proven: "PROVEN BY PASSKEYS",
  not: "NOT PROVEN BY PASSKEYS",
  none: "without an act that is allowed because persons approved it",
}
export type Expected = {
  readonly id: ExpectationId
  readonly result: "pass" | "fail"
  readonly message: string
  /** Of `decided_again` only. */
  readonly decided?: DecidedWord
  /** Of `proven_by_passkeys` only. */
  readonly proven?: ProvenWord
  /** Of `decided_again` only: what the policy adds to why the run was refused. */
  readonly explained?: Pick<Explanation, "description" | "read">
  /** Of `decided_again` only: the run in one line each, with what its rule read. */
  readonly account?: RunAccount
}
/** Compares a report, and the document it is about, with one expectation. */
export type Expectation = (report: Report, document: Uint8Array) => Expected

export type JudgeFlags = {
  /** Exit 0 for a document without log entry; never for one that FAILED. */
  readonly allowUnanchored: boolean
  /** FAILED for a record that discloses a strict limitation. */
  readonly strict: boolean
  /** FAILED for a record that discloses one of these. */
  readonly refused?: ReadonlySet<LimitationCode>
  /** FAILED for a record that is not as expected. */
  readonly expectations?: readonly Expectation[]
}

export type Judgement = {
  readonly verdict: Verdict
  readonly exit: 0 | 1
  /** The first check that failed: of the record, of the expectations, or `strict` when a disclosed limitation was refused. */
  readonly first_failure?: CheckId | ExpectationId | "strict"
  /** The limitations that `--strict` refuses; empty without it. */
  readonly refused: readonly Limitation[]
  /** Empty for a record that FAILED by itself, whose facts are claims. */
  readonly expected: readonly Expected[]
  /** Why a gate refused the run, with what its policy adds where that decided again; absent for a record that FAILED by itself. */
  readonly explanation?: Explanation
  /** The run in one line each, with what the rule read where its policy decided again; absent as the explanation is. */
  readonly account?: RunAccount
}

/** The limitations that the flags refuse. */
export const refusedLimitations = (
  limitations: readonly Limitation[],
  { strict, refused }: Pick<JudgeFlags, "strict" | "refused">,
): readonly Limitation[] =>
  limitations.filter(limitation => (strict && limitation.strict) || refused?.has(limitation.code) === true)

/** The verdict under the user's flags. @param document the bytes that the report is about */
export function judge(report: Report, document: Uint8Array, flags: JudgeFlags): Judgement {
  const refused = refusedLimitations(report.limitations, flags)
  const { verdict, first_failure } = report
  if (verdict === VERDICTS.failed)
    return { verdict, exit: 1, refused, expected: [], ...(first_failure === undefined ? {} : { first_failure }) }
  const expected = (flags.expectations ?? []).map(expectation => expectation(report, document))
  const added = expected.find(({ explained }) => explained !== undefined)?.explained
  const account = expected.find(one => one.account !== undefined)?.account ?? report.account
  const explained = {
    ...(report.explanation && { explanation: { ...report.explanation, ...added } }),
    ...(account && { account }),
  }
  const unmet = expected.find(({ result }) => result === "fail")
  if (unmet !== undefined || refused.length > 0)
    return { verdict: VERDICTS.failed, exit: 1, first_failure: unmet?.id ?? "strict", refused, expected, ...explained }
  return { verdict, exit: exitCode(verdict, flags.allowUnanchored), refused, expected, ...explained }
}
