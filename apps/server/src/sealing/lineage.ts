/**
 * Whether every folder of heads was held against the database that the log is in now. Decision 0110.
 *
 * A folder vouches for a database once that was found to contain all that is remembered in it. Vouches are counted in terms: who
 * comes from another database begins a new one, and what others said before it counts no more.
 */
import type { Lineage } from "../keys/head-file.ts"
import type { DatabaseFacts, HeadsFolderRow } from "../store/tables/heads-folders.ts"

/** How old the last look at a lost database may be for its settings to count, in milliseconds. */
const SYNCHRONOUS_STANDS_MS = 60_000
/** Most folders of one database. */
export const MAX_HEADS_FOLDERS = 256

/** A database and the folders it knows. */
export type Standing = {
  readonly facts: DatabaseFacts
  readonly rows: readonly HeadsFolderRow[]
  /** Whether its write-ahead log is shorter than it was seen to be: files that were put back. */
  readonly wentBack: boolean
}

/** What was seen last of a database on which all had vouched. */
export type LastSeen = Standing & { readonly atMs: number }

type Place = Pick<DatabaseFacts, "system_id" | "timeline" | "table_id">

const samePlace = (a: Place, b: Place): boolean =>
  a.system_id === b.system_id && a.timeline === b.timeline && a.table_id === b.table_id

export const isIn = ({ system, timeline, table }: Lineage, place: Place): boolean =>
  samePlace({ system_id: system, timeline, table_id: table }, place)

/** Whether a head was remembered in another database than this one. */
export const cameFromElsewhere = (lineage: Lineage, facts: DatabaseFacts): boolean =>
  lineage.system !== "0" && !isIn(lineage, facts)

const lastTerm = (rows: readonly HeadsFolderRow[]): number => Math.max(0, ...rows.map(({ term }) => term))

/** Folders that have not vouched for the database in the newest term. */
export function awaitedOf({ facts, rows }: Pick<Standing, "facts" | "rows">): readonly HeadsFolderRow[] {
  const term = lastTerm(rows)
  return rows.filter(row => row.term !== term || !samePlace(row, facts))
}

/** The term of a vouch. @param remembered the lineages of the heads of the folder that vouches */
export function nextTerm(remembered: readonly Lineage[], { facts, rows, wentBack }: Standing): number {
  const own = Math.max(0, ...remembered.map(({ term }) => term))
  const moved = wentBack || remembered.some(lineage => cameFromElsewhere(lineage, facts))
  return Math.max(own + (moved ? 1 : 0), lastTerm(rows))
}

/**
 * Folders that need not be waited for: they committed with a synchronous standby, and so did this process when it last saw the
 * database that is gone, a moment ago. Whatever was acknowledged is in the standby that took its place.
 */
export function exempted({ rows }: Standing, seen: LastSeen | undefined, nowMs: number): readonly HeadsFolderRow[] {
  if (seen === undefined || !seen.facts.synchronous || nowMs - seen.atMs > SYNCHRONOUS_STANDS_MS) return []
  const then = new Map(seen.rows.map(row => [row.folder_id, row]))
  return rows.filter(
    row => row.synchronous && then.get(row.folder_id)?.synchronous === true && samePlace(row, seen.facts),
  )
}

/** Other folders whose servers have stopped: who remembers the head of this database remembers all that they did. */
export const leftFolders = ({ facts, rows }: Standing, own: string, size: number): readonly HeadsFolderRow[] =>
  rows.filter(row => row.closed && row.folder_id !== own && row.size <= size && samePlace(row, facts))

/** Folders that this process has seen registered, and the database has lost. */
export const lostFolders = ({ rows }: Standing, seen: LastSeen | undefined): readonly HeadsFolderRow[] =>
  seen?.rows.filter(({ folder_id }) => rows.every(row => row.folder_id !== folder_id)) ?? []

/** For logs and `GET /ready`, which everybody may read: ids say nothing of the machines. */
export const awaitedSentence = (awaited: readonly HeadsFolderRow[]): string =>
  `The database is another one than before, or was promoted: nothing is sealed until ${awaited.length} more of the folders of heads ${awaited.length === 1 ? "was" : "were"} held against it: ${awaited.map(({ folder_id }) => folder_id).join(", ")}.`
