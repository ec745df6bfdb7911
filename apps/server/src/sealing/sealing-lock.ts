/**
 * The lock that servers of one database take while they build batches. While several seal, a batch that is built ahead is seldom still true when it
 * is written: another server has moved the log's head. So each holds this lock for some batches. It decides nothing: what is built is compared
 * behind the lock of the log's head all the same, and a server that does not get this lock seals without it.
 */
import { setTimeout } from "node:timers/promises"
import type { Database } from "../store/driver/database.ts"
import { lockBuilding } from "../store/tables/log-store.ts"

/** Most batches for which it is held at once. */
const MAX_BATCHES = 4
/** No batch enters that comes later after it was taken, in milliseconds. */
const MAX_MS = 50
/** Where its batches were refused before they were written, it is given up after so long, in milliseconds. */
const LOST_MS = 1_000
/** Longest wait for it, in milliseconds: some batches of some servers. A server that is cut off may hold it longer. */
const WAIT_MS = 1_000
/** How long it is used after another server was last seen to seal, in milliseconds. */
const SEEN_MS = 5_000

export type SealingLock = {
  /** Another server has sealed. */
  readonly saw: () => void
  /**
   * Enters a batch. Resolves once it may be made ready: behind the lock, where it is used.
   * @param before the batches before it
   * @returns whether the lock was taken for it: what is known of the log is read again then
   */
  readonly enter: (before: Promise<unknown>) => Promise<boolean>
  /** A batch was written, or failed. The lock is given up behind the last batch that entered. */
  readonly leave: () => void
}

type Held = { entered: number; left: number; readonly since: number; readonly end: () => void }

/** @param db whose transactions wait for a lock so long as its settings say; an embedded one has one process, and no second connection */
export function openSealingLock(db: Pick<Database, "kind" | "transaction">): SealingLock {
  let seenUntil = 0
  let held: Held | undefined
  const isFull = ({ entered, since }: Held): boolean => entered >= MAX_BATCHES || performance.now() - since >= MAX_MS
  const end = (): void => {
    held?.end()
    held = undefined
  }
  return {
    saw: () => {
      if (db.kind === "postgres") seenUntil = performance.now() + SEEN_MS
    },
    enter: async before => {
      if (held !== undefined && isFull(held)) {
        await before
        end()
      }
      if (held === undefined && performance.now() < seenUntil) {
        await before
        held = await takeLock(db).catch(() => undefined)
        // Not again before another server is seen to seal.
        if (held === undefined) seenUntil = 0
        else held.entered++
        return true
      }
      if (held !== undefined) held.entered++
      return false
    },
    leave: () => {
      if (held !== undefined && ++held.left >= held.entered) end()
    },
  }
}

/** Resolves once this server holds the lock. Rejects when it waited for too long. */
async function takeLock(db: Pick<Database, "transaction">): Promise<Held> {
  let end = (): void => undefined
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const since = performance.now()
  await new Promise<void>((taken, failed) => {
    setTimeout(WAIT_MS, undefined, { ref: false }).then(failed)
    const holding = db.transaction(async tx => {
      await lockBuilding(tx)
      // Nobody waits for it any more.
      if (performance.now() - since > WAIT_MS) return
      taken()
      await Promise.race([ended, setTimeout(LOST_MS, undefined, { ref: false })])
    })
    // A lock that is lost while it is held only lets another server in.
    holding.catch(failed)
  })
  return { entered: 0, left: 0, since: performance.now(), end }
}
