/** End documents: which permits ended without a close. */
import { index, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import { insertRows } from "../driver/insert-rows.ts"
import type { Tx } from "../driver/session.ts"
import { number, packedBundle, type RowOf } from "./column-types.ts"

export const permit_end = pgTable(
  "permit_end",
  {
    /** Of the permits; an end document is of one owner. */
    owner: number(),
    /** In the owner's chain. */
    chain_ordinal: number(),
    leaf_digest: text().notNull(),
    log_index: number(),
    /** Milliseconds since the epoch. */
    ended_at: number(),
    /** The document's RFC 8785 text. */
    document: packedBundle().notNull(),
  },
  table => [
    primaryKey({ columns: [table.owner, table.chain_ordinal] }),
    // Events are read in the order of the log.
    index("permit_end_log_index").on(table.log_index),
    index("permit_end_ended").on(table.owner, table.ended_at, table.chain_ordinal),
  ],
)

export type PermitEndRow = RowOf<typeof permit_end>

/** An end document to be stored, packed. */
export type NewPermitEndRow = Omit<PermitEndRow, "document"> & { readonly document: Uint8Array }

export const insertPermitEnds = (tx: Tx, ends: readonly NewPermitEndRow[]): Promise<void> =>
  insertRows(tx, permit_end, ends)
