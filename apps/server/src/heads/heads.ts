/**
 * The one door to the heads of the log that are remembered beside the keys. It prevents forks: nothing is sealed on a log that does not contain
 * every remembered head, nor in a database that replaced another before every folder of heads was compared with it. Decisions 0110, 0340.
 *
 * What must hold, in this order, for each batch:
 *
 * 1. `readyToRemember`: the head of the batch before is durable. So at most one head is committed and not remembered (decision 0111).
 * 2. The lock of the log's head, and behind it `contains`. No other process seals while it is held: what their files remember cannot pass what is
 *    read here. A new connection may lead to another database, so all heads are compared on each new one; on a known one only a head that this
 *    process did not make.
 * 3. COMMIT, with the confirmation of the standbys that the database waits for. A head that is remembered is never lost with a commit that fails.
 * 4. `remember`: the head is flushed to this process's file. Then the other files are read: a process that went on to another database does the
 *    same in the same order, so that one of the two finds the other, and acknowledges nothing.
 * 5. The answer: every later database is compared for the record that it names.
 *
 * `whileSealing` holds steps 1 to 4 together. An answer with a record that was found, or that there is none, takes `rememberStored` in their place:
 * nobody may have learned the outcome of the commit that stored it. Whatever compares, reads the files first and the database then: what was
 * remembered by then is in the database, or it is another one.
 */

import { setTimeout } from "node:timers/promises"
import { encodeHex } from "@runseal/canonical"
import { rootFromTiles } from "@runseal/log/merkle/tiles"
import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import { createGroupCommit } from "../store/driver/group-commit.ts"
import { endStalledSessions } from "../store/driver/server-checks.ts"
import type { Session, Source, Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { type LogHeadRow, lockHead, readHead, readTile } from "../store/tables/log-store.ts"
import {
  awaitedOf,
  awaitedSentence,
  createFolderRegistration,
  type FolderRegistration,
  isLeftBehind,
  type LastComplete,
  type Registrations,
  sameDatabase,
} from "./folder-registration.ts"
import { type HeadsFolder, type Lineage, NO_LINEAGE, type RememberedHead, rememberedHeads } from "./head-files.ts"

/** A log's head in the database. */
type Head = Pick<LogHeadRow, "size" | "root">

/** What a sealer needs of the heads. */
export type SealingHeads = {
  /** Does the work of a batch, from its check of the head until its own head is remembered; registrations wait meanwhile. */
  readonly whileSealing: <T>(work: () => Promise<T>) => Promise<T>
  /** Resolves when a head could be remembered now. @throws StoreError "unavailable" */
  readonly readyToRemember: () => Promise<void>
  /**
   * Resolves when the log of the locked head contains what is remembered, and a batch may be appended to it.
   * @throws StoreError "unavailable" when it may not
   */
  readonly contains: (tx: Tx, head: Head) => Promise<void>
  /** Makes the head durable beside the keys. @throws StoreError when another process of the folder has gone on to another database meanwhile */
  readonly remember: (head: Head) => Promise<void>
}

export type Heads = SealingHeads & {
  /** The heads of all processes of the folder, read now. @throws StartupError when a file is damaged */
  readonly read: () => readonly RememberedHead[]
  /** The last head that was acknowledged here, or found durable at the start or at a registration; a new object for each. */
  readonly own: () => RememberedHead
  /**
   * Compares the database with what every process of the keys folder remembers, and remembers all of it from then on. Then polls
   * the database every two seconds.
   * @throws StartupError when the database holds an older log, or another
   */
  readonly start: (db: Database) => Promise<void>
  /**
   * Makes what the database holds durable, and remembers its head.
   * @throws StoreError "unavailable" when it cannot, or when the log does not contain every remembered head
   */
  readonly rememberStored: (db: Database) => Promise<void>
  /** Checks which database this is now, as is done every two seconds; concurrent calls share one check. Rejects when it cannot be asked. */
  readonly poll: () => Promise<void>
  /**
   * The database for what administrators withdraw, and what is withdrawn in it: keys, sessions, publications, receivers of events. It is not
   * read while nothing is sealed on it for the sake of the heads, nor over a new connection before what is remembered was found there: a
   * revoked key would read again, and a withdrawn run would be public. Reads and counts reject with StoreError "unavailable" then. Decision 0249.
   */
  readonly guard: (db: Database) => Database
  /** Why nothing is sealed, by the last poll or batch; undefined when something would be. */
  readonly trouble: () => string | undefined
  readonly writable: () => boolean
  readonly close: () => Promise<void>
}

type HeadsParts = HeadsFolder & {
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Called once with the reason when sealing stops, and once with undefined when it goes on. */
  readonly report?: (trouble: string | undefined) => void
}

/** Most answers that may wait for a head; one more is refused at once. */
const MAX_WAITING = 4096
/** How often a process that seals nothing checks which database it is on, in milliseconds. */
const POLL_EVERY_MS = 2000
/** How long a stop waits until the database knows of it, in milliseconds. */
const LEAVE_WITHIN_MS = 2000

export function openHeads(parts: HeadsParts): Heads {
  const state = openState(parts)
  const { file, queue } = state
  const polling = openPoll(state)
  const storedHeads = createGroupCommit<Database, true>(
    async dbs => {
      for (const db of new Set(dbs)) await queue(() => rememberStoredHead(state, db)).catch(notRemembered)
      return dbs.map(() => true)
    },
    { batch: MAX_WAITING, waiting: MAX_WAITING, readsOnly: true },
  )
  return {
    read: file.all,
    own: file.own,
    start: polling.start,
    poll: polling.poll,
    guard: createReadGuard(state, polling.poll),
    trouble: state.trouble,
    whileSealing: queue,
    readyToRemember: () => file.ready().catch(notRemembered),
    rememberStored: async db => void (await storedHeads.submit(db)),
    contains: createContains(state, polling.pollSoon),
    remember: head => remember(state, headOf(head)),
    writable: file.writable,
    close: async () => {
      await polling.close()
      file.close()
    },
  }
}

// What is remembered, and where it is looked for.

export const headOf = ({ size, root }: Head): RememberedHead => ({ size, root: encodeHex(root), lineage: NO_LINEAGE })

/** The remembered heads that the log of this head does not contain. Reads one row of tiles a level for each distinct size. */
export async function notContained(
  source: Source,
  head: RememberedHead,
  remembered: readonly RememberedHead[],
): Promise<readonly RememberedHead[]> {
  const roots = new Map<number, string>([[head.size, head.root]])
  const missing: RememberedHead[] = []
  for (const known of remembered) {
    if (known.size <= head.size && !roots.has(known.size)) roots.set(known.size, await rootAt(source, known.size))
    if (roots.get(known.size) !== known.root) missing.push(known)
  }
  return missing
}

/** Root of the first entries of the stored log. */
const rootAt = async (source: Source, size: number): Promise<string> =>
  encodeHex(await rootFromTiles(size, (level, index, width) => readTile(source, level, index, width)))

/** Whether the log that is stored lacks a remembered head. */
const lacks = async (source: Source, remembered: readonly RememberedHead[]): Promise<boolean> =>
  (await notContained(source, headOf(await readHead(source)), remembered)).length > 0

/** For a command that seals nothing itself. @throws StartupError when the database does not contain every head in the keys folder */
export async function refuseOlder(db: Source, keysDirectory: string): Promise<void> {
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

// Why nothing is sealed.

const OLDER = "The database holds an older log than was acknowledged, or another; sealing on it would fork the log."
const ELSEWHERE =
  "The database is another one than before, or was promoted: it is being compared with what is remembered."
const DAMAGED =
  "A head in the folder of the heads beside the keys is damaged; nothing is sealed until the log was checked and the file removed."

/** The sentences for callers, by trouble; the one of a folder that is awaited names the folder, and has its own. */
const SENTENCES: Readonly<Record<string, string>> = {
  [OLDER]:
    "The log's database was exchanged for one that lacks what was acknowledged: nothing is sealed, and nobody is let in, until the operator brings the newer one back. Trying again does not help before that.",
  [ELSEWHERE]:
    "The log's database was exchanged: nothing is sealed, and nobody is let in, until it is known to hold all that was acknowledged. Try again.",
  [DAMAGED]:
    "It is not known how far the log had grown: nothing is sealed, and nobody is let in, until the operator has checked the log. Trying again does not help before that.",
}
const SENTENCE_OF_AWAITED =
  "The log's database was exchanged: nothing is sealed, and nobody is let in, until every server of the deployment has compared it with what it remembers. The operator starts those that are down."

const NOT_REMEMBERED =
  "The folder of the heads beside the keys cannot be written; nothing is sealed until the log's head can be remembered there."
const NOT_REMEMBERED_CALLER =
  "The folder of the log's heads cannot be written; nothing was acknowledged. Nothing is sealed until the operator makes room there, or lets the service write to it."

/** @throws StoreError */
function notRemembered(cause: unknown): never {
  throw cause instanceof StoreError
    ? cause
    : new StoreError("unavailable", { message: NOT_REMEMBERED, callerMessage: NOT_REMEMBERED_CALLER, cause })
}

const sealingRefused = (reason: string): StoreError =>
  new StoreError("unavailable", { message: reason, callerMessage: SENTENCES[reason] ?? SENTENCE_OF_AWAITED })

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

type State = Pick<HeadsFolder, "file"> & {
  /** Absent for the embedded database. */
  readonly registration: FolderRegistration | undefined
  /** In which a registration waits for the current batch. */
  readonly queue: SerialQueue
  /** The heads in the folder, and that of this process, whose file may be gone. @throws StartupError when a file is damaged */
  readonly remembered: () => readonly RememberedHead[]
  readonly trouble: () => string | undefined
  readonly setTrouble: (trouble: string | undefined) => void
  /** Sets the trouble and throws it. @throws StoreError "unavailable" */
  readonly refuse: (reason: string) => never
  /** Connections on which the database was found to contain every remembered head. */
  readonly compared: WeakSet<object>
}

function openState({ file, folder, nowMs, report = () => undefined }: HeadsParts): State {
  let trouble: string | undefined
  const setTrouble = (next: string | undefined): void => {
    if (next !== trouble) report(next)
    trouble = next
  }
  return {
    file,
    registration: folder && createFolderRegistration(file, folder, nowMs),
    queue: createSerialQueue(),
    remembered: () => {
      try {
        return [...file.all(), file.own()]
      } catch (error) {
        if (error instanceof StartupError) setTrouble(DAMAGED)
        throw error
      }
    },
    trouble: () => trouble,
    setTrouble,
    refuse: reason => {
      setTrouble(reason)
      throw sealingRefused(reason)
    },
    compared: new WeakSet(),
  }
}

// Remember.

async function remember({ file, remembered, refuse }: State, head: RememberedHead): Promise<void> {
  await file.remember({ ...head, lineage: file.own().lineage })
  if (isLeftBehind(file, remembered())) refuse(ELSEWHERE)
}

/** Remembers the head of the database, unless it is no further than what this process remembers. */
async function rememberStoredHead(state: State, db: Database): Promise<void> {
  await state.file.ready()
  const remembered = state.remembered()
  const head = headOf(await readHead(db))
  await db.confirm()
  if ((await notContained(db, head, remembered)).length > 0) state.refuse(OLDER)
  if (head.size > state.file.own().size) await remember(state, head)
}

// Contain.

/** @param pollSoon called when a poll may end the refusal */
function createContains(state: State, pollSoon: () => void): SealingHeads["contains"] {
  const { file, registration, remembered, refuse, setTrouble } = state
  /** Connections on which a batch may be appended, and the database that this process was registered with then. */
  const admitted = new WeakMap<object, Lineage>()

  const admit = async (tx: Tx, head: RememberedHead): Promise<void> => {
    if ((await notContained(tx, head, remembered())).length > 0) refuse(OLDER)
    const found = await registration?.read(tx)
    const awaited = found === undefined ? [] : awaitedOf(found)
    const isElsewhere = found !== undefined && registration?.isHere(found) === false
    if (isElsewhere || awaited.length > 0) {
      pollSoon()
      refuse(isElsewhere ? ELSEWHERE : awaitedSentence(awaited))
    }
    admitted.set(tx.connection, file.own().lineage)
  }
  return async (tx, row) => {
    const head = headOf(row)
    const own = file.own()
    const lineage = admitted.get(tx.connection)
    if (lineage === undefined) await admit(tx, head)
    else if (!sameDatabase(lineage, own.lineage)) refuse(ELSEWHERE)
    else if (own.root !== head.root && (await notContained(tx, head, [own])).length > 0) refuse(OLDER)
    if (isLeftBehind(file, remembered())) refuse(ELSEWHERE)
    // The head is not remembered here: only an acknowledged head is, and this one may be of a commit without a confirmation.
    setTrouble(undefined)
  }
}

/** @param poll checks which database this is now */
function createReadGuard(state: State, poll: () => Promise<void>): (db: Database) => Database {
  const refuseTroubled = (): void => {
    const reason = state.trouble()
    if (reason !== undefined) throw sealingRefused(reason)
  }
  const remembered = (): readonly RememberedHead[] => {
    try {
      return state.remembered()
    } catch (cause) {
      refuseTroubled()
      throw new StoreError("unavailable", { cause })
    }
  }
  const compare = async (session: Session): Promise<void> => {
    if (state.compared.has(session.connection)) return
    if (await lacks(session, remembered())) throw sealingRefused(OLDER)
    state.compared.add(session.connection)
  }
  const guarding =
    (run: Source["read"]): Source["read"] =>
    async work => {
      // Nothing that is refused here leads to a batch, which would find that the trouble is over.
      if (state.trouble() !== undefined) await poll().catch(() => undefined)
      refuseTroubled()
      return run(async session => {
        await compare(session)
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

// Polls the database, also while nothing is sealed: whether it is still the same one, and contains every remembered head.

type Poll = Pick<Heads, "start" | "poll" | "close"> & {
  /** Polls once the current batch has ended. */
  readonly pollSoon: () => void
}

function openPoll(state: State): Poll {
  const { file, registration, remembered, setTrouble } = state
  let db: Database | undefined
  let last: LastComplete | undefined
  let current: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const setAwaited = (found: Registrations): void => {
    const awaited = awaitedOf(found)
    if (awaited.length === 0) last = { ...found, atMs: performance.now() }
    setTrouble(awaited.length === 0 ? undefined : awaitedSentence(awaited))
  }
  /** @returns whether a registration is due */
  const check = async (session: Session): Promise<boolean> => {
    const mustCompare = state.trouble() === OLDER || !state.compared.has(session.connection)
    const heads = mustCompare ? remembered() : [file.own()]
    const found = await registration?.read(session)
    if (found?.facts.standby === true) return false
    if (await lacks(session, heads)) {
      setTrouble(OLDER)
      return false
    }
    state.compared.add(session.connection)
    if (found === undefined) setTrouble(undefined)
    else if (registration?.isDue(found) === true) return true
    else if (isLeftBehind(file, remembered())) setTrouble(ELSEWHERE)
    else setAwaited(found)
    return false
  }
  const pollNow = async (): Promise<void> => {
    const source = db
    if (source === undefined) return
    if (registration !== undefined) await source.quick.read(({ sql }) => endStalledSessions(sql)).catch(() => undefined)
    if (!(await source.read(check)) || registration === undefined) return
    const { missing } = await state.queue(() => register(state, source, last))
    if (missing.length > 0) setTrouble(OLDER)
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
      const { head, missing } = await register(state, opened, last, { isStart: true })
      refuseStart(head, missing)
      db = opened
      if (registration !== undefined) timer = setInterval(pollSoon, POLL_EVERY_MS).unref()
      await poll()
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

/**
 * Registers with the database if it contains every remembered head, and remembers its head.
 * @returns the head, and what the log does not contain: then nothing was registered
 */
const register = (state: State, db: Database, last: LastComplete | undefined, { isStart = false } = {}) =>
  db.transaction(async tx => {
    const { file, registration, remembered } = state
    const head = headOf(await lockHead(tx))
    const missing = await notContained(tx, head, remembered())
    if (missing.length > 0) return { head, missing }
    // The head may have been read from a commit that a standby has not confirmed yet; a remembered head must not be lost.
    await db.confirm()
    if (registration === undefined) await file.remember(head)
    else await registration.register(tx, head, last)
    if ((await notContained(tx, head, remembered())).length > 0) state.refuse(OLDER)
    // At the start alone, when most other files are of processes that have ended.
    if (isStart) await file.tidy(async other => (await notContained(tx, head, [other])).length === 0)
    return { head, missing }
  })

/** Tells the database that this process stops, if that does not take long. */
const leave = (db: Database, registration: FolderRegistration): Promise<unknown> =>
  Promise.race([
    db.transaction(registration.leave).catch(() => undefined),
    setTimeout(LEAVE_WITHIN_MS, undefined, { ref: false }),
  ])
