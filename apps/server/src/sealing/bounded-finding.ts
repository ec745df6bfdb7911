/** A cached probe: many may call it, one probe runs at a time, each call is answered in time. */

export type Probe<T> = {
  /** The probe itself. It may take as long as it does; no other is started meanwhile. Must not reject. */
  readonly ask: () => Promise<T>
  /** The answer when the probe takes longer than `deadlineMs`. */
  readonly late: () => T
  readonly deadlineMs: number
  /** How long an answer is cached, in milliseconds. */
  readonly cacheMs: number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** The function that gives the cached answer, or a fresh one. */
export function boundedFinding<T>({ ask, late, deadlineMs, cacheMs, nowMs }: Probe<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  let cached: { readonly promise: Promise<T>; readonly at: number } | undefined
  const find = (): Promise<T> => {
    // While a probe is stuck, later calls wait for the same one.
    underWay ??= ask().finally(() => {
      underWay = undefined
    })
    return withinDeadline(underWay, deadlineMs, late)
  }
  return () => {
    const now = nowMs()
    const isFresh = cached !== undefined && now >= cached.at && now - cached.at < cacheMs
    if (cached === undefined || !isFresh) cached = { promise: find(), at: now }
    return cached.promise
  }
}

async function withinDeadline<T>(work: Promise<T>, deadlineMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(() => resolve(late()), deadlineMs)
  })
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}
