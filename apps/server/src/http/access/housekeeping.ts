/** Background clean-up: a bounded step at most once an interval, one at a time, for which no request waits. */

export type Housekeeping = {
  /** Starts a step when one is due; returns at once. */
  readonly due: (nowMs: number) => void
  /** Resolves when the step under way has ended. */
  readonly close: () => Promise<void>
}

/** @param step does a bounded piece of work; its failure is ignored, because the next step does the same work */
export function createHousekeeping(step: (nowMs: number) => Promise<void>, intervalMs: number): Housekeeping {
  let lastStep = 0
  let underWay: Promise<void> | undefined
  return {
    due: nowMs => {
      if (underWay !== undefined || Math.abs(nowMs - lastStep) < intervalMs) return
      lastStep = nowMs
      underWay = step(nowMs)
        .catch(() => undefined)
        .finally(() => {
          underWay = undefined
        })
    },
    close: async () => underWay,
  }
}
