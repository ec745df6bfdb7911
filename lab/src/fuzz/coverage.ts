/** The blocks of our own code that an input reached, from V8's coverage counters. */
import { type Profiler, Session } from "node:inspector"

/** The code under test, without the fuzzer and third-party packages. */
const OURS = /\/(?:libs|apps)\/[^?]*\.ts/

export type Coverage = {
  /** Whether a block that was never noted was reached since the last call of `isNew` or `note`. */
  readonly isNew: () => boolean
  /** Notes the blocks reached since the last call of `isNew` or `note`. @returns whether some are new */
  readonly note: () => boolean
  /** Blocks reached so far. */
  readonly size: () => number
  readonly close: () => void
}

/** Starts counting in this thread, which slows its code. */
export function countCoverage(): Coverage {
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  const seen = new Set<string>()
  const reached = (): readonly string[] => {
    const keys: string[] = []
    // The callback runs before `post` returns, since the session is of this thread.
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

/** Each block with the order of magnitude of its count, so that a hundred iterations of a loop differ from one. */
function keysOf({ scriptId, functions }: Profiler.ScriptCoverage): readonly string[] {
  const blocks = functions.flatMap(({ ranges }) => ranges).filter(({ count }) => count > 0)
  return blocks.map(
    ({ startOffset, endOffset, count }) =>
      `${scriptId}:${startOffset}:${endOffset}:${Math.floor(Math.log2(count) / 2)}`,
  )
}
