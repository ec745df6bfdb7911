/**
 * Whether a run could be sealed now: the database answers and takes writes, the head can be remembered beside the keys, and the
 * log's clock is one that the sealer takes.
 * Asked of the database at most once a second and never twice at the same time, however many ask here.
 */
import type { HeadFile } from "../anchor/head-file.ts"
import type { Database } from "../store/database.ts"
import { readHead, takesWrites } from "../store/log-store.ts"
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
  readonly heads: Pick<HeadFile, "writable" | "contradicts">
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
  let query: Promise<Readiness> | undefined
  let finding: { readonly promise: Promise<Readiness>; readonly at: number } | undefined

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

  const find = async (): Promise<Readiness> => {
    // A query that is stuck is waited for, not joined by others.
    query ??= ask().finally(() => {
      query = undefined
    })
    return withinDeadline(query, deadlineMs, () => ({
      ready: false,
      reason: "The database does not answer.",
      checked_at: nowMs(),
    }))
  }

  return () => {
    const now = nowMs()
    const stands = finding !== undefined && now >= finding.at && now - finding.at < READINESS_STANDS_MS
    if (finding === undefined || !stands) finding = { promise: find(), at: now }
    return finding.promise
  }
}

/** On one connection. */
const lookAt = (db: Database) =>
  db.read(async session => ({ head: await readHead(session), writable: await takesWrites(session) }))

async function withinDeadline<T>(work: Promise<T>, deadlineMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(() => resolve(late()), deadlineMs)
  })
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}
