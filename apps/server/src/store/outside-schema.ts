/** Tables of logs that are not the service's own and hold its entries too; as in schema.ts. */
import { pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import { number, type TableOf } from "./tables/columns.ts"

/** A log that is not the service's own and also gets its entries. */
export type OutsideLogRow = {
  /** Base64 of the 32-byte log id. */
  readonly log_id: string
  /** Host name in its checkpoints. */
  readonly host: string
  /** Base64 of its key's DER SubjectPublicKeyInfo; what it signed before `valid_from` (Unix seconds) does not count. */
  readonly spki: string
  readonly valid_from: number
  /** The first of our entries that it gets. */
  readonly first_index: number
  /** The next of our entries that it gets: it holds all before, from the first on. */
  readonly next_index: number
  /** Why it does not hold that one yet; "" while nothing failed. */
  readonly fault: string
  /** Since when, in milliseconds since the epoch; 0 while nothing failed. */
  readonly failing_since: number
  /** The process that delivers, and until when others leave it to that one: milliseconds of the database's clock. */
  readonly holder: string
  readonly lease_until: number
}

export const outside_log: TableOf<OutsideLogRow> = pgTable("outside_log", {
  log_id: text().primaryKey(),
  host: text().notNull(),
  spki: text().notNull(),
  valid_from: number(),
  first_index: number(),
  next_index: number(),
  fault: text().notNull(),
  failing_since: number(),
  holder: text().notNull(),
  lease_until: number(),
})

/** One of our entries as an outside log holds it. */
export type OutsideEntryRow = {
  readonly log_index: number
  readonly log_id: string
  /** RFC 8785 text of its TransparencyLogEntry there. */
  readonly entry: string
  /** Base64 of the RFC 3161 TimeStampResp that says its time; "" where the log itself says it. */
  readonly timestamp: string
}

export const outside_entry: TableOf<OutsideEntryRow> = pgTable(
  "outside_entry",
  { log_index: number(), log_id: text().notNull(), entry: text().notNull(), timestamp: text().notNull().default("") },
  table => [primaryKey({ columns: [table.log_index, table.log_id] })],
)

/** Who stamped entries of outside logs that say no time. */
export type TimestampAuthorityRow = {
  /** SHA-256 over its certificates, lowercase hex. */
  readonly chain_id: string
  /** Address at which it is asked. */
  readonly uri: string
  /** Base64 of its certificates in DER, with spaces between them: its own first, the root last. */
  readonly certificates: string
}

export const timestamp_authority: TableOf<TimestampAuthorityRow> = pgTable("timestamp_authority", {
  chain_id: text().primaryKey(),
  uri: text().notNull(),
  certificates: text().notNull(),
})
