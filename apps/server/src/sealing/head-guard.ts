/**
 * Prevents forks of the log. Nothing is sealed on a head whose log does not contain every head that is remembered beside the
 * keys. Nothing is sealed in a database that replaced another until every folder of heads was compared with it. Decision 0110.
 */

import { setTimeout } from "node:timers/promises"
import { type HeadFile, type Lineage, type RememberedHead, rememberedHeads } from "../keys/head-file.ts"
import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import { createGroupCommit } from "../store/driver/group-commit.ts"
import type { Session, Source, Tx } from "../store/driver/session.ts"
import { endStalledSessions } from "../store/driver/stalled-sessions.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { lockHead, readHead } from "../store/tables/log-store.ts"
import {
  awaitedOf,
  awaitedSentence,
  createFolderRegistration,
  type FolderName,
  type FolderRegistration,
  isLeftBehind,
  type LastComplete,
  type Registrations,
  sameDatabase,
} from "./folder-registration.ts"
import { type Head, headOf, notContained } from "./head-containment.ts"
import { createHeadState, ELSEWHERE, type HeadState, OLDER, sealingRefused } from "./head-state.ts"

/** What a sealer needs of the head guard. */
export type SealingHeads = {
  /** Does the work of a batch, from its check of the head until its own head is remembered; registrations wait meanwhile. */
  readonly whileSealing: <T>(work: () => Promise<T>) => Promise<T>
  /** Resolves when a head could be remembered now. Awaited before each batch, so that at most one head is not remembered. */
  readonly readyToRemember: () => Promise<void>
  /**
   * Resolves when a batch may be appended to the locked head. Costs nothing while the head is the one this process made last.
   * @throws StoreError "unavailable" when it may not
   */
  readonly checkHead: (tx: Tx, head: Head) => Promise<void>
  /** Makes the head durable beside the keys, after commit and before any answer. */
  readonly rememberHead: (size: number, root: Uint8Array) => Promise<void>
}

export type HeadGuard = SealingHeads & {
  /**
   * Compares the database with what every process of the keys folder remembers, and remembers all of it from then on. Then polls
   * the database every two seconds.
   * @throws StartupError when the database holds an older log, or another
   */
  readonly start: (db: Database) => Promise<void>
  /**
   * Makes what the database holds durable, and remembers its head: before an answer with a record that was found there, or that there is
   * none. Nobody may have learned the outcome of the commit that stored it, and then no process remembers that head.
   * @throws StoreError "unavailable" when it cannot, or when the log does not contain every remembered head
   */
  readonly rememberStored: (db: Database) => Promise<void>
  /** Sizes of the log of all heads that are remembered beside the keys. @throws StartupError when a file is damaged */
  readonly sizes: () => readonly number[]
  /** Size of the last head that this process acknowledged; 0 before the first. */
  readonly ownSize: () => number
  /** Whether anything was acknowledged on these keys. */
  readonly remembersAny: () => boolean
  /** Checks which database this is now, as is done every two seconds. Rejects when it cannot be asked. */
  readonly poll: () => Promise<void>
  /**
   * The database for what administrators withdraw, and what is withdrawn in it: keys, sessions, publications, receivers of events. It is not
   * read while nothing is sealed on it for the sake of the heads, nor over a new connection before what is remembered was found there. Reads
   * and counts reject with StoreError "unavailable" then.
   */
  readonly guard: (db: Database) => Database
  /** Why nothing is sealed, by the last poll or batch; undefined when something would be. */
  readonly trouble: () => string | undefined
  /** The last head that was acknowledged here, or found durable at the start or at a registration. */
  readonly known: () => RememberedHead | undefined
  readonly writable: () => boolean
  readonly close: () => Promise<void>
}

type HeadGuardParts = {
  readonly file: HeadFile
  /** Absent for the embedded database, which no other database replaces. */
  readonly folder?: FolderName
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Called once with the reason when sealing stops, and once with undefined when it goes on. */
  readonly report?: (trouble: string | undefined) => void
}

/** Most answers that may wait for a head; one more is refused at once. */
const MAX_WAITING = 4096
const NOT_REMEMBERED =
  "The folder of the heads beside the keys cannot be written; nothing is sealed until the log's head can be remembered there."

const NOT_REMEMBERED_CALLER =
  "The folder of the log's heads cannot be written; nothing was acknowledged. Nothing is sealed until the operator makes room there, or lets the service write to it."

export function openHeadGuard({ file, folder, nowMs, report = () => undefined }: HeadGuardParts): HeadGuard {
  const state = createHeadState(file, report)
  const registration = folder && createFolderRegistration(file, folder, nowMs)
  const queue = createSerialQueue()
  const polling = openHeadPoll(file, state, registration, queue)
  const readyToRemember = (): Promise<void> => file.ready().catch(notRemembered)
  const storedHeads = createGroupCommit<Database, true>(
    async dbs => {
      for (const db of new Set(dbs)) await queue(() => rememberStoredHead(db, file, state)).catch(notRemembered)
      return dbs.map(() => true)
    },
    { batch: MAX_WAITING, waiting: MAX_WAITING, readsOnly: true },
  )
  return {
    start: async db => {
      const { head, missing } = await polling.start(db)
      refuseStart(head, missing)
    },
    sizes: () => state.remembered().map(({ size }) => size),
    ownSize: () => file.own().size,
    remembersAny: () => file.all().length > 0,
    poll: polling.poll,
    guard: createReadGuard(state, polling.poll),
    trouble: state.trouble,
    whileSealing: queue,
    readyToRemember,
    rememberStored: async db => void (await storedHeads.submit(db)),
    checkHead: createHeadCheck(file, state, registration, polling.pollSoon),
    rememberHead: async (size, root) => {
      await remember(headOf({ size, root }), file, state)
    },
    known: state.known,
    writable: file.writable,
    close: async () => {
      await polling.close()
      file.close()
    },
  }
}

/** Remembers the head of the database, unless it is no further than what this process remembers. */
async function rememberStoredHead(db: Database, file: HeadFile, state: HeadState): Promise<void> {
  await file.ready()
  // Read before the database: what is remembered by then is in it, or it is another one.
  const remembered = state.remembered()
  const head = headOf(await readHead(db))
  await db.confirm()
  if ((await notContained(db, head, remembered)).length > 0) state.refuse(OLDER)
  if (head.size > file.own().size) await remember(head, file, state)
}

/** @throws StoreError */
function notRemembered(cause: unknown): never {
  throw cause instanceof StoreError
    ? cause
    : new StoreError("unavailable", { message: NOT_REMEMBERED, callerMessage: NOT_REMEMBERED_CALLER, cause })
}

/** Remembers a head before an answer. @throws StoreError when a process of the folder has gone on to another database meanwhile */
async function remember(head: RememberedHead, file: HeadFile, state: HeadState): Promise<void> {
  state.know(head)
  await file.remember({ ...head, lineage: file.own().lineage })
  // After the write: that process compares what is remembered once more after its own write. So one of the two finds the other.
  if (isLeftBehind(file, state.remembered())) state.refuse(ELSEWHERE)
}

/** The check of a head that a batch has locked. @param pollSoon called when a poll may end the refusal */
function createHeadCheck(
  file: HeadFile,
  state: HeadState,
  registration: FolderRegistration | undefined,
  pollSoon: () => void,
): SealingHeads["checkHead"] {
  /** Connections on which all remembered heads were compared with the database, and which database that was. */
  const checked = new WeakMap<object, Lineage>()

  const checkAll = async (tx: Tx, head: RememberedHead): Promise<void> => {
    if ((await notContained(tx, head, state.remembered())).length > 0) state.refuse(OLDER)
    const found = await registration?.read(tx)
    const awaited = found === undefined ? [] : awaitedOf(found)
    const isElsewhere = found !== undefined && registration?.isHere(found) === false
    if (isElsewhere || awaited.length > 0) {
      pollSoon()
      state.refuse(isElsewhere ? ELSEWHERE : awaitedSentence(awaited))
    }
    checked.set(tx.connection, file.own().lineage)
  }
  return async (tx, row) => {
    const head = headOf(row)
    const known = state.known()
    const lineage = checked.get(tx.connection)
    if (lineage === undefined) await checkAll(tx, head)
    else if (!sameDatabase(lineage, file.own().lineage)) state.refuse(ELSEWHERE)
    else if (known !== undefined && known.root !== head.root && (await notContained(tx, head, [known])).length > 0)
      state.refuse(OLDER)
    if (isLeftBehind(file, state.remembered())) state.refuse(ELSEWHERE)
    // The head is not made known here: only an acknowledged head is, and this one may be of a commit without a confirmation.
    state.setTrouble(undefined)
  }
}

/** For a command that seals nothing itself. @throws StartupError when the database does not contain every head in the keys folder */
export async function refuseOlder(db: Source, keysDirectory: string): Promise<void> {
  // Read before the database: what is remembered by then is in it.
  const remembered = rememberedHeads(keysDirectory)
  if (remembered.length === 0) return
  await db.read(async session => {
    const head = headOf(await readHead(session))
    refuseStart(head, await notContained(session, head, remembered))
  })
}

/** @param missing what the database does not contain */
function refuseStart(head: RememberedHead, missing: readonly RememberedHead[]): void {
  if (missing.length === 0) return
  const largest = Math.max(...missing.map(({ size }) => size))
  throw new StartupError(
    largest > head.size
      ? `The database holds ${head.size} log entries, but ${largest} were acknowledged: it is an older copy, and continuing it would fork the log.`
      : "The database holds another log than the one that was acknowledged; continuing it would fork the log.",
  )
}

// Polls the database, also while nothing is sealed: whether it is still the same one, and contains every remembered head.

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
function openHeadPoll(
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
type SerialQueue = <T>(work: () => Promise<T>) => Promise<T>

function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

// Refuses reads of what administrators withdraw while it is not known that the database holds all that was acknowledged: a revoked key would
// read again, and a withdrawn run would be public. Decision 0249.

/** @throws StoreError when the folder of heads cannot be read, or a file in it is damaged */
function rememberedOf(state: HeadState): ReturnType<HeadState["remembered"]> {
  try {
    return state.remembered()
  } catch (cause) {
    state.refuseTroubled()
    throw new StoreError("unavailable", { cause })
  }
}

/** @param poll checks which database this is now */
function createReadGuard(state: HeadState, poll: () => Promise<void>): (db: Database) => Database {
  /** Connections on which every remembered head was found: one that is new may lead to another database, whatever the last poll found. */
  const checked = new WeakSet<object>()

  const check = async (session: Session): Promise<void> => {
    if (checked.has(session.connection)) return
    // Read before the database: what is remembered by then is in it, or it is another one.
    const remembered = rememberedOf(state)
    const missing = await notContained(session, headOf(await readHead(session)), remembered)
    if (missing.length > 0) throw sealingRefused(OLDER)
    checked.add(session.connection)
  }
  const guarding =
    (run: Source["read"]): Source["read"] =>
    async work => {
      // Nothing that is refused here leads to a batch, which would find that the trouble is over.
      if (state.trouble() !== undefined) await poll().catch(() => undefined)
      state.refuseTroubled()
      return run(async session => {
        await check(session)
        return work(session)
      })
    }
  return db => ({
    ...db,
    read: guarding(db.read),
    quick: { read: guarding(db.quick.read) },
    count: guarding(db.count),
  })
}
