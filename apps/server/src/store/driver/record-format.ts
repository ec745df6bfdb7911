/** The format of the records in a database, which its deployment is marked with. Decision 0145. */
import { BUNDLE_KIND } from "@runseal/core/vocabulary/versions"
import { StartupError } from "../../options/startup-error.ts"
import type { Tx } from "./session.ts"

/**
 * Changes with every change of a sealed format after which stored records are not read any more, also where the bundle keeps its name:
 * what follows the name says which.
 */
export const RECORD_FORMAT: string = `${BUNDLE_KIND} 2026-11-23 permits`

/** @throws StartupError for a deployment whose records this release does not read */
export async function refuseOtherRecords(sql: Tx["sql"]): Promise<void> {
  const [found] = await sql<{ record_format: string }[]>`select record_format from deployment`
  if (found === undefined || found.record_format === RECORD_FORMAT) return
  throw new StartupError(
    "The records in this database have another format than this release reads: start the release that made them, or give this one a new data folder or database.",
  )
}
