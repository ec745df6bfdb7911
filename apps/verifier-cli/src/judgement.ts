/** The verdict line and the exit code, from a report and the user's flags. */
import type { CheckId, Limitation, Report, Verdict } from "@runseal/core/verify/report"
import { exitCode, VERDICTS } from "@runseal/core/verify/report"

export type JudgeFlags = {
  /** Exit 0 for a document without log entry; never for one that FAILED. */
  readonly allowUnanchored: boolean
  /** FAILED for a record that discloses a strict limitation. */
  readonly strict: boolean
}

export type Judgement = {
  readonly verdict: Verdict
  readonly exit: 0 | 1
  /** The first check that failed, or `strict` when all passed and a disclosed limitation was refused. */
  readonly first_failure?: CheckId | "strict"
  /** The limitations that `--strict` refuses; empty without it. */
  readonly refused: readonly Limitation[]
}

/** The verdict under the user's flags. */
export function judge(report: Report, flags: JudgeFlags): Judgement {
  const refused = flags.strict ? report.limitations.filter(limitation => limitation.strict) : []
  const { verdict, first_failure } = report
  if (verdict !== VERDICTS.failed && refused.length > 0)
    return { verdict: VERDICTS.failed, exit: 1, first_failure: "strict", refused }
  const exit = exitCode(verdict, flags.allowUnanchored)
  return { verdict, exit, refused, ...(first_failure === undefined ? {} : { first_failure }) }
}
