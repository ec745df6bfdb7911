/**
 * The log's head as it is shown to callers and witnesses. What a commit left whose wait for a standby was cancelled, or ended by a
 * crash, can be read, and a failover would lose it: a checkpoint of it would be one of a log that is then forked.
 * Decision 0112. Nor is an older head shown than before, which a database has that was replaced and still answers. Decision 0153.
 */
import { encodeHex } from "@runseal/canonical"
import type { Database } from "../driver/database.ts"
import { StoreError } from "../driver/store-errors.ts"
import { type LogHeadRow, readHead } from "./log-store.ts"

/**
 * Reads the head. One that this process has neither sealed nor shown is confirmed first, as a commit is.
 * @throws StoreError "unavailable" when it is not known to be durable, or is older than one that this process has sealed or shown
 */
export type ShownHead = () => Promise<LogHeadRow>

/** Root in hexadecimal digits. */
type KnownHead = { readonly size: number; readonly root: string }

const OLDER = "The database answers with an older log than was shown before, or with another."
const CALLER_MESSAGE =
  "The log's database was exchanged: its head is not shown until it holds all that was shown before. Try again; if it stays so, the operator has to bring the newer one back."

/** Whether one head alone shows that its log does not contain another's: it is smaller, or of the same size with another root. */
export const contradicts = (known: KnownHead | undefined, { size, root }: KnownHead): boolean =>
  known !== undefined && (size < known.size || (size === known.size && root !== known.root))

/** @param known the last head that was acknowledged here, or found durable at the start or at a registration; a new object for each */
export function openShownHead(db: Pick<Database, "read" | "confirm">, known: () => KnownHead | undefined): ShownHead {
  /** The largest head that was shown, and what was known then: what becomes known later is newer, or was registered by an operator's word. */
  let shown: { readonly head: KnownHead; readonly known: KnownHead | undefined } | undefined
  return async () => {
    // Taken before the read: a batch that is acknowledged meanwhile makes a newer head known.
    const acknowledged = known()
    const before = shown?.known === acknowledged ? shown?.head : undefined
    const row = await readHead(db)
    const head = { size: row.size, root: encodeHex(row.root) }
    if (contradicts(acknowledged, head) || contradicts(before, head))
      throw new StoreError("unavailable", { message: OLDER, callerMessage: CALLER_MESSAGE })
    const isDurable = [before, acknowledged, known()].some(durable => durable?.root === head.root)
    if (!isDurable) await db.confirm()
    if (shown === undefined || shown.known !== acknowledged || shown.head.size < head.size)
      shown = { head, known: acknowledged }
    return row
  }
}
