/**
 * How long one request may wait for the database in all. Each wait has a bound of its own, but a request meets several, one after
 * the other: its key's look-up, a lock, a COMMIT. Decision 0163.
 */
import { AsyncLocalStorage } from "node:async_hooks"

/** A refusal comes within 10 s; the rest is for this process's own work. */
export const WAIT_LIMIT_MS = 9_000

type WaitLimit = { leftMs: number; ended: boolean }

const limits = new AsyncLocalStorage<WaitLimit>()

/** Does the work of one request, whose waits together take `ms` milliseconds at most. */
export async function withWaitLimit<T>(work: () => Promise<T>, ms: number = WAIT_LIMIT_MS): Promise<T> {
  const own = { leftMs: ms, ended: false }
  try {
    return await limits.run(own, work)
  } finally {
    // What the request started and left behind, such as a timer, is no longer its own.
    own.ended = true
  }
}

/** Starts work that belongs to no request, such as a batch of several. */
export const withoutWaitLimit = <T>(work: () => T): T => limits.exit(work)

/**
 * Settles as `answer` does, or rejects with `late()` once the request may wait no longer. Without a request it waits.
 * @param goingOnSince time (`performance.now()`) since which nothing was achieved that the answer waits for; what was waited before does not
 *   count. A long queue that moves is no failure
 */
export function waitWithin<T>(answer: Promise<T>, late: () => Error, goingOnSince: () => number = () => 0): Promise<T> {
  const own = limits.getStore()
  if (own === undefined || own.ended) return answer
  const since = performance.now()
  const leftMs = (): number => own.leftMs - (performance.now() - Math.max(since, goingOnSince()))
  return new Promise<T>((resolve, reject) => {
    const look = (): NodeJS.Timeout =>
      setTimeout(
        () => {
          if (own.ended) return
          if (leftMs() > 0) timer = look()
          else reject(late())
        },
        Math.max(leftMs(), 1),
      )
    let timer = look()
    const settled = (): void => {
      clearTimeout(timer)
      own.leftMs = leftMs()
    }
    answer.finally(settled).then(resolve, reject)
  })
}
