/** A stage that failed. The run becomes a stage_error; the cause goes to the log, never into the record. */
import type { Stage } from "@runseal/core/vocabulary/outcomes"
import { stageFailed } from "@runseal/core/vocabulary/stage-faults"
import type { StageFault } from "./draft.ts"

export class StageFailure extends Error {
  override readonly name = "StageFailure"
  readonly fault: StageFault

  /** @param fault stage and one closed sentence: it is sealed and shown, so it never quotes input or a reviewer. */
  constructor(fault: StageFault, cause?: unknown) {
    super(fault.message, { cause })
    this.fault = fault
  }
}

/** What a stage failed for. `run_id` is of the run that became a stage_error, and absent where it has no record. */
export type FailedFor = { readonly run_id?: number | undefined; readonly request_id?: string | undefined }

/** Logs a stage failure. */
export type ReportFault = (failure: StageFailure, failedFor?: FailedFor) => void

/** Runs a stage; whatever it throws becomes the failure of that stage. */
export function inStage<T>(stage: Stage, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof StageFailure) throw cause
    throw new StageFailure({ stage, message: stageFailed(stage) }, cause)
  }
}
