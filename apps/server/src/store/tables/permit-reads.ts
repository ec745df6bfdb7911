/** Reads of permits: lists, one permit, and those that are due. */
import type { PermitState } from "@runseal/core/wire/permit-requests"
import type { Source } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import type { PermitRow } from "./permits-table.ts"
import { isReadable } from "./run-claims.ts"
import type { RowRange, RunRow } from "./runs-table.ts"

export const PERMIT_SUMMARY_COLUMNS = [
  "permit_id",
  "owner",
  "owner_ordinal",
  "state",
  "program_id",
  "route_id",
  "audience",
  "reserved",
  "opened_at",
  "expires_at",
  "close_by",
  "redeem_required",
  "redeemed_at",
  "run_id",
] as const satisfies readonly (keyof PermitRow)[]

/** What a list shows of a permit. */
export type PermitSummary = Pick<PermitRow, (typeof PERMIT_SUMMARY_COLUMNS)[number]> & {
  /** Of the run that closed it; null while there is none. */
  readonly closing_outcome: RunRow["closing_outcome"] | null
}

export type PermitPage = {
  /** All permits that match, not only those of the page. */
  readonly total: number
  /** Newest first. */
  readonly permits: readonly PermitSummary[]
}

/** One statement, so that total and page are of the same instant; of a page without permits one row holds only the total. */
type PageRow = { readonly total: number } & (PermitSummary | { readonly permit_id: null })

const PREPARED = { prepare: true }

/** What is selected of `permit` for a `PermitSummary`. */
export const SUMMARY = [
  ...PERMIT_SUMMARY_COLUMNS.map(name => `permit.${name}`),
  "(select run.closing_outcome from run where run.run_id = permit.run_id) as closing_outcome",
].join(", ")

const LIST = `
  select counted.total, page.* from (
    select coalesce(max(owner_ordinal), 0) as total from permit where owner = $1
  ) as counted left join lateral (
    select ${SUMMARY} from permit where owner = $1 and owner_ordinal <= counted.total - $2
    order by owner_ordinal desc limit $3
  ) as page on true
  order by page.owner_ordinal desc`

const LIST_OF_STATE = `
  select counted.total, page.* from (
    select count(*) as total from permit where owner = $1 and state = $4
  ) as counted left join lateral (
    select ${SUMMARY} from permit where owner = $1 and state = $4
    order by owner_ordinal desc offset $2::bigint limit $3::bigint
  ) as page on true
  order by page.owner_ordinal desc`

/** A page of an owner's permits. @param state only these; absent: all */
export function listPermits(
  source: Source,
  owner: number,
  state: PermitState | undefined,
  { limit, offset }: RowRange,
): Promise<PermitPage> {
  return source.read(async ({ sql }) => {
    const rows =
      state === undefined
        ? await sql.unsafe<PageRow[]>(LIST, [owner, offset, limit], PREPARED)
        : await sql.unsafe<PageRow[]>(LIST_OF_STATE, [owner, offset, limit, state], PREPARED)
    const permits: PermitSummary[] = []
    for (const { total: _, ...summary } of rows) if (summary.permit_id !== null) permits.push(summary)
    return { total: rows[0]?.total ?? 0, permits }
  })
}

/** A permit with its sealed documents, as RFC 8785 texts. */
export type FoundPermit = PermitSummary &
  Pick<PermitRow, "log_index" | "disclosure_seed" | "redemption_entry"> & {
    /** Absent for a refused one. */
    readonly opening?: string
    /** The document that ended it. */
    readonly end?: string
  }

type StoredPermit = PermitSummary &
  Pick<PermitRow, "log_index" | "disclosure_seed" | "redemption_entry"> & {
    readonly opening: Uint8Array | null
    readonly end_document: Uint8Array | null
  }

const STORED = `select ${SUMMARY}, permit.log_index, permit.disclosure_seed, permit.redemption_entry,
    opened.packed as opening, ended.packed as end_document
  from permit left join document as opened on opened.log_index = permit.log_index
    left join document as ended
    on ended.owner = permit.owner and ended.chain_ordinal = permit.end_ordinal and ended.chain_ordinal > 0`

const FIND = `${STORED} where permit_id = $1 and ${isReadable("$2::bigint", "permit.owner")}`
const FIND_ANY = `${STORED} where permit_id = $1`

function shown({ opening, end_document, ...row }: StoredPermit): FoundPermit {
  return {
    ...row,
    ...(opening === null ? {} : { opening: unpackBundle(opening) }),
    ...(end_document === null ? {} : { end: unpackBundle(end_document) }),
  }
}

/** A permit that this key reads, as it reads runs; undefined when there is none. */
export function findPermit(source: Source, owner: number, permitId: string): Promise<FoundPermit | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql.unsafe<StoredPermit[]>(FIND, [permitId, owner], PREPARED)
    return found && shown(found)
  })
}

/** A permit of any owner: for who holds the permit itself, which names it. */
export function findHeldPermit(source: Source, permitId: string): Promise<FoundPermit | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql.unsafe<StoredPermit[]>(FIND_ANY, [permitId], PREPARED)
    return found && shown(found)
  })
}

/** An open permit that is to be ended. */
export type DuePermit = Pick<PermitRow, "permit_id" | "owner"> & {
  readonly tenant_id: string
  /** Its key was revoked. */
  readonly revoked: boolean
}

/**
 * The open permits that are due, those of revoked keys first, then the oldest.
 * @param now milliseconds since the epoch; where the log's time is later, that counts: a clock that steps back extends nothing
 */
export function findDuePermits(source: Source, now: number, limit: number): Promise<readonly DuePermit[]> {
  return source.read(
    async ({ sql }) => sql<DuePermit[]>`
      select permit_id, permit.owner, tenant_id, due_at = 0 as revoked from permit
      join tenant on tenant.owner = permit.owner
      where state = 'open' and due_at < greatest(${now}::bigint, (select log_time * 1000 from log_head))
      order by due_at limit ${limit}::bigint`,
  )
}

export type OpenPermits = { readonly permits: number; readonly reserved: number }

/** How many permits are open, and the tokens that they reserve. */
export function countOpenPermits(source: Source): Promise<OpenPermits> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<OpenPermits[]>`
      select count(*) as permits, least(coalesce(sum(reserved), 0), ${Number.MAX_SAFE_INTEGER}::bigint)::bigint as reserved
      from permit where state = 'open'`
    return row ?? { permits: 0, reserved: 0 }
  })
}
