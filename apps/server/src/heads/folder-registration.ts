/**
 * Registers folders of heads with the database that the log is in. A folder registers once the database was found to contain every
 * head remembered in it; sealing waits until all folders have. Decision 0110.
 *
 * Registrations are counted in terms. A process that comes from another database starts a new term, and registrations of older
 * terms count no more.
 */
import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import type { Session, Tx } from "../store/driver/session.ts"
import { OPERATOR_COMMAND, recordAdminEvent } from "../store/tables/admin-events.ts"
import { withdrawApprovals } from "../store/tables/approvals-table.ts"
import {
  type DatabaseFacts,
  type HeadsFolderRow,
  putHeadsFolders,
  readDatabaseFacts,
  readHeadsFolders,
  removeHeadsFolder,
} from "../store/tables/heads-folders.ts"
import { lockHead } from "../store/tables/log-store.ts"
import { doubtRedemptions } from "../store/tables/permits-table.ts"
import type { FolderName, HeadFile, Lineage, RememberedHead } from "./head-files.ts"

/** The settings of a lost database count for so long after it was last read, in milliseconds. */
const SYNCHRONOUS_MAX_AGE_MS = 60_000
/** Most folders of one database. */
const MAX_HEADS_FOLDERS = 256

/** A database and the folders registered with it. */
export type Registrations = {
  readonly facts: DatabaseFacts
  readonly rows: readonly HeadsFolderRow[]
  /** Whether its log or its write-ahead log is shorter than it was before: its files were restored from a backup. */
  readonly wentBack: boolean
}

/** The last registrations that were complete, with the time they were read (`performance.now()`). */
export type LastComplete = Registrations & { readonly atMs: number }

/** Which database: of which cluster, after which promotion, in which tables. */
type DatabaseId = Pick<DatabaseFacts, "system_id" | "timeline" | "table_id">

const isSame = (a: DatabaseId, b: DatabaseId): boolean =>
  a.system_id === b.system_id && a.timeline === b.timeline && a.table_id === b.table_id

const isIn = ({ system, timeline, table }: Lineage, database: DatabaseId): boolean =>
  isSame({ system_id: system, timeline, table_id: table }, database)

/** Whether a head was remembered in another database than this one. */
const cameFromElsewhere = (lineage: Lineage, database: DatabaseId): boolean =>
  lineage.system !== "0" && !isIn(lineage, database)

export const sameDatabase = (a: Lineage, b: Lineage): boolean =>
  a.system === b.system && a.timeline === b.timeline && a.table === b.table

/**
 * Whether another process of the folder has gone on to another database: that one was found to hold what this process remembered then,
 * and lacks what is sealed here since.
 */
export function isLeftBehind(file: Pick<HeadFile, "own">, remembered: readonly RememberedHead[]): boolean {
  const own = file.own().lineage
  return remembered.some(
    ({ lineage }) => lineage.system !== "0" && lineage.term >= own.term && !sameDatabase(lineage, own),
  )
}

const lastTerm = (rows: readonly HeadsFolderRow[]): number => Math.max(0, ...rows.map(({ term }) => term))

/** Folders that have not registered with the database in the newest term. */
export function awaitedOf({ facts, rows }: Pick<Registrations, "facts" | "rows">): readonly HeadsFolderRow[] {
  const term = lastTerm(rows)
  return rows.filter(row => row.term !== term || !isSame(row, facts))
}

/** For logs and `GET /ready`, which everybody may read: ids say nothing of the machines. */
export const awaitedSentence = (awaited: readonly HeadsFolderRow[]): string =>
  `The database is another one than before, or was promoted: nothing is sealed until ${awaited.length} more of the folders of heads ${awaited.length === 1 ? "was" : "were"} held against it: ${awaited.map(({ folder_id }) => folder_id).join(", ")}.`

/** The term of a registration. @param remembered the lineages of the heads of the folder that registers */
function nextTerm(remembered: readonly Lineage[], { facts, rows, wentBack }: Registrations): number {
  const own = Math.max(0, ...remembered.map(({ term }) => term))
  const moved = wentBack || remembered.some(lineage => cameFromElsewhere(lineage, facts))
  return Math.max(own + (moved ? 1 : 0), lastTerm(rows))
}

/**
 * Folders that need not be waited for. They committed with a synchronous standby, and so did this process when it last read
 * the database that is gone, a moment ago: every acknowledged record is in the standby that replaced it.
 */
function exempted({ rows }: Registrations, last: LastComplete | undefined, nowMs: number): readonly HeadsFolderRow[] {
  if (last === undefined || !last.facts.synchronous || nowMs - last.atMs > SYNCHRONOUS_MAX_AGE_MS) return []
  const then = new Map(last.rows.map(row => [row.folder_id, row]))
  return rows.filter(row => row.synchronous && then.get(row.folder_id)?.synchronous === true && isSame(row, last.facts))
}

/** Other folders whose servers have stopped: a process that remembers the head of this database remembers all that they did. */
const leftFolders = ({ facts, rows }: Registrations, own: string, size: number): readonly HeadsFolderRow[] =>
  rows.filter(row => row.closed && row.folder_id !== own && row.size <= size && isSame(row, facts))

/** Folders that this process has read as registered, and the database has lost. */
const lostFolders = ({ rows }: Registrations, last: LastComplete | undefined): readonly HeadsFolderRow[] =>
  last?.rows.filter(({ folder_id }) => rows.every(row => row.folder_id !== folder_id)) ?? []

/** What a process that comes from another database writes of other folders. */
const othersToPut = (
  found: Registrations,
  last: LastComplete | undefined,
  here: DatabaseId & Pick<HeadsFolderRow, "term">,
): readonly HeadsFolderRow[] => [
  ...lostFolders(found, last),
  ...exempted(found, last, performance.now()).map(row => ({ ...row, ...here })),
]

export type FolderRegistration = {
  readonly read: (session: Session) => Promise<Registrations>
  /** Whether this process has registered with the database of these registrations. */
  readonly isHere: (found: Registrations) => boolean
  /** Whether the folder has to be registered, or its row no longer says what is so. */
  readonly isDue: (found: Registrations) => boolean
  /**
   * Registers the folder, after its heads were found in the log of this head, which is locked. The head is written to the head
   * file before the commit: a process that returns to the database it left must be recognised as having been elsewhere.
   * @param last of the database that was left
   */
  readonly register: (tx: Tx, head: RememberedHead, last: LastComplete | undefined) => Promise<void>
  /** Writes how far the log had grown when this process stopped, if it was the folder's only one: another folder may then replace it. */
  readonly leave: (tx: Tx) => Promise<void>
}

/** @param nowMs milliseconds since the epoch */
export function createFolderRegistration(file: HeadFile, folder: FolderName, nowMs: () => number): FolderRegistration {
  /** Furthest write-ahead position, and largest log, read of the database that this process is registered with. */
  let furthest = 0
  let largest = 0
  const read = async (session: Session): Promise<Registrations> => {
    // Compared with the value before the query: answers of two connections may come in another order.
    const before = { furthest, largest }
    const facts = await readDatabaseFacts(session)
    const wentBack = !facts.standby && (facts.position < before.furthest || facts.log_size < before.largest)
    if (!wentBack) {
      furthest = Math.max(furthest, facts.position)
      largest = Math.max(largest, facts.log_size)
    }
    return { facts, rows: await readHeadsFolders(session), wentBack }
  }
  const ownRow = ({ rows }: Registrations): HeadsFolderRow | undefined =>
    rows.find(({ folder_id }) => folder_id === folder.id)
  /** A term that is in the file and not in the database is of a registration that was not committed. */
  const isHere = (found: Registrations): boolean => {
    const { lineage } = file.own()
    return isIn(lineage, found.facts) && !found.wentBack && (ownRow(found)?.term ?? lineage.term) >= lineage.term
  }
  return {
    read,
    isHere,
    isDue: found => {
      const own = ownRow(found)
      if (own === undefined || !isHere(found)) return true
      if (leftFolders(found, folder.id, Number.MAX_SAFE_INTEGER).length > 0) return true
      return awaitedOf(found).includes(own) || own.synchronous !== found.facts.synchronous || own.closed
    },
    register: async (tx, head, last) => {
      const found = await read(tx)
      const { system_id, timeline, table_id, synchronous } = found.facts
      const lineages = [file.own(), ...file.all()].map(({ lineage }) => lineage)
      const here = { system_id, timeline, table_id, term: nextTerm(lineages, found) }
      const own = {
        folder_id: folder.id,
        closed: false,
        label: folder.label,
        registered_at: nowMs(),
        size: head.size,
        synchronous,
        ...here,
      }
      const moved = cameFromElsewhere(file.own().lineage, found.facts)
      const others = moved ? othersToPut(found, last, here) : []
      refuseMany([...found.rows, ...others, own])
      await file.remember({ ...head, lineage: { system: system_id, timeline, table: table_id, term: here.term } })
      await putHeadsFolders(tx, [...others, own])
      furthest = found.facts.position
      largest = found.facts.log_size
      for (const { folder_id } of leftFolders(found, folder.id, head.size)) await removeHeadsFolder(tx, folder_id)
    },
    leave: async tx => {
      const { size, lineage } = file.own()
      const row = (await readHeadsFolders(tx)).find(({ folder_id }) => folder_id === folder.id)
      // While the folder has other processes, none of them closes it for the others.
      if (row !== undefined && isIn(lineage, row) && file.all().length === 1)
        await putHeadsFolders(tx, [{ ...row, size, closed: true }])
    },
  }
}

function refuseMany(rows: readonly HeadsFolderRow[]): void {
  if (new Set(rows.map(({ folder_id }) => folder_id)).size > MAX_HEADS_FOLDERS)
    throw new StartupError(
      `The database knows ${MAX_HEADS_FOLDERS} folders of heads: forget those that are gone, with heads forget.`,
    )
}

// Commands of the operator on the registered folders.

export type ListedFolder = {
  readonly row: HeadsFolderRow
  /** Whether sealing waits for it. */
  readonly awaited: boolean
}

/** Oldest first. @throws StartupError on the embedded database */
export async function listFolders(db: Database): Promise<readonly ListedFolder[]> {
  refuseEmbedded(db)
  return db.read(async session => {
    const rows = await readHeadsFolders(session)
    const awaited = awaitedOf({ facts: await readDatabaseFacts(session), rows })
    return rows.map(row => ({ row, awaited: awaited.includes(row) }))
  })
}

/**
 * Removes a folder and returns what the database knew of it. Where sealing waited for it, its servers may have acknowledged redemptions
 * that this database lacks: no permit that is open now is redeemed any more, and no request for an approval collected. @throws StartupError when there is no such folder */
export async function forgetFolder(db: Database, folder_id: string, nowMs: number): Promise<HeadsFolderRow> {
  refuseEmbedded(db)
  const found = await db.transaction(async tx => {
    await lockHead(tx)
    const rows = await readHeadsFolders(tx)
    const row = rows.find(each => each.folder_id === folder_id)
    if (row === undefined) return undefined
    if (awaitedOf({ facts: await readDatabaseFacts(tx), rows }).includes(row)) {
      await doubtRedemptions(tx)
      // A rejection, or the permit of an approval, may be in what is lost.
      await withdrawApprovals(tx)
    }
    await removeHeadsFolder(tx, folder_id)
    await recordAdminEvent(tx, {
      at: nowMs,
      who: OPERATOR_COMMAND,
      action: "heads.forget",
      subject: { kind: "heads_folder", id: folder_id },
      before: { log_size: row.size },
    })
    return row
  })
  if (found === undefined) throw new StartupError("The database knows no folder of heads of that id; see heads list.")
  return found
}

function refuseEmbedded({ kind }: Database): void {
  if (kind !== "postgres")
    throw new StartupError(
      "The embedded database has one folder of heads, and nothing waits for another: there is nothing to do.",
    )
}
