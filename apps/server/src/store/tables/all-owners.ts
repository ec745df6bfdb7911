/**
 * Lists over the runs and permits of all owners, or of some, the newest first. They are paged by a key of their rows, not by counting: a page costs the same
 * wherever it is. With a filter each owner's indexes give its newest rows, of which the page takes the newest of all.
 */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { PERMIT_STATES, type PermitState } from "@runseal/core/wire/permit-requests"
import type { Source } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import { SUMMARY as PERMIT_SUMMARY, type PermitSummary } from "./permits-table.ts"
import { hasTerm } from "./run-terms.ts"
import { conditions, isDated, type RunFilters, type RunSummaryRow, SUMMARY_COLUMNS } from "./runs-table.ts"

/** Ids of keys, 0 for open mode; absent: all. */
export type Owners = readonly number[] | undefined

/** The next rows before a place, or those that come after one; absent: the newest. */
export type PageBefore<Place> = {
  readonly limit: number
  readonly before?: Place | undefined
  readonly after?: Place | undefined
}

type Value = string | number

function statement(): { readonly values: Value[]; readonly place: (value: Value) => string } {
  const values: Value[] = []
  return { values, place: value => `$${values.push(value)}` }
}

const ownersIn = (owners: Owners, place: (value: Value) => string): string =>
  owners === undefined
    ? "select owner from tenant where owner >= 0"
    : `select distinct json_array_elements_text(${place(JSON.stringify(owners))}::text::json)::bigint as owner`

/** The next runs of these owners that pass all filters, newest first. @param page places are numbers of runs */
export function listAllRuns(
  source: Source,
  owners: Owners,
  filters: RunFilters,
  page: PageBefore<number>,
): Promise<readonly RunSummaryRow[]> {
  const { limit, before, after } = page
  if (after !== undefined) return runsAfter(source, owners, filters, { limit, after })
  const { values, place } = statement()
  const most = `limit ${place(limit)}::bigint`
  const isPlain = Object.values(filters).every(filter => filter === undefined)
  if (owners === undefined && isPlain) {
    const older = before === undefined ? "" : `where run_id < ${place(before)}::bigint`
    const text = `select ${SUMMARY_COLUMNS} from run ${older} order by run_id desc ${most}`
    return source.read(async ({ sql }) => sql.unsafe<RunSummaryRow[]>(text, values))
  }
  const matching = [
    "owner = listed.owner",
    ...conditions(filters, place),
    ...(filters.terms ?? []).map(term => hasTerm("listed.owner", term, place)),
    ...(before === undefined ? [] : [`owner_ordinal <= ${lastBefore(place(before))}`]),
    ...(isDated(filters) ? [`owner_ordinal <= ${newestDated(filters, place)}`] : []),
  ]
  const text = `
    select page.* from (${ownersIn(owners, place)}) as listed cross join lateral (
      select ${SUMMARY_COLUMNS} from run where ${matching.join(" and ")} order by owner_ordinal desc ${most}
    ) as page
    order by run_id desc ${most}`
  return source.read(async ({ sql }) => sql.unsafe<RunSummaryRow[]>(text, values))
}

/**
 * Runs of these owners that pass all filters, by outcome; undefined where they are more than `most`. Without a filter they were counted
 * where they were sealed.
 */
export function countAllRuns(
  source: Source,
  owners: Owners,
  filters: RunFilters,
  most: number,
): Promise<ReadonlyMap<OutcomeKind, number> | undefined> {
  const { values, place } = statement()
  const isPlain = Object.values(filters).every(filter => filter === undefined)
  const matching = [
    "owner = listed.owner",
    ...conditions(filters, place),
    ...(filters.terms ?? []).map(term => hasTerm("listed.owner", term, place)),
  ]
  const listed = `(${ownersIn(owners, place)}) as listed`
  const text = isPlain
    ? `select outcome_kind, sum(runs)::bigint as runs from outcome_count join ${listed} using (owner) group by outcome_kind`
    : `select outcome_kind, count(*) as runs from (
        select found.outcome_kind from ${listed} cross join lateral (
          select outcome_kind from run where ${matching.join(" and ")} limit ${place(most + 1)}::bigint
        ) as found limit ${place(most + 1)}::bigint
      ) as counted group by outcome_kind`
  return source.read(async ({ sql }) => {
    const rows = await sql.unsafe<{ readonly outcome_kind: OutcomeKind; readonly runs: number }[]>(text, values)
    const all = rows.reduce((sum, { runs }) => sum + runs, 0)
    return isPlain || all <= most ? new Map(rows.map(({ outcome_kind, runs }) => [outcome_kind, runs])) : undefined
  })
}

/** The runs that come after a run, the nearest ones; newest first as every list. */
async function runsAfter(
  source: Source,
  owners: Owners,
  filters: RunFilters,
  { limit, after }: { readonly limit: number; readonly after: number },
): Promise<readonly RunSummaryRow[]> {
  const { values, place } = statement()
  const most = `limit ${place(limit)}::bigint`
  const matching = [
    "owner = listed.owner",
    `run_id > ${place(after)}::bigint`,
    ...conditions(filters, place),
    ...(filters.terms ?? []).map(term => hasTerm("listed.owner", term, place)),
  ]
  const text = `
    select page.* from (${ownersIn(owners, place)}) as listed cross join lateral (
      select ${SUMMARY_COLUMNS} from run where ${matching.join(" and ")} order by run_id ${most}
    ) as page
    order by run_id ${most}`
  const rows = await source.read(async ({ sql }) => sql.unsafe<RunSummaryRow[]>(text, values))
  return [...rows].reverse()
}

/** Ordinal of the owner's last run before a run of whatever owner. */
const lastBefore = (before: string): string => `coalesce((
  select older.owner_ordinal from run as older where older.owner = listed.owner and older.run_id < ${before}::bigint
  order by older.run_id desc limit 1), 0)`

/** Ordinal of the owner's newest run of a time. With the sum, the database reads the index of times and not the runs from the newest on. */
const newestDated = ({ from_ms, to_ms }: RunFilters, place: (value: Value) => string): string => `coalesce((
  select max(dated.owner_ordinal + 0) from run as dated where dated.owner = listed.owner
    and dated.created_at >= ${place(from_ms ?? Number.MIN_SAFE_INTEGER)}::bigint
    and dated.created_at < ${place(to_ms ?? Number.MAX_SAFE_INTEGER)}::bigint), 0)`

/** Place of a permit in a list over all owners. */
export type PermitPlace = Pick<PermitSummary, "opened_at" | "permit_id">

/** The next permits of these owners, newest first. @param state only these; absent: all */
export function listAllPermits(
  source: Source,
  owners: Owners,
  state: PermitState | undefined,
  { limit, before }: PageBefore<PermitPlace>,
): Promise<readonly PermitSummary[]> {
  const { values, place } = statement()
  const most = `limit ${place(limit)}::bigint`
  const older =
    before === undefined
      ? "true"
      : `(opened_at, permit_id) < (${place(before.opened_at)}::bigint, ${place(before.permit_id)}::text)`
  const listed =
    owners === undefined
      ? `select unnest(array[${(state === undefined ? PERMIT_STATES : [state]).map(each => `'${each}'`).join(", ")}]) as state`
      : ownersIn(owners, place)
  const own =
    owners === undefined
      ? "permit.state = listed.state"
      : `permit.owner = listed.owner${state === undefined ? "" : ` and state = ${place(state)}::text`}`
  const text = `
    select page.* from (${listed}) as listed cross join lateral (
      select ${PERMIT_SUMMARY} from permit where ${own} and ${older} order by opened_at desc, permit_id desc ${most}
    ) as page
    order by opened_at desc, permit_id desc ${most}`
  return source.read(async ({ sql }) => sql.unsafe<PermitSummary[]>(text, values))
}

// The newest runs of all callers, for a dry run of a policy.

export type NewestRun = {
  readonly run_id: number
  /** The bundle's RFC 8785 text. */
  readonly bundle: string
  /** Tokens that the run wanted to reserve, where it is the refused opening of a permit; null for any other. */
  readonly asked_tokens: number | null
}

/** @param before only runs with a lower number, newest first */
export function newestRuns(source: Source, before: number, limit: number): Promise<readonly NewestRun[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<(Omit<NewestRun, "bundle"> & { readonly bundle: Uint8Array })[]>`
      select run.run_id, document.packed as bundle, permit.reserved as asked_tokens from run
      join document on document.log_index = run.log_index
      left join permit on permit.owner = run.owner and permit.run_id = run.run_id and permit.run_id > 0
        and run.permit_id = ''
      where run.run_id < ${before} order by run.run_id desc limit ${limit}`
    return rows.map(row => ({ ...row, bundle: unpackBundle(row.bundle) }))
  })
}
