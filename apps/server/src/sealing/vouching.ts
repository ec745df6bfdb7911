/** Registers a folder of heads with a database that was found to contain what is remembered in it. Decision 0110. */
import type { HeadFile, RememberedHead } from "../keys/head-file.ts"
import { StartupError } from "../options/startup-error.ts"
import type { Session, Tx } from "../store/driver/session.ts"
import {
  type HeadsFolderRow,
  putHeadsFolders,
  readDatabaseFacts,
  readHeadsFolders,
  removeHeadsFolder,
} from "../store/tables/heads-folders.ts"
import {
  awaitedOf,
  cameFromElsewhere,
  exempted,
  isIn,
  type LastSeen,
  leftFolders,
  lostFolders,
  MAX_HEADS_FOLDERS,
  nextTerm,
  type Standing,
} from "./lineage.ts"

/** How a database server knows a folder. */
export type FolderName = { readonly id: string; readonly label: string }

export type Vouching = {
  readonly standingOf: (session: Session) => Promise<Standing>
  /** Whether this process has come to the database of a standing. */
  readonly isHere: (standing: Standing) => boolean
  /** Whether the folder is to be registered anew, or what is said of it there is no longer so. */
  readonly isDue: (standing: Standing) => boolean
  /**
   * Registers the folder, after its heads were found in the log of this head, which is locked. The head becomes what this process
   * remembers, before the commit: whoever comes back to the database it left must be known to have been elsewhere.
   * @param seen of the database that was left
   */
  readonly vouch: (tx: Tx, head: RememberedHead, seen: LastSeen | undefined) => Promise<void>
  /** Says how far the log had grown when this process stopped, if it was the folder's only one: another folder may stand for it. */
  readonly leave: (tx: Tx) => Promise<void>
}

/** @param nowMs milliseconds since the epoch */
export function openVouching(file: HeadFile, folder: FolderName, nowMs: () => number): Vouching {
  /** Furthest position seen of the database that this process came to. */
  let furthest = 0
  const standingOf = async (session: Session): Promise<Standing> => {
    // Compared with what was known when it was asked: answers of two connections may come in another order.
    const before = furthest
    const facts = await readDatabaseFacts(session)
    const wentBack = !facts.standby && facts.position < before
    if (!wentBack) furthest = Math.max(furthest, facts.position)
    return { facts, rows: await readHeadsFolders(session), wentBack }
  }
  const ownRow = ({ rows }: Standing): HeadsFolderRow | undefined =>
    rows.find(({ folder_id }) => folder_id === folder.id)
  /** A term that is noted in the file and not in the database is of a registration that was not committed. */
  const isHere = (standing: Standing): boolean => {
    const { lineage } = file.own()
    return (
      isIn(lineage, standing.facts) && !standing.wentBack && (ownRow(standing)?.term ?? lineage.term) >= lineage.term
    )
  }
  return {
    standingOf,
    isHere,
    isDue: standing => {
      const own = ownRow(standing)
      if (own === undefined || !isHere(standing)) return true
      if (leftFolders(standing, folder.id, Number.MAX_SAFE_INTEGER).length > 0) return true
      return awaitedOf(standing).includes(own) || own.synchronous !== standing.facts.synchronous || own.closed
    },
    vouch: async (tx, head, seen) => {
      const standing = await standingOf(tx)
      const { system_id, timeline, table_id, synchronous } = standing.facts
      const lineages = [file.own(), ...file.all()].map(({ lineage }) => lineage)
      const here = { system_id, timeline, table_id, term: nextTerm(lineages, standing) }
      const own = {
        folder_id: folder.id,
        closed: false,
        label: folder.label,
        registered_at: nowMs(),
        size: head.size,
        synchronous,
        ...here,
      }
      const moved = cameFromElsewhere(file.own().lineage, standing.facts)
      const others = moved ? othersToPut(standing, seen, here) : []
      refuseMany([...standing.rows, ...others, own])
      await file.remember({ ...head, lineage: { system: system_id, timeline, table: table_id, term: here.term } })
      await putHeadsFolders(tx, [...others, own])
      furthest = standing.facts.position
      for (const { folder_id } of leftFolders(standing, folder.id, head.size)) await removeHeadsFolder(tx, folder_id)
    },
    leave: async tx => {
      const { size, lineage } = file.own()
      const row = (await readHeadsFolders(tx)).find(({ folder_id }) => folder_id === folder.id)
      // Of several processes of a folder none speaks for the others.
      if (row !== undefined && isIn(lineage, row) && file.all().length === 1)
        await putHeadsFolders(tx, [{ ...row, size, closed: true }])
    },
  }
}

/** What this process says of other folders when it comes from another database. */
const othersToPut = (
  standing: Standing,
  seen: LastSeen | undefined,
  here: Pick<HeadsFolderRow, "system_id" | "timeline" | "table_id" | "term">,
): readonly HeadsFolderRow[] => [
  ...lostFolders(standing, seen),
  ...exempted(standing, seen, performance.now()).map(row => ({ ...row, ...here })),
]

function refuseMany(rows: readonly HeadsFolderRow[]): void {
  if (new Set(rows.map(({ folder_id }) => folder_id)).size > MAX_HEADS_FOLDERS)
    throw new StartupError(
      `The database knows ${MAX_HEADS_FOLDERS} folders of heads: forget those that are gone, with heads forget.`,
    )
}
