/** A question that many ask and few may: one at a time, answered in time, and asked again only once its answer is old. */

export type Question<T> = {
  /** May take as long as it does; while it goes on it is not asked again. Must not reject. */
  readonly ask: () => Promise<T>
  /** The answer when it takes longer than `deadlineMs`. */
  readonly late: () => T
  readonly deadlineMs: number
  /** How long an answer stands, in milliseconds. */
  readonly standsMs: number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** The function that finds the answer, however many call it. */
export function boundedFinding<T>({ ask, late, deadlineMs, standsMs, nowMs }: Question<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  let finding: { readonly promise: Promise<T>; readonly at: number } | undefined
  const find = (): Promise<T> => {
    // One that is stuck is waited for, not joined by others.
    underWay ??= ask().finally(() => {
      underWay = undefined
    })
    return withinDeadline(underWay, deadlineMs, late)
  }
  return () => {
    const now = nowMs()
    const stands = finding !== undefined && now >= finding.at && now - finding.at < standsMs
    if (finding === undefined || !stands) finding = { promise: find(), at: now }
    return finding.promise
  }
}

async function withinDeadline<T>(work: Promise<T>, deadlineMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(() => resolve(late()), deadlineMs)
  })
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}
