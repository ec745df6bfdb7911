/** Everything the database holds, as the store's own types. */

import type { PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import { gte } from "drizzle-orm"
import type { Database } from "../../src/store/driver/database.ts"
import type { Tx } from "../../src/store/driver/session.ts"
import type { AdminEventRow } from "../../src/store/tables/admin-events.ts"
import type { ApiKeyRow } from "../../src/store/tables/api-keys.ts"
import type { AttestationRow } from "../../src/store/tables/attestations-table.ts"
import { unpackBundle } from "../../src/store/tables/bundle-text.ts"
import type { LogEntryRow, LogHeadRow, LogTileRow } from "../../src/store/tables/log-store.ts"
import { type PermitEndRow, permit_end } from "../../src/store/tables/permit-ends.ts"
import type { PermitRow } from "../../src/store/tables/permits-table.ts"
import type { PublicationRow } from "../../src/store/tables/publications-table.ts"
import { type RunRow, run } from "../../src/store/tables/runs-table.ts"
import type { TenantWindowRow, TokenMovementRow } from "../../src/store/tables/tenant-windows.ts"
import type { TenantRow } from "../../src/store/tables/tenants.ts"

export type Tables = {
  readonly head: LogHeadRow
  readonly entries: readonly LogEntryRow[]
  readonly tiles: readonly LogTileRow[]
  /** By run number. */
  readonly runs: readonly RunRow[]
  readonly tenants: readonly TenantRow[]
  readonly windows: readonly TenantWindowRow[]
  /** By window, in its order. */
  readonly movements: readonly TokenMovementRow[]
  readonly permits: readonly PermitRow[]
  readonly redeemed: readonly PermitRedemption[]
  readonly ends: readonly PermitEndRow[]
  readonly events: readonly AdminEventRow[]
  /** By owner, oldest first. */
  readonly attestations: readonly AttestationRow[]
  /** By number. */
  readonly keys: readonly ApiKeyRow[]
  readonly publications: readonly PublicationRow[]
}

/** One consistent view of the log's head and the rows that `read` reads: all in one transaction. */
const consistently = <Rows>(db: Database, read: (tx: Tx) => Promise<Rows>): Promise<Rows & Pick<Tables, "head">> =>
  db.transaction(async tx => {
    // Through a pooler the transaction has already asked something, and its isolation is settled.
    await tx.sql.unsafe("rollback; begin isolation level repeatable read")
    const [head] = await tx.sql<LogHeadRow[]>`select * from log_head`
    if (head === undefined) throw new Error("there is no log head")
    return { ...(await read(tx)), head }
  })

export const readTables = (db: Database): Promise<Tables> =>
  consistently(db, async ({ sql, orm }) => ({
    entries: await sql<LogEntryRow[]>`select * from log_entry order by log_index`,
    tiles: await sql<LogTileRow[]>`select * from log_tile order by level, tile_index`,
    runs: await orm.select().from(run).orderBy(run.run_id),
    tenants: await sql<TenantRow[]>`select * from tenant order by tenant_id`,
    windows: await sql<TenantWindowRow[]>`select * from tenant_window order by 1, 2, 3`,
    movements: await sql<TokenMovementRow[]>`
      select * from token_movement order by tenant_id, window_seconds, window_start, ordinal`,
    permits: await readPermits(sql, -1),
    redeemed: await readRedeemed(sql, -1),
    ends: await orm.select().from(permit_end).orderBy(permit_end.owner, permit_end.chain_ordinal),
    events: await readEvents(sql, -1),
    attestations: await sql<AttestationRow[]>`select * from attestation order by owner, owner_ordinal`,
    keys: await sql<ApiKeyRow[]>`select * from api_key order by key_id`,
    publications: await sql<PublicationRow[]>`select * from publication order by run_id`,
  }))

/** The opening of a refused permit is no bytes, which are no packed text. */
async function readPermits(sql: Tx["sql"], logSize: number): Promise<readonly PermitRow[]> {
  const rows = await sql<(Omit<PermitRow, "opening"> & { readonly opening: Uint8Array })[]>`
    select * from permit where log_index >= ${logSize} order by owner, owner_ordinal`
  return rows.map(row => ({ ...row, opening: row.opening.length === 0 ? "" : unpackBundle(row.opening) }))
}

/** The redemptions that were logged since. */
const readRedeemed = (sql: Tx["sql"], logSize: number): Promise<readonly PermitRedemption[]> =>
  sql<PermitRedemption[]>`
    select permit_id, redeemed_at, redemption_entry from permit
    where redeemed_at > 0 and (redemption_entry::json ->> 'logIndex')::bigint >= ${logSize}`

/** The document of an event that is not sealed is no bytes. */
async function readEvents(sql: Tx["sql"], logSize: number): Promise<readonly AdminEventRow[]> {
  const rows = await sql<(Omit<AdminEventRow, "document"> & { readonly document: Uint8Array })[]>`
    select * from admin_event where log_index >= ${logSize} order by ordinal`
  return rows.map(row => ({ ...row, document: row.document.length === 0 ? "" : unpackBundle(row.document) }))
}

/** How far somebody has seen the tables. */
export type Seen = { readonly logSize: number; readonly nextRunId: number }

export type NewRows = Pick<
  Tables,
  "head" | "entries" | "runs" | "permits" | "redeemed" | "ends" | "events" | "attestations"
>

/** What came after that, in one consistent view. */
export const readNewRows = (db: Database, { logSize, nextRunId }: Seen): Promise<NewRows> =>
  consistently(db, async ({ sql, orm }) => ({
    entries: await sql<LogEntryRow[]>`select * from log_entry where log_index >= ${logSize} order by log_index`,
    runs: await orm.select().from(run).where(gte(run.run_id, nextRunId)).orderBy(run.run_id),
    permits: await readPermits(sql, logSize),
    redeemed: await readRedeemed(sql, logSize),
    ends: await orm.select().from(permit_end).where(gte(permit_end.log_index, logSize)),
    events: await readEvents(sql, logSize),
    attestations: await sql<
      AttestationRow[]
    >`select * from attestation where log_index >= ${logSize} order by log_index`,
  }))

/** Runs one statement that is made of text. */
export const runSql = (db: Database, text: string): Promise<readonly object[]> =>
  db.sql<object[]>(Object.assign([text], { raw: [text] }))

/** What a refused request must leave as it was. */
export async function minted(db: Database): Promise<object> {
  const [counts] = await db.sql`
    select (select size from log_head) as log_size, (select next_run_id from log_head) as next_run_id,
      (select count(*) from run) as runs, (select count(*) from token_movement) as movements, (select count(*) from permit) as permits,
      (select count(*) from attestation) as attestations, (select count(*) from tenant) as tenants, (select coalesce(sum(total), 0) from tenant_window)::text as tokens`
  return { ...counts }
}
