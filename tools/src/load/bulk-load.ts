/**
 * Loads runs: through the real pipeline and the sealer's own transaction, in batches of its size. While one batch is written the
 * drafts of the next are made.
 */
import type { LogFrontier } from "@runseal/server/anchor/log-builder"
import type { Draft } from "@runseal/server/pipeline/draft"
import { runToLog } from "@runseal/server/pipeline/pipeline"
import { momentSource } from "@runseal/server/sealing/moment-source"
import { BATCH_MAX_ITEMS, commitBatch } from "@runseal/server/sealing/sealer"
import type { BulkDeployment, LoadCaller } from "./bulk-deployment.ts"
import { submittedRun } from "./documents.ts"

export type LoadPlan = {
  readonly runs: number
  /** The first has every second run; the others take turns. */
  readonly callers: readonly LoadCaller[]
  /** Moves the loader's clock on to a batch's instant and gives it, in milliseconds since the epoch. */
  readonly moveClock: (loaded: number) => number
  /** Told after each batch; true ends the load there. */
  readonly enough: (loaded: number) => boolean
}

/** @returns how many runs were loaded */
export async function loadRuns({ pipeline, sealing }: BulkDeployment, plan: LoadPlan): Promise<number> {
  const { runs, callers, moveClock, enough } = plan
  let clock = 0
  const mint = momentSource(() => clock)
  const drafts = (first: number): Promise<readonly Draft[]> => {
    clock = moveClock(first)
    const numbers = Array.from({ length: Math.min(BATCH_MAX_ITEMS, runs - first) }, (_, i) => first + i)
    return Promise.all(
      numbers.map(number => {
        const { tenant, origin } = callerOf(callers, number)
        return runToLog({ ...submittedRun(number), tenant, origin }, mint(), pipeline)
      }),
    )
  }
  let known: LogFrontier | undefined
  let loaded = 0
  let next = await drafts(0)
  while (next.length > 0) {
    const committing = commitBatch({ drafts: next, attestations: [] }, known, sealing)
    loaded += next.length
    const [batch, following] = await Promise.all([committing, loaded < runs ? drafts(loaded) : []])
    if (batch.runs.includes(undefined)) throw new Error("a loaded run was refused")
    known = batch.log.frontier()
    await sealing.rememberHead(batch.log.size(), batch.log.root())
    next = enough(loaded) ? [] : following
  }
  return loaded
}

/** Half of the runs are of the first caller. */
function callerOf(callers: readonly LoadCaller[], number: number): LoadCaller {
  const other = 1 + (Math.floor(number / 2) % (callers.length - 1))
  const caller = callers[number % 2 === 0 ? 0 : other]
  if (caller === undefined) throw new Error("a load has two callers at least")
  return caller
}
