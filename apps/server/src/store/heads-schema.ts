/** The table of the folders of heads. Decision 0110. */
import { boolean, pgTable, text } from "drizzle-orm/pg-core"
import { number, type TableOf } from "./tables/columns.ts"

/** A folder of heads beside the keys: what its processes remember is asked of before the log goes on in another database. */
export type HeadsFolderRow = {
  /** 32 hex digits. */
  readonly folder_id: string
  /** For the operator: machine and path. */
  readonly label: string
  /** Milliseconds since the epoch. */
  readonly registered_at: number
  /** PostgreSQL's system identifier, in decimal, of the database that was last found to hold what the folder remembers. */
  readonly system_id: string
  readonly timeline: number
  /** Of the log's head, in decimal: object identifier of the database times 2^32 plus that of the table. */
  readonly table_id: string
  readonly term: number
  /** Entries of the log then. */
  readonly size: number
  /** Whether its processes committed with a synchronous standby then. */
  readonly synchronous: boolean
  /** Whether its last process has stopped, and remembered nothing beyond `size`. */
  readonly closed: boolean
}

export const heads_folder: TableOf<HeadsFolderRow> = pgTable("heads_folder", {
  folder_id: text().primaryKey(),
  label: text().notNull(),
  registered_at: number(),
  system_id: text().notNull(),
  timeline: number(),
  table_id: text().notNull(),
  term: number(),
  size: number(),
  synchronous: boolean().notNull(),
  closed: boolean().notNull(),
})
