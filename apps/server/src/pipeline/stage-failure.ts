/** A stage that failed. The run becomes a stage_error; the cause goes to the log, never into the record. */
import type { WrittenTexts } from "@runseal/canonical"
import type { Stage } from "@runseal/core/vocabulary/outcomes"
import { stageFailed } from "@runseal/core/vocabulary/stage-faults"
import { followed } from "../followed-steps.ts"
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

/**
 * Runs a stage; whatever it throws becomes the failure of that stage.
 * @param run the texts of the run whose stage it is; absent for other work of the batch that fails as this stage
 */
export function inStage<T>(stage: Stage, work: () => T, run?: WrittenTexts): T {
  try {
    return run === undefined ? work() : followed({ name: stage, run }, work)
  } catch (cause) {
    if (cause instanceof StageFailure) throw cause
    throw new StageFailure({ stage, message: stageFailed(stage) }, cause)
  }
}

/** How a step ended that was taken before its place in the order. */
export type Outcome<T> = { readonly value: T } | { readonly failure: StageFailure }

/** Takes a step. Only the failure of a stage is an outcome; whatever else it throws rejects. */
export async function outcomeOf<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() }
  } catch (failure) {
    if (!(failure instanceof StageFailure)) throw failure
    return { failure }
  }
}

/** The value of a step, at its place. @throws StageFailure where it failed */
export function met<T>(outcome: Outcome<T>): T {
  if ("failure" in outcome) throw outcome.failure
  return outcome.value
}
