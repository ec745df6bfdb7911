/** Stage failures of a run are reported once the run has its number, which its trace gets too. */

import type { Draft } from "@runseal/core/seal/draft"
import type { StageFailure } from "@runseal/core/seal/stage-failure"
import { followed } from "./followed-steps.ts"
import type { SealedRun } from "./sealing/batch.ts"
import type { ReportFault } from "./telemetry.ts"

/** Notes why a stage of a run failed, if one did. */
export type NoteFailure = (draft: Draft) => void

/**
 * Does `work`, and reports the stage failure of the run that was sealed, and of those that it noted, when it has ended, also when it rejects.
 * @param name of the work, in traces
 * @param runOf the run that was made, if one was: its number is reported with each failure
 */
export function reportingFailures<Made>(
  name: "execute" | "open permit" | "close permit",
  report: ReportFault,
  request_id: string | undefined,
  work: (noteFailure: NoteFailure) => Promise<Made>,
  runOf: (made: Made) => SealedRun | undefined,
): Promise<Made> {
  return followed({ name }, async note => {
    const failures = new Set<StageFailure>()
    const noteFailure: NoteFailure = ({ failure }) => void (failure && failures.add(failure))
    let run: SealedRun["bundle"]["run"] | undefined
    try {
      const made = await work(noteFailure)
      const sealed = runOf(made)
      if (sealed !== undefined) noteFailure(sealed.draft)
      run = sealed?.bundle.run
      if (run !== undefined) note({ run_id: run.run_id, outcome: run.outcome_kind })
      return made
    } finally {
      for (const failure of failures) report(failure, { run_id: run?.run_id, request_id })
    }
  })
}
