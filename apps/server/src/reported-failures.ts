/** Stage failures of a run are reported once the run has its number, which its trace gets too. */

import type { ReportFault, StageFailure } from "@runseal/core/seal/stage-failure"
import { followed } from "./followed-steps.ts"
import type { SealedRun } from "./sealing/batch.ts"

/**
 * Does `work`, and reports the stage failures that it met when it has ended, also when it rejects.
 * @param name of the work, in traces
 * @param runOf the run that was made, if one was: its number is reported with each failure
 */
export function reportingFailures<Made>(
  name: "execute" | "open permit" | "close permit",
  report: ReportFault,
  request_id: string | undefined,
  work: (reportFault: ReportFault) => Promise<Made>,
  runOf: (made: Made) => SealedRun | undefined,
): Promise<Made> {
  return followed({ name }, async note => {
    // A failure that several rounds of a batch meet is one.
    const failures = new Set<StageFailure>()
    let run: SealedRun["bundle"]["run"] | undefined
    try {
      const made = await work(failure => void failures.add(failure))
      run = runOf(made)?.bundle.run
      if (run !== undefined) note({ run_id: run.run_id, outcome: run.outcome_kind })
      return made
    } finally {
      for (const failure of failures) report(failure, { run_id: run?.run_id, request_id })
    }
  })
}
