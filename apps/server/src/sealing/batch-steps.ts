/** Runs the steps of a batch item by item. Other work of the event loop runs in between, and an item that fails is left out alone. */
import { setImmediate } from "node:timers/promises"
import { inStage, StageFailure } from "@runseal/core/seal/stage-failure"

/** Longest that a batch runs without a break for the event loop, in milliseconds; a single step may take longer. */
const SLICE_MS = 5

/** Has an index in its batch: among the runs, the attestations or the statements. */
export type Slot = { readonly at: number }

/** Why items of a batch cannot be sealed, by index. */
export type Failed = Map<number, StageFailure>

/** Does a step for each item, in order. When the step fails, its failure is recorded and the item left out of what is returned. */
export type RunSteps = <Item extends Slot, Result>(
  items: readonly Item[],
  failed: Failed,
  stage: "LEDGER" | "DLA",
  step: (item: Item) => Result,
) => Promise<readonly Result[]>

/** For one batch: its time slices are counted over all its steps. */
export function createStepRunner(): RunSteps {
  let sliceEnd = performance.now() + SLICE_MS
  const yieldToOthers = async (): Promise<void> => {
    await setImmediate()
    sliceEnd = performance.now() + SLICE_MS
  }
  return async (items, failed, stage, step) => {
    const results = []
    for (const item of items) {
      if (performance.now() >= sliceEnd) await yieldToOthers()
      try {
        results.push(inStage(stage, () => step(item)))
      } catch (error) {
        if (!(error instanceof StageFailure)) throw error
        failed.set(item.at, error)
      }
    }
    return results
  }
}
