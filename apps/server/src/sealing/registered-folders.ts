/** Operator commands on the folders of heads that are registered with a database server. */

import { StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import { OPERATOR_COMMAND, recordAdminEvent } from "../store/tables/admin-events.ts"
import {
  type HeadsFolderRow,
  readDatabaseFacts,
  readHeadsFolders,
  removeHeadsFolder,
} from "../store/tables/heads-folders.ts"
import { lockHead } from "../store/tables/log-store.ts"
import { doubtRedemptions } from "../store/tables/permits-table.ts"
import { awaitedOf } from "./folder-registration.ts"

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
 * that this database lacks: no permit that is open now is redeemed any more. @throws StartupError when there is no such folder */
export async function forgetFolder(db: Database, folder_id: string, nowMs: number): Promise<HeadsFolderRow> {
  refuseEmbedded(db)
  const found = await db.transaction(async tx => {
    await lockHead(tx)
    const rows = await readHeadsFolders(tx)
    const row = rows.find(each => each.folder_id === folder_id)
    if (row === undefined) return undefined
    if (awaitedOf({ facts: await readDatabaseFacts(tx), rows }).includes(row)) await doubtRedemptions(tx)
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
