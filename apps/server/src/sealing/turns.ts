/**
 * Turns of the processes that seal on one database. While several do, a batch that is built ahead is seldom still true when it is written: another
 * process has moved the log's head. So each takes a turn for some batches. A turn decides nothing: what is built is compared behind the lock of
 * the log's head all the same, and a process that gets no turn seals without one.
 */
import { setTimeout } from "node:timers/promises"
import type { Database } from "../store/driver/database.ts"

/** The key of the advisory lock: "rstu" in ASCII, read as a number. It belongs to a transaction, so that poolers can be in between. */
const TURN_LOCK = 0x72737475
/** Most batches of one turn. */
const TURN_MAX_BATCHES = 4
/** No batch enters a turn that is older, in milliseconds. */
const TURN_MAX_MS = 50
/** A turn that nobody ends, because its batches were refused before they were written, ends after so long, in milliseconds. */
const TURN_LOST_MS = 1_000
/** How long turns are taken after another process was last seen to seal, in milliseconds. */
const SEEN_MS = 5_000

export type Turns = {
  /** Another process has sealed. */
  readonly saw: () => void
  /**
   * Enters a batch into a turn, where turns are taken. Resolves once it may be made ready.
   * @param before the batches before it
   * @returns whether a new turn began: what is known of the log is read again then
   */
  readonly enter: (before: Promise<unknown>) => Promise<boolean>
  /** A batch was written, or failed. A turn ends with the last batch that entered it. */
  readonly leave: () => void
}

type Turn = { entered: number; left: number; readonly since: number; readonly end: () => void }

/** @param db whose transactions wait for a lock so long as its settings say; an embedded one has one process, and no second connection */
export function openTurns(db: Pick<Database, "kind" | "transaction">): Turns {
  let seenUntil = 0
  let turn: Turn | undefined
  const isFull = ({ entered, since }: Turn): boolean =>
    entered >= TURN_MAX_BATCHES || performance.now() - since >= TURN_MAX_MS
  const end = (): void => {
    turn?.end()
    turn = undefined
  }
  return {
    saw: () => {
      if (db.kind === "postgres") seenUntil = performance.now() + SEEN_MS
    },
    enter: async before => {
      if (turn !== undefined && isFull(turn)) {
        await before
        end()
      }
      if (turn === undefined && performance.now() < seenUntil) {
        await before
        turn = await takeTurn(db).catch(() => undefined)
        if (turn !== undefined) turn.entered++
        return true
      }
      if (turn !== undefined) turn.entered++
      return false
    },
    leave: () => {
      if (turn !== undefined && ++turn.left >= turn.entered) end()
    },
  }
}

/** Resolves once this process has the turn. Rejects when it waited for too long. */
async function takeTurn(db: Pick<Database, "transaction">): Promise<Turn> {
  let end = (): void => undefined
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  await new Promise<void>((taken, failed) => {
    const holding = db.transaction(async ({ sql }) => {
      await sql`select pg_advisory_xact_lock(${TURN_LOCK}::bigint)`
      taken()
      await Promise.race([ended, setTimeout(TURN_LOST_MS, undefined, { ref: false })])
    })
    // One that is lost once it is taken only lets another process in.
    holding.catch(failed)
  })
  return { entered: 0, left: 0, since: performance.now(), end }
}
