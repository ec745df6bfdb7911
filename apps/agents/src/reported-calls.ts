/** Calls whose start and end are reported one by one, found again by the id of the call. */

/** Most calls that wait for their end: more than one key may have open permits, and as many again that are over. */
const CALLS_MAX = 10_000

export type ReportedCalls<Call> = {
  /** Adds a call that started. */
  readonly add: (id: string, call: Call) => void
  /** Stores the outcome of a call that was closed before its end was reported. Without effect on one that was taken. */
  readonly close: (id: string, call: Call, closed: Call) => void
  /** The call whose end is reported, or its outcome. Undefined when it is unknown, was taken before or was dropped. */
  readonly take: (id: string) => Call | undefined
}

/** @param max calls are dropped beyond so many: those that are closed first, the oldest first */
export function reportedCalls<Call>(max: number = CALLS_MAX): ReportedCalls<Call> {
  const open = new Map<string, Call>()
  const over = new Map<string, Call>()
  const drop = (): void => {
    const calls = over.size > 0 ? over : open
    for (const id of calls.keys()) {
      calls.delete(id)
      return
    }
  }
  return {
    add: (id, call) => {
      open.set(id, call)
      if (open.size + over.size > max) drop()
    },
    close: (id, call, closed) => {
      if (open.get(id) !== call) return
      open.delete(id)
      over.set(id, closed)
    },
    take: id => {
      const call = open.get(id) ?? over.get(id)
      open.delete(id)
      over.delete(id)
      return call
    },
  }
}
