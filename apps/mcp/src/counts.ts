/** What became of every tool call. Each call is counted once when it arrives, and once when it ends. */

const ENDS = {
  sealed: "sealed as completed",
  failed: "sealed as failed",
  refused: "refused before the call, with a receipt",
  withheld: "called, and the result refused, with a receipt",
  observed: "called although it would have been refused (observed)",
  pending: "not called, since people decide",
  stopped: "not called, since the service gave no decision",
  unsealed: "CALLED WITHOUT A RECORD",
  unconfirmed: "CALLED, AND THE SERVICE DID NOT CONFIRM THE RECORD",
} as const
export type End = keyof typeof ENDS
export type Counts = ReturnType<typeof createCounts>

export function createCounts() {
  let calls = 0
  const ended = new Map<End, number>()
  const of = (end: End): number => ended.get(end) ?? 0
  return {
    arrived: (): void => void calls++,
    ended: (end: End): void => void ended.set(end, of(end) + 1),
    /** Calls that were forwarded and have no confirmed record, so far. */
    missing: (): number => of("unsealed") + of("unconfirmed"),
    /** One line for people. */
    summary: (): string => {
      const parts = [...ended].map(([end, count]) => `${count} ${ENDS[end]}`)
      return `${calls} tool calls${parts.length === 0 ? "" : `: ${parts.join("; ")}`}`
    },
  }
}
