/** Sealed runs. Every read belongs to an owner (the id of an API key; 0 = anonymous) and sees nobody else's runs. */

import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { and, count, desc, eq, getTableColumns, gt, gte, like, lt, lte, max, type SQL } from "drizzle-orm"
import { packBundle } from "./bundle-text.ts"
import { insertRows } from "./insert-rows.ts"
import { type RunRow, type RunSummaryRow, run } from "./schema.ts"
import type { Session, Source, Tx } from "./session.ts"

/** `limit` ≥ 1, `offset` ≥ 0; the wire bounds them. */
export type Page = { readonly limit: number; readonly offset: number }

export type RunPage = {
  /** All runs that match, not only those of the page. */
  readonly total: number
  /** Newest first. */
  readonly runs: readonly RunSummaryRow[]
}

/** An absent filter matches everything. */
export type RunFilters = {
  readonly manifest_hash_prefix?: string | undefined
  readonly program_id?: string | undefined
  readonly route_id?: string | undefined
  readonly status?: OutcomeKind | undefined
  /** Created at or after, milliseconds since the epoch. */
  readonly from_ms?: number | undefined
  /** Created before, milliseconds since the epoch. */
  readonly to_ms?: number | undefined
}

const { bundle: _bundle, disclosure_seed: _seed, ...SUMMARY_COLUMNS } = getTableColumns(run)

/** Stores sealed runs. */
export async function insertRuns(tx: Tx, runs: readonly RunRow[]): Promise<void> {
  const packed = runs.map(row => ({ ...row, bundle: packBundle(row.bundle) }))
  await insertRows(tx, "run", RUN_COLUMNS, packed)
}

const RUN_COLUMNS = [
  "run_id",
  "owner",
  "owner_ordinal",
  "created_at",
  "outcome_kind",
  "error_stage",
  "program_id",
  "route_id",
  "manifest_hash",
  "execution_region",
  "duration_us",
  "bundle",
  "disclosure_seed",
] as const

/** A run of this owner; undefined when there is none, also when it is another's. */
export function findRun(source: Source, owner: number, runId: number): Promise<RunRow | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm
      .select()
      .from(run)
      .where(and(eq(run.run_id, runId), eq(run.owner, owner)))
    return found
  })
}

/** A page of an owner's runs. Ordinals have no gaps, so that any page is as cheap as the first. */
export function listRuns(source: Source, owner: number, { limit, offset }: Page): Promise<RunPage> {
  return source.read(async ({ orm }) => {
    const total = await newestOrdinal(orm, owner)
    const newest = total - offset
    const runs = await orm
      .select(SUMMARY_COLUMNS)
      .from(run)
      .where(and(eq(run.owner, owner), lte(run.owner_ordinal, newest), gt(run.owner_ordinal, newest - limit)))
      .orderBy(desc(run.owner_ordinal))
    return { total, runs }
  })
}

/** A page of the owner's runs that pass all filters; runs sealed while this reads are left out of page and total. */
export function searchRuns(source: Source, owner: number, filters: RunFilters, page: Page): Promise<RunPage> {
  return source.read(async ({ orm }) => {
    const newest = await newestOrdinal(orm, owner)
    const matching = and(eq(run.owner, owner), lte(run.owner_ordinal, newest), ...conditions(filters))
    const [counted] = await orm.select({ total: count() }).from(run).where(matching)
    const runs = await orm
      .select(SUMMARY_COLUMNS)
      .from(run)
      .where(matching)
      .orderBy(desc(run.owner_ordinal))
      .limit(page.limit)
      .offset(page.offset)
    return { total: counted?.total ?? 0, runs }
  })
}

async function newestOrdinal(orm: Session["orm"], owner: number): Promise<number> {
  const [newest] = await orm
    .select({ ordinal: max(run.owner_ordinal) })
    .from(run)
    .where(eq(run.owner, owner))
  return newest?.ordinal ?? 0
}

function conditions(filters: RunFilters): (SQL | undefined)[] {
  const { manifest_hash_prefix: prefix, program_id, route_id, status, from_ms, to_ms } = filters
  return [
    prefix === undefined ? undefined : like(run.manifest_hash, `${literally(prefix)}%`),
    program_id === undefined ? undefined : eq(run.program_id, program_id),
    route_id === undefined ? undefined : eq(run.route_id, route_id),
    status === undefined ? undefined : eq(run.outcome_kind, status),
    from_ms === undefined ? undefined : gte(run.created_at, from_ms),
    to_ms === undefined ? undefined : lt(run.created_at, to_ms),
  ]
}

/** A text that LIKE takes letter by letter. */
const literally = (text: string): string => text.replaceAll(/[\\%_]/g, wildcard => `\\${wildcard}`)
