/**
 * The log's head as it is shown to callers and witnesses. What a commit left whose wait for a standby was cancelled, or ended by a
 * crash, can be read, and a failover would lose it: a checkpoint of it would be one of a log that is then forked.
 * Decision 0112.
 */
import { equalBytes } from "@runseal/canonical"
import type { Database } from "../driver/database.ts"
import { type LogHeadRow, readHead } from "./log-store.ts"

/**
 * Reads the head. One that this process has neither sealed nor shown is confirmed first, as a commit is.
 * @throws StoreError "unavailable" when it is not known to be durable
 */
export type ShownHead = () => Promise<LogHeadRow>

/** @param isKnown whether a head was acknowledged here, or found durable at the start */
export function openShownHead(
  db: Pick<Database, "read" | "confirm">,
  isKnown: (size: number, root: Uint8Array) => boolean,
): ShownHead {
  let shown: Uint8Array | undefined
  return async () => {
    const head = await readHead(db)
    const isDurable = (shown !== undefined && equalBytes(shown, head.root)) || isKnown(head.size, head.root)
    if (!isDurable) await db.confirm()
    shown = head.root
    return head
  }
}
