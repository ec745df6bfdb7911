/** From a report and the user's flags to the verdict line and the exit code. */
import type { CheckId, Limitation, Report, Verdict } from "@runseal/core/verify/report"
import { exitCode, VERDICTS } from "@runseal/core/verify/report"

export type JudgeFlags = {
  /** A document without log entry is good enough. Never rescues a FAILED. */
  readonly allowUnanchored: boolean
  /** What the record itself discloses as weak is not good enough. */
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

/** The verdict as this user asked for it. */
export function judge(report: Report, flags: JudgeFlags): Judgement {
  const refused = flags.strict ? report.limitations.filter(limitation => limitation.strict) : []
  const { verdict, first_failure } = report
  if (verdict !== VERDICTS.failed && refused.length > 0)
    return { verdict: VERDICTS.failed, exit: 1, first_failure: "strict", refused }
  const exit = exitCode(verdict, flags.allowUnanchored)
  return { verdict, exit, refused, ...(first_failure === undefined ? {} : { first_failure }) }
}
