/** Which blocks of our own code an input reached, from V8's counters. */
import { type Profiler, Session } from "node:inspector"

/** Sources that count: the code under test, not the fuzzer, nor other people's packages. */
const OURS = /\/(?:libs|apps)\/[^?]*\.ts/

export type Coverage = {
  /** Whether something was reached since the last call of either that was never noted. */
  readonly isNew: () => boolean
  /** Notes what was reached since the last call of either. @returns whether some of it is new */
  readonly note: () => boolean
  /** Blocks reached so far. */
  readonly size: () => number
  readonly close: () => void
}

/** Starts counting in this thread. Code runs slower meanwhile. */
export function countCoverage(): Coverage {
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  const seen = new Set<string>()
  const reached = (): readonly string[] => {
    const keys: string[] = []
    // The answer comes before `post` returns: the session is of this thread.
    session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
      for (const script of result) if (OURS.test(script.url)) keys.push(...keysOf(script))
    })
    return keys.filter(key => !seen.has(key))
  }
  const note = (): boolean => {
    const news = reached()
    for (const key of news) seen.add(key)
    return news.length > 0
  }
  note()
  return {
    isNew: () => reached().length > 0,
    note,
    size: () => seen.size,
    close: () => {
      session.post("Profiler.stopPreciseCoverage")
      session.disconnect()
    },
  }
}

/** Each block with the order of magnitude of its count: a loop that runs a hundred times is another thing than once. */
function keysOf({ scriptId, functions }: Profiler.ScriptCoverage): readonly string[] {
  const blocks = functions.flatMap(({ ranges }) => ranges).filter(({ count }) => count > 0)
  return blocks.map(
    ({ startOffset, endOffset, count }) =>
      `${scriptId}:${startOffset}:${endOffset}:${Math.floor(Math.log2(count) / 2)}`,
  )
}
