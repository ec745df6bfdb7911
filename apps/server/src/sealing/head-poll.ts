/** Polls the database, also while nothing is sealed: whether it is still the same one, and contains every remembered head. */
import { setTimeout } from "node:timers/promises"
import type { HeadFile, RememberedHead } from "../keys/head-file.ts"
import type { Database } from "../store/driver/database.ts"
import type { Session } from "../store/driver/session.ts"
import { endStalledSessions } from "../store/driver/stalled-sessions.ts"
import { lockHead, readHead } from "../store/tables/log-store.ts"
import {
  awaitedOf,
  awaitedSentence,
  type FolderRegistration,
  isLeftBehind,
  type LastComplete,
  type Registrations,
} from "./folder-registration.ts"
import { headOf, notContained } from "./head-containment.ts"
import { ELSEWHERE, type HeadState, OLDER } from "./head-state.ts"

/** How often a process that seals nothing checks which database it is on, in milliseconds. */
const POLL_EVERY_MS = 2000
/** How long a stop waits until the database knows of it, in milliseconds. */
const LEAVE_WITHIN_MS = 2000

/** A locked head, and the remembered heads that its log does not contain. */
type Admission = { readonly head: RememberedHead; readonly missing: readonly RememberedHead[] }

type HeadPoll = {
  /**
   * Registers with the database if it contains every remembered head, then polls it every two seconds. Rejects when the
   * database cannot be asked now.
   * @returns what it does not contain, and then nothing was registered and nothing is polled
   */
  readonly start: (db: Database) => Promise<Admission>
  /** Polls now; concurrent calls share one poll. Rejects when the database cannot be asked. */
  readonly poll: () => Promise<void>
  /** Polls once the current batch has ended. */
  readonly pollSoon: () => void
  readonly close: () => Promise<void>
}

/**
 * @param registration absent for the embedded database
 * @param queue in which a registration waits for the current batch
 */
export function openHeadPoll(
  file: HeadFile,
  state: HeadState,
  registration: FolderRegistration | undefined,
  queue: SerialQueue,
): HeadPoll {
  let db: Database | undefined
  let last: LastComplete | undefined
  let current: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  /** Connections on which the database was found to contain every remembered head. */
  const checked = new WeakSet<object>()

  const admit = (source: Database): Promise<Admission> =>
    source.transaction(async tx => {
      // Under the head's lock no other process seals: what their files remember cannot pass what is read here.
      const head = headOf(await lockHead(tx))
      const missing = await notContained(tx, head, state.remembered())
      if (missing.length > 0) return { head, missing }
      // The head may have been read from a commit that a standby has not confirmed yet; a remembered head must not be lost.
      await source.confirm()
      if (registration === undefined) await file.remember(head)
      else await registration.register(tx, head, last)
      if ((await notContained(tx, head, state.remembered())).length > 0) state.refuse(OLDER)
      state.know(head)
      // At the start alone, when most other files are of processes that have ended.
      if (db === undefined) await file.tidy(async other => (await notContained(tx, head, [other])).length === 0)
      return { head, missing }
    })
  /** @returns whether a registration is due */
  const check = async (session: Session): Promise<boolean> => {
    const mustCompare = state.trouble() === OLDER || !checked.has(session.connection)
    // Read before the database: what is remembered by then is in it, or it is another one.
    const heads = mustCompare ? state.remembered() : [state.known() ?? []].flat()
    const found = await registration?.read(session)
    if (found?.facts.standby === true) return false
    if ((await notContained(session, headOf(await readHead(session)), heads)).length > 0) {
      state.setTrouble(OLDER)
      return false
    }
    checked.add(session.connection)
    if (found === undefined) state.setTrouble(undefined)
    else if (registration?.isDue(found) === true) return true
    else if (isLeftBehind(file, state.remembered())) state.setTrouble(ELSEWHERE)
    else setAwaited(found)
    return false
  }
  const setAwaited = (found: Registrations): void => {
    const awaited = awaitedOf(found)
    if (awaited.length === 0) last = { ...found, atMs: performance.now() }
    state.setTrouble(awaited.length === 0 ? undefined : awaitedSentence(awaited))
  }
  const pollNow = async (): Promise<void> => {
    const source = db
    if (source === undefined) return
    if (registration !== undefined) await source.quick.read(({ sql }) => endStalledSessions(sql)).catch(() => undefined)
    if (!(await source.read(check)) || registration === undefined) return
    const { missing } = await queue(() => admit(source))
    if (missing.length > 0) state.setTrouble(OLDER)
    else await source.read(check)
  }
  const poll = (): Promise<void> => {
    current ??= pollNow().finally(() => {
      current = undefined
    })
    return current
  }
  const pollSoon = (): void => void setImmediate(() => void poll().catch(() => undefined))
  return {
    start: async opened => {
      const admission = await admit(opened)
      if (admission.missing.length > 0) return admission
      db = opened
      if (registration !== undefined) timer = setInterval(pollSoon, POLL_EVERY_MS).unref()
      await poll()
      return admission
    },
    poll,
    pollSoon,
    close: async () => {
      clearInterval(timer)
      await current?.catch(() => undefined)
      if (db !== undefined && registration !== undefined && state.trouble() === undefined) await leave(db, registration)
      db = undefined
    },
  }
}

/** Tells the database that this process stops, if that does not take long. */
const leave = (db: Database, registration: FolderRegistration): Promise<unknown> =>
  Promise.race([
    db.transaction(registration.leave).catch(() => undefined),
    setTimeout(LEAVE_WITHIN_MS, undefined, { ref: false }),
  ])

/** Does pieces of work one at a time, in the order of the calls; a piece that fails does not stop the next. */
export type SerialQueue = <T>(work: () => Promise<T>) => Promise<T>

export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
