/** Looks at the database from time to time, also while nothing is sealed: whether it is still the one, and holds what is remembered. */
import { setTimeout } from "node:timers/promises"
import type { Database } from "../store/driver/database.ts"
import type { Session } from "../store/driver/session.ts"
import { lockHead, readHead } from "../store/tables/log-store.ts"
import { headOf, notContained } from "./head-containment.ts"
import { type HeadState, OLDER } from "./head-state.ts"
import { awaitedOf, awaitedSentence, type LastSeen, type Standing } from "./lineage.ts"
import type { Vouching } from "./vouching.ts"

/** How often a process that seals nothing looks which database it is on, in milliseconds. */
export const LOOK_EVERY_MS = 2000
/** How long a stop waits until the database knows of it, in milliseconds. */
const LEAVE_WITHIN_MS = 2000

type HeadLooks = {
  /** Looks now and then every two seconds. Rejects when the database cannot be asked now. */
  readonly begin: (db: Database) => Promise<void>
  /** Calls share one look. Rejects when the database cannot be asked. */
  readonly look: () => Promise<void>
  /** Looks once whoever is under way has ended. */
  readonly lookLater: () => void
  readonly close: () => Promise<void>
}

/**
 * @param vouching absent for the embedded database
 * @param turns in which a vouch waits for the batch under way
 */
export function openHeadLooks(state: HeadState, vouching: Vouching | undefined, turns: Turns): HeadLooks {
  let db: Database | undefined
  let seen: LastSeen | undefined
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  /** Connections on which everything was held against the database. */
  const held = new WeakSet<object>()

  /** @returns whether a vouch is due */
  const lookOn = async (session: Session): Promise<boolean> => {
    const mustHold = state.trouble() === OLDER || !held.has(session.connection)
    // Read before the database: what is remembered by then is in it, or it is another one.
    const heads = mustHold ? state.remembered() : []
    const standing = await vouching?.standingOf(session)
    if (standing?.facts.standby === true) return false
    if (mustHold && (await notContained(session, headOf(await readHead(session)), heads)).length > 0) {
      state.find(OLDER)
      return false
    }
    held.add(session.connection)
    if (standing === undefined) state.find(undefined)
    else if (vouching?.isDue(standing) === true) return true
    else stands(standing)
    return false
  }
  const stands = (standing: Standing): void => {
    const awaited = awaitedOf(standing)
    if (awaited.length === 0) seen = { ...standing, atMs: performance.now() }
    state.find(awaited.length === 0 ? undefined : awaitedSentence(awaited))
  }
  const vouch = (source: Database, { vouch: register }: Vouching): Promise<boolean> =>
    turns(() =>
      source.transaction(async tx => {
        const head = headOf(await lockHead(tx))
        if ((await notContained(tx, head, state.remembered())).length > 0) return false
        // What is remembered must not be lost: a commit before may have been read without being confirmed.
        await source.confirm()
        await register(tx, head, seen)
        state.know(head)
        return true
      }),
    )
  const lookNow = async (): Promise<void> => {
    if (db === undefined || !(await db.read(lookOn)) || vouching === undefined) return
    if (await vouch(db, vouching)) await db.read(lookOn)
    else state.find(OLDER)
  }
  const look = (): Promise<void> => {
    looking ??= lookNow().finally(() => {
      looking = undefined
    })
    return looking
  }
  const lookLater = (): void => void setImmediate(() => void look().catch(() => undefined))
  return {
    begin: async opened => {
      db = opened
      if (vouching !== undefined) timer = setInterval(lookLater, LOOK_EVERY_MS).unref()
      await look()
    },
    look,
    lookLater,
    close: async () => {
      clearInterval(timer)
      await looking?.catch(() => undefined)
      if (db !== undefined && vouching !== undefined && state.trouble() === undefined)
        await Promise.race([
          db.transaction(vouching.leave).catch(() => undefined),
          setTimeout(LEAVE_WITHIN_MS, undefined, { ref: false }),
        ])
      db = undefined
    },
  }
}

/** Work that is done one piece at a time, in the order in which it was given. Does the work once all that was given before has ended, however that ended. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
