/** A bounded queue of reviews. A full queue refuses at once: a review that starts late would miss its deadline anyway. */
import { ReviewFailure } from "./reviewer.ts"

interface QueueBounds {
  readonly running: number
  readonly waiting: number
}

/** Runs tasks in the order of their arrival, at most so many at a time. */
interface BoundedQueue {
  /** @throws ReviewFailure `overloaded` when the queue is full, `timeout` when the signal aborts while it waits */
  run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result>
}

export function boundedQueue(bounds: QueueBounds): BoundedQueue {
  const waiting = new Set<() => void>()
  let running = 0

  function waitForSlot(signal: AbortSignal): Promise<void> {
    if (waiting.size >= bounds.waiting) throw new ReviewFailure("overloaded")
    return new Promise((resolve, reject) => {
      const start = (): void => {
        waiting.delete(start)
        signal.removeEventListener("abort", giveUp)
        resolve()
      }
      const giveUp = (): void => {
        waiting.delete(start)
        reject(new ReviewFailure("timeout"))
      }
      waiting.add(start)
      signal.addEventListener("abort", giveUp, { once: true })
    })
  }

  /** Gives the slot to the first queued task, so that a new one cannot take it first. */
  function freeSlot(): void {
    const [next] = waiting
    if (next === undefined) running -= 1
    else next()
  }

  return {
    async run(task, signal) {
      if (signal.aborted) throw new ReviewFailure("timeout")
      if (running < bounds.running) running += 1
      else await waitForSlot(signal)
      try {
        return await task()
      } finally {
        freeSlot()
      }
    },
  }
}
