/**
 * Whether a run could be sealed now: the database answers and takes writes, the head can be remembered beside the keys, and the
 * log's clock is one that the sealer takes.
 * Asked of the database at most once a second and never twice at the same time, however many ask here.
 */
import type { Database } from "../store/database.ts"
import { readHead, takesWrites } from "../store/log-store.ts"
import { boundedFinding } from "./bounded-finding.ts"
import type { HeadGuard } from "./head-guard.ts"
import { nextLogTime } from "./log-clock.ts"

/** How long a finding stands, in milliseconds. */
export const READINESS_STANDS_MS = 1000
/** Longest the database may take, in milliseconds; then it counts as stuck. */
export const READINESS_DEADLINE_MS = 2000

export type Readiness =
  /** `checked_at` in milliseconds since the epoch. */
  | { readonly ready: true; readonly log_size: number; readonly checked_at: number }
  | { readonly ready: false; readonly reason: string; readonly checked_at: number }

export type ReadinessParts = {
  readonly db: Database
  readonly nowMs: () => number
  /** What is remembered beside the keys. */
  readonly heads: Pick<HeadGuard, "writable" | "contradicts">
  /** The head's epoch when this process started. */
  readonly epoch: number
  readonly deadlineMs?: number
}

/** The function that finds it. It never rejects. */
export function openReadiness({
  db,
  nowMs,
  heads,
  epoch,
  deadlineMs = READINESS_DEADLINE_MS,
}: ReadinessParts): () => Promise<Readiness> {
  const ask = async (): Promise<Readiness> => {
    const found = await lookAt(db).catch(() => undefined)
    const checked_at = nowMs()
    if (found === undefined) return { ready: false, reason: "The database is not available.", checked_at }
    const { head, writable } = found
    if (!writable) return { ready: false, reason: "The database takes no writes.", checked_at }
    if (heads.contradicts(head.size, head.root))
      return { ready: false, reason: "The database holds an older log than was acknowledged, or another.", checked_at }
    if (head.epoch !== epoch)
      return {
        ready: false,
        reason: "The signing keys were changed since this process started: start it again.",
        checked_at,
      }
    if (!heads.writable())
      return { ready: false, reason: "The folder of the heads beside the keys takes no writes.", checked_at }
    if (nextLogTime(head.log_time, checked_at) === undefined)
      return {
        ready: false,
        reason: "The clock is behind the log's time; nothing is sealed until it has caught up.",
        checked_at,
      }
    return { ready: true, log_size: head.size, checked_at }
  }

  return boundedFinding({
    ask,
    late: () => ({ ready: false, reason: "The database does not answer.", checked_at: nowMs() }),
    deadlineMs,
    standsMs: READINESS_STANDS_MS,
    nowMs,
  })
}

/** On one connection. */
const lookAt = (db: Database) =>
  db.read(async session => ({ head: await readHead(session), writable: await takesWrites(session) }))
