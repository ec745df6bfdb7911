/** Steps of a batch, one after the other, so that nobody else waits long and what fails stands alone. */
import { setImmediate } from "node:timers/promises"
import { inStage, StageFailure } from "../run/pipeline/stage-failure.ts"

/** Longest that a batch keeps the event loop to itself, in milliseconds; one step may take longer. */
const TURN_MS = 5

/** What stands at a place of the batch. */
export type Placed = { readonly at: number }

/** Why something at a place of the batch cannot be sealed. */
export type Failed = Map<number, StageFailure>

/** Does a step for each item in turn; where it fails, the failure is noted and the item left out. */
export type InTurns = <Item extends Placed, Made>(
  items: readonly Item[],
  failed: Failed,
  stage: "LEDGER" | "DLA",
  step: (item: Item) => Made,
) => Promise<readonly Made[]>

/** For one batch: after each turn everybody else has theirs. */
export function openTurns(): InTurns {
  let until = performance.now() + TURN_MS
  const myTurn = async (): Promise<void> => {
    await setImmediate()
    until = performance.now() + TURN_MS
  }
  return async (items, failed, stage, step) => {
    const made = []
    for (const item of items) {
      if (performance.now() >= until) await myTurn()
      try {
        made.push(inStage(stage, () => step(item)))
      } catch (error) {
        if (!(error instanceof StageFailure)) throw error
        failed.set(item.at, error)
      }
    }
    return made
  }
}
