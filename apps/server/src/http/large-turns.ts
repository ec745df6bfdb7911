/** Long work in the event loop, one piece at a time, and as long a pause behind each: whoever is quick gets half of the time. */
import { setImmediate, setTimeout } from "node:timers/promises"

/** A piece that took less needs no pause, in milliseconds. */
const SHORT_MS = 2
/** Longest pause, in milliseconds: a piece takes that long on a machine that is slow. */
const MAX_PAUSE_MS = 500

/** Resolves when a piece of long work may be done: all that the caller does before the event loop comes round again. */
export function openLargeTurns(): () => Promise<void> {
  const queue: (() => void)[] = []
  let serving = false
  const serve = async (): Promise<void> => {
    serving = true
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const since = performance.now()
      next()
      await setImmediate()
      const took = performance.now() - since
      if (took > SHORT_MS) await setTimeout(Math.min(took, MAX_PAUSE_MS))
    }
    serving = false
  }
  return () =>
    new Promise(resolve => {
      queue.push(resolve)
      if (!serving) void serve()
    })
}
