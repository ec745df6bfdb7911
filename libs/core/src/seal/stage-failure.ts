/** A stage that failed. The run becomes a stage_error; the cause goes to the log, never into the record. */
import type { WrittenTexts } from "@runseal/canonical"
import type { Stage } from "../vocabulary/outcomes.ts"
import { type FailingStep, stageFailed } from "../vocabulary/stage-faults.ts"

export type StageFault = { readonly stage: FailingStep; readonly message: string }

export class StageFailure extends Error {
  override readonly name = "StageFailure"
  readonly fault: StageFault

  /** @param fault stage and one closed sentence: it is sealed and shown, so it never quotes input or a reviewer. */
  constructor(fault: StageFault, cause?: unknown) {
    super(fault.message, { cause })
    this.fault = fault
  }
}

/** What is given to the engine because it has neither a clock nor traces. */
export type Watch = {
  /** Milliseconds by one clock that never goes back. Only differences are recorded, so it may start anywhere. */
  readonly monotonicMs: () => number
  /** Calls the work of a stage at once, and gives what it gives. @param run the texts of the run whose stage it is */
  readonly follow: <T>(stage: Stage, run: WrittenTexts, work: () => T) => T
}

/** Runs a stage of one run. */
export type RunStage = <T>(stage: Stage, work: () => T) => T

/** The stages of a run, followed by who watches. @param run its texts */
export const stagesOf =
  ({ follow }: Pick<Watch, "follow">, run: WrittenTexts): RunStage =>
  (stage, work) =>
    inStage(stage, () => follow(stage, run, work))

/** Runs a stage, or other work that fails as this stage; whatever it throws becomes the failure of that stage. */
export function inStage<T>(stage: Stage, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof StageFailure) throw cause
    throw new StageFailure({ stage, message: stageFailed(stage) }, cause)
  }
}

/** How a step ended that was taken before its place in the order. */
export type StageResult<T> = { readonly value: T } | { readonly failure: StageFailure }

/** Takes a step. Only the failure of a stage is an outcome; whatever else it throws rejects. */
export async function stageResult<T>(work: () => T | Promise<T>): Promise<StageResult<T>> {
  try {
    return { value: await work() }
  } catch (failure) {
    if (!(failure instanceof StageFailure)) throw failure
    return { failure }
  }
}

/** The value of a step, at its place. @throws StageFailure where it failed */
export function valueOrThrow<T>(outcome: StageResult<T>): T {
  if ("failure" in outcome) throw outcome.failure
  return outcome.value
}
