/** Stage failures of a run are reported once the run has its number. */
import type { ReportFault, StageFailure } from "./run/pipeline/stage-failure.ts"
import type { SealedRun } from "./sealing/seal-batch.ts"

/**
 * Does `work`, and reports the stage failures that it met when it has ended, also when it rejects.
 * @param runOf the run that was made, if one was: its number is reported with each failure
 */
export async function reportingFailures<Made>(
  report: ReportFault,
  request_id: string | undefined,
  work: (reportFault: ReportFault) => Promise<Made>,
  runOf: (made: Made) => SealedRun | undefined,
): Promise<Made> {
  // A failure that several rounds of a batch meet is one.
  const failures = new Set<StageFailure>()
  let run: SealedRun | undefined
  try {
    const made = await work(failure => void failures.add(failure))
    run = runOf(made)
    return made
  } finally {
    for (const failure of failures) report(failure, { run_id: run?.bundle.run.run_id, request_id })
  }
}
