/** Calls that a gateway remembers after they ended: a stream that is resumed has their answers again, which are replaced by the settled ones. */

/** Characters that the calls and answers may have together, which is some 64 MiB at most. */
const REMEMBERED_MAX = 33_554_432
/** Counted for a call beside its texts. */
const CALL_SIZE = 1_024

export type AnsweredCalls = {
  /** @param length characters of the call and its answer; @param forget called once there is no place for it */
  readonly add: (length: number, forget: () => void) => void
}

export function createAnsweredCalls(): AnsweredCalls {
  const calls = new Set<{ readonly size: number; readonly forget: () => void }>()
  let total = 0
  return {
    add: (length, forget) => {
      const added = { size: length + CALL_SIZE, forget }
      calls.add(added)
      total += added.size
      for (const oldest of calls) {
        if (total <= REMEMBERED_MAX) return
        calls.delete(oldest)
        total -= oldest.size
        oldest.forget()
      }
    },
  }
}
