/**
 * Keeps the log from being forked: nothing is sealed on a head whose log does not contain every head that is remembered
 * beside the keys, nor in a database that took another's place before every folder of heads was held against it.
 * Decision 0110.
 */
import type { HeadFile, Lineage, RememberedHead } from "../keys/head-file.ts"
import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { lockHead } from "../store/tables/log-store.ts"
import { contradictsHead, type Head, headOf, notContained } from "./head-containment.ts"
import { createTurns, openHeadLooks } from "./head-looks.ts"
import { createHeadState, type HeadState, OLDER } from "./head-state.ts"
import { awaitedOf, awaitedSentence } from "./lineage.ts"
import { type FolderName, openVouching, type Vouching } from "./vouching.ts"

/** What a sealer asks and tells of heads. */
export type SealingHeads = {
  /** Does the work of a batch, from its check of the head until that of the next is remembered, while nothing else is decided of heads. */
  readonly whileSealing: <T>(work: () => Promise<T>) => Promise<T>
  /** Resolves when a head could be remembered now. Awaited before a batch begins: one that was not remembered is alone. */
  readonly readyToRemember: () => Promise<void>
  /**
   * Resolves when the locked head may be gone on from. Costs nothing while the head is the one this process made last.
   * @throws StoreError "unavailable" when it may not
   */
  readonly checkHead: (tx: Tx, head: Head) => Promise<void>
  /** Makes the head durable beside the keys, after commit and before any answer. */
  readonly rememberHead: (size: number, root: Uint8Array) => Promise<void>
}

export type HeadGuard = SealingHeads & {
  /**
   * Holds the database against what every process of the keys folder remembers, and stands for them from then on. Then looks at
   * it every two seconds.
   * @throws StartupError when the database holds an older log, or another
   */
  readonly begin: (db: Database) => Promise<void>
  /** Whether anything was acknowledged on these keys. */
  readonly remembersAny: () => boolean
  /** Looks which database this is now, as is done every two seconds. Rejects when it cannot be asked. */
  readonly look: () => Promise<void>
  /** Why nothing is sealed, as far as the last look or batch found; undefined when something would be. */
  readonly trouble: () => string | undefined
  /** Whether a head is older than the last one that was checked or made here, or another of the same size. */
  readonly contradicts: (size: number, root: Uint8Array) => boolean
  /** Whether it is the last head that was acknowledged here, or found kept. */
  readonly isKnown: (size: number, root: Uint8Array) => boolean
  readonly writable: () => boolean
  readonly close: () => Promise<void>
}

type HeadGuardParts = {
  readonly file: HeadFile
  /** Absent for the embedded database, which no other takes the place of. */
  readonly folder?: FolderName
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Told why nothing is sealed, and that something is again, once each time. */
  readonly report?: (trouble: string | undefined) => void
}

const NOT_REMEMBERED =
  "The folder of the heads beside the keys cannot be written; nothing is sealed until the log's head can be remembered there."
const ELSEWHERE =
  "The database is another one than before, or was promoted: it is being held against what is remembered."

export function openHeadGuard({ file, folder, nowMs, report = () => undefined }: HeadGuardParts): HeadGuard {
  const state = createHeadState(file, report)
  const vouching = folder && openVouching(file, folder, nowMs)
  const turns = createTurns()
  const looks = openHeadLooks(state, vouching, turns)
  return {
    begin: async db => {
      await db.transaction(async tx => {
        // Under the head's lock no other process seals: what their files say cannot pass what is read here.
        const head = headOf(await lockHead(tx))
        // What is remembered must not be lost: a commit before may have been read without being confirmed.
        await db.confirm()
        refuseStart(head, await notContained(tx, head, file.all()))
        if (vouching === undefined) await file.remember(head)
        else await vouching.vouch(tx, head, undefined)
        state.know(head)
        await file.tidy(async other => (await notContained(tx, head, [other])).length === 0)
      })
      await looks.begin(db)
    },
    remembersAny: () => file.all().length > 0,
    look: looks.look,
    trouble: state.trouble,
    whileSealing: turns,
    readyToRemember: async () => {
      await file.ready().catch(cause => {
        throw new StoreError("unavailable", { message: NOT_REMEMBERED, cause })
      })
    },
    checkHead: openHeadCheck(file, state, vouching, looks.lookLater),
    rememberHead: async (size, root) => {
      const head = headOf({ size, root })
      state.know(head)
      await file.remember({ ...head, lineage: file.own().lineage })
    },
    contradicts: (size, root) => {
      const known = state.known()
      return known !== undefined && contradictsHead(known, headOf({ size, root }))
    },
    isKnown: (size, root) => state.known()?.root === headOf({ size, root }).root,
    writable: file.writable,
    close: async () => {
      await looks.close()
      file.close()
    },
  }
}

/** The check of a head that a batch has locked. @param lookLater called when a look may help */
function openHeadCheck(
  file: HeadFile,
  state: HeadState,
  vouching: Vouching | undefined,
  lookLater: () => void,
): SealingHeads["checkHead"] {
  /** Connections on which all files were held against the database, and which one that was. */
  const checked = new WeakMap<object, Lineage>()

  const checkAll = async (tx: Tx, head: RememberedHead): Promise<void> => {
    if ((await notContained(tx, head, state.remembered())).length > 0) state.refuse(OLDER)
    const standing = await vouching?.standingOf(tx)
    const awaited = standing === undefined ? [] : awaitedOf(standing)
    const isElsewhere = standing !== undefined && vouching?.isHere(standing) === false
    if (isElsewhere || awaited.length > 0) {
      lookLater()
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
    // Known is what was acknowledged: whoever made this head may not have been told that it is kept.
    state.find(undefined)
  }
}

const sameDatabase = (a: Lineage, b: Lineage): boolean =>
  a.system === b.system && a.timeline === b.timeline && a.table === b.table

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
