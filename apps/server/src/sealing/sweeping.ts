/** Work in the background that is looked for at intervals and on demand, one step at a time. */

export type Sweeping = {
  /** Does what is due now. Resolves when nothing is left, or when it could not be done; never rejects. */
  readonly sweep: () => Promise<void>
  /** Starts no more steps, and resolves when the one under way has ended. */
  readonly close: () => Promise<void>
}

/**
 * @param step does a bounded piece of work and tells whether there may be more
 * @param reportFailure called when a step failed; the next does the same work
 */
export function openSweeping(
  step: () => Promise<boolean>,
  everyMs: number,
  reportFailure: (error: unknown) => void,
): Sweeping {
  let underWay: Promise<void> | undefined
  let again = false
  let closed = false
  const reported = (error: unknown): boolean => {
    reportFailure(error)
    return false
  }
  const sweepAll = async (): Promise<void> => {
    do {
      // A sweep that is asked for during a step that fails is made too: its cause may be gone.
      again = false
      again = (await step().catch(reported)) || again
    } while (again && !closed)
    underWay = undefined
  }
  const sweep = (): Promise<void> => {
    again = true
    underWay ??= closed ? undefined : sweepAll()
    return underWay ?? Promise.resolve()
  }
  const timer = setInterval(() => void sweep(), everyMs).unref()
  return {
    sweep,
    close: async () => {
      closed = true
      clearInterval(timer)
      await underWay
    },
  }
}
