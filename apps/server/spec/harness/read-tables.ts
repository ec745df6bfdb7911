/** Everything the database holds, as the store's own types. */

import type { PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import { asc, gte } from "drizzle-orm"
import type { Database } from "../../src/store/driver/database.ts"
import type { Tx } from "../../src/store/driver/session.ts"
import { type AdminEventRow, DEPLOYMENT_OWNER } from "../../src/store/tables/admin-events.ts"
import type { ApiKeyRow } from "../../src/store/tables/api-keys.ts"
import type { ApprovalRow } from "../../src/store/tables/approvals-table.ts"
import type { AttestationRow } from "../../src/store/tables/attestations-table.ts"
import { type DocumentRow, document } from "../../src/store/tables/documents-table.ts"
import type { LogEntryRow, LogHeadRow, LogTileRow } from "../../src/store/tables/log-store.ts"
import type { PermitRow } from "../../src/store/tables/permits-table.ts"
import type { PublicationRow } from "../../src/store/tables/publications-table.ts"
import type { NewRunRow, RunRow } from "../../src/store/tables/runs-table.ts"
import type { TenantWindowRow, TokenMovementRow } from "../../src/store/tables/tenant-windows.ts"
import type { TenantRow } from "../../src/store/tables/tenants.ts"

// Rows with what the table of documents has of each.

type Place = Pick<DocumentRow, "chain_ordinal" | "leaf_digest">
export type StoredRun = RunRow & Place
/** Of a refused one there is no document. */
export type StoredPermit = PermitRow & Place & { readonly opening: string }
export type StoredRequest = ApprovalRow & Place & { readonly document: string }
export type StoredEnd = Place &
  Pick<DocumentRow, "owner" | "log_index"> & { readonly ended_at: number; readonly document: string }
/** Of one that is not sealed there is no document. */
export type StoredEvent = AdminEventRow & Pick<Place, "leaf_digest"> & { readonly document: string }
export type StoredAttestation = AttestationRow & { readonly document: string }

type Documented = Pick<Tables, "runs" | "permits" | "requests" | "ends" | "others" | "events" | "attestations">

/** Kinds of documents of which each has its row in a table of lists. */
const LISTED: ReadonlySet<string> = new Set(["bundle", "opening", "approval_request", "admin_event", "attestation"])

/**
 * What the tables of lists hold, and all documents: each is of one row, is the end of permits, or is of a kind that no list shows.
 * @throws Error for one whose row is missing
 */
function documented(
  documents: readonly DocumentRow[],
  rows: {
    readonly runs: readonly NewRunRow[]
    readonly permits: readonly PermitRow[]
    readonly requests: readonly ApprovalRow[]
    readonly events: readonly AdminEventRow[]
    readonly attestations: readonly AttestationRow[]
  },
): Documented {
  const left = new Map(documents.map(row => [row.log_index, row]))
  const take = (kind: string, owner: number, log_index: number, instant: number) => {
    const found = left.get(log_index)
    left.delete(log_index)
    if (found === undefined) return { text: "", chain_ordinal: 0, leaf_digest: "" }
    const { packed: text, chain_ordinal, leaf_digest } = found
    if (found.kind !== kind || found.owner !== owner || found.instant !== instant)
      throw new Error(`the document at ${log_index} is another than its row says`)
    return { text, chain_ordinal, leaf_digest }
  }
  const made = {
    runs: rows.runs.map(row => {
      const { text, ...place } = take("bundle", row.owner, row.log_index, row.created_at)
      return { ...row, ...place, bundle: text }
    }),
    permits: rows.permits.map(row => {
      const { text, ...place } = take("opening", row.owner, row.log_index, row.opened_at)
      return { ...row, ...place, opening: text }
    }),
    requests: rows.requests.map(row => {
      const { text, ...place } = take("approval_request", row.owner, row.log_index, row.requested_at)
      return { ...row, ...place, document: text }
    }),
    events: rows.events.map(row => {
      const { text, leaf_digest } = take("admin_event", DEPLOYMENT_OWNER, row.log_index, row.sealed_at)
      return { ...row, leaf_digest, document: text }
    }),
    attestations: rows.attestations.map(row => {
      const { text } = take("attestation", row.owner, row.log_index, row.created_at)
      return { ...row, document: text }
    }),
  }
  const ends = [...left.values()]
    .filter(({ kind }) => kind === "permit_end")
    .map(({ packed, kind: _, instant: ended_at, ...row }) => ({ ...row, ended_at, document: packed }))
    .toSorted((one, other) => one.owner - other.owner || one.chain_ordinal - other.chain_ordinal)
  const others = [...left.values()].filter(({ kind }) => kind !== "permit_end")
  if (others.some(({ kind }) => LISTED.has(kind))) throw new Error("a document is of no row")
  return { ...made, ends, others }
}

export type Tables = {
  readonly head: LogHeadRow
  readonly entries: readonly LogEntryRow[]
  readonly tiles: readonly LogTileRow[]
  /** By run number. */
  readonly runs: readonly StoredRun[]
  readonly tenants: readonly TenantRow[]
  readonly windows: readonly TenantWindowRow[]
  /** By window, in its order. */
  readonly movements: readonly TokenMovementRow[]
  readonly permits: readonly StoredPermit[]
  readonly requests: readonly StoredRequest[]
  readonly redeemed: readonly PermitRedemption[]
  readonly ends: readonly StoredEnd[]
  /** Documents of kinds that no table of lists shows. */
  readonly others: readonly DocumentRow[]
  readonly events: readonly StoredEvent[]
  /** By owner, oldest first. */
  readonly attestations: readonly StoredAttestation[]
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
    tenants: await sql<TenantRow[]>`select * from tenant order by tenant_id`,
    windows: await sql<TenantWindowRow[]>`select * from tenant_window order by 1, 2, 3`,
    movements: await sql<TokenMovementRow[]>`
      select * from token_movement order by tenant_id, window_seconds, window_start, ordinal`,
    redeemed: await readRedeemed(sql, -1),
    ...documented(await orm.select().from(document).orderBy(asc(document.log_index)), {
      runs: await sql<NewRunRow[]>`select * from run order by run_id`,
      permits: await sql<PermitRow[]>`select * from permit order by owner, owner_ordinal`,
      requests: await sql<ApprovalRow[]>`select * from approval order by log_index`,
      events: await sql<AdminEventRow[]>`select * from admin_event order by ordinal`,
      attestations: await sql<AttestationRow[]>`select * from attestation order by owner, owner_ordinal`,
    }),
    keys: await sql<ApiKeyRow[]>`select * from api_key order by key_id`,
    publications: await sql<PublicationRow[]>`select * from publication order by run_id`,
  }))

/** The redemptions that were logged since. */
const readRedeemed = (sql: Tx["sql"], logSize: number): Promise<readonly PermitRedemption[]> =>
  sql<PermitRedemption[]>`
    select permit_id, redeemed_at, redemption_entry from permit
    where redeemed_at > 0 and (redemption_entry::json ->> 'logIndex')::bigint >= ${logSize}`

/** How far somebody has seen the tables. */
export type Seen = { readonly logSize: number; readonly nextRunId: number }

export type NewRows = Pick<
  Tables,
  "head" | "entries" | "runs" | "permits" | "requests" | "redeemed" | "ends" | "others" | "events" | "attestations"
>

/** What came after that, in one consistent view. */
export const readNewRows = (db: Database, { logSize, nextRunId }: Seen): Promise<NewRows> =>
  consistently(db, async ({ sql, orm }) => ({
    entries: await sql<LogEntryRow[]>`select * from log_entry where log_index >= ${logSize} order by log_index`,
    redeemed: await readRedeemed(sql, logSize),
    ...documented(await orm.select().from(document).where(gte(document.log_index, logSize)), {
      runs: await sql<NewRunRow[]>`select * from run where run_id >= ${nextRunId} order by run_id`,
      permits: await sql<PermitRow[]>`
        select * from permit where log_index >= ${logSize} order by owner, owner_ordinal`,
      requests: await sql<ApprovalRow[]>`select * from approval where log_index >= ${logSize} order by log_index`,
      events: await sql<AdminEventRow[]>`select * from admin_event where log_index >= ${logSize} order by ordinal`,
      attestations: await sql<AttestationRow[]>`
        select * from attestation where log_index >= ${logSize} order by log_index`,
    }),
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
