/** Sealed runs, and how many of each outcome there are. Every read belongs to an owner (the id of an API key; 0 = anonymous) and returns only its runs. */
import type { ListedExplanation } from "@runseal/core/artifacts/explanation"
import type { ActOutcome } from "@runseal/core/artifacts/permit-sections"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { Enforcement } from "@runseal/core/vocabulary/scalars"
import { sql as fragment, getTableColumns } from "drizzle-orm"
import { index, pgTable, primaryKey, text, unique } from "drizzle-orm/pg-core"
import { insertRows, type Source, type Tx } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import { isReadable } from "./run-claims.ts"
import { hasTerm, type RunTerm } from "./run-terms.ts"

/** Every index serves one read within an owner, newest first, and counts without reading the rows; each costs every sealed run. */
export const run = pgTable(
  "run",
  {
    run_id: number().primaryKey(),
    /** Id of the API key that made the run; 0 = anonymous. */
    owner: number(),
    /** 1, 2, 3 … without a gap within the owner: lists are paged by it. */
    owner_ordinal: number(),
    /** Of its document. */
    log_index: number(),
    /** Milliseconds since the epoch. */
    created_at: number(),
    outcome_kind: text().$type<OutcomeKind>().notNull(),
    /** "" for an ok run. */
    error_stage: text().notNull(),
    program_id: text().notNull(),
    route_id: text().notNull(),
    /** Hash of the manifest, partial manifest or gap receipt; "" for a stage_error. */
    manifest_hash: text().notNull(),
    execution_region: text().notNull(),
    /** "observe" for a run that was observed and not enforced, else "". */
    enforcement: text().$type<Enforcement | "">().notNull().default(""),
    duration_us: number(),
    /** Codes of the record's findings with their counts, `CODE:count` with spaces between; "" for none. */
    findings: text().notNull().default(""),
    /** Why a gate refused it: `REASON`, with `:rule_id` where the policy gate did; "" for a run that none refused. */
    refusal: text().notNull().default(""),
    /** The permit that the run closed; "" for a run that closed none. */
    permit_id: text().notNull().default(""),
    /** What became of its act; "" for a run that closed no permit. */
    closing_outcome: text().$type<ActOutcome | "">().notNull().default(""),
    /** Secret from which the declared sections' salts come; never shown. */
    disclosure_seed: bytea().notNull(),
  },
  table => [
    unique("run_owner_ordinal").on(table.owner, table.owner_ordinal),
    unique("run_log_index").on(table.log_index),
    index("run_manifest_hash").on(table.owner, table.manifest_hash.op("text_pattern_ops"), table.owner_ordinal),
    index("run_program").on(table.owner, table.program_id, table.owner_ordinal),
    index("run_route").on(table.owner, table.route_id.op("text_pattern_ops"), table.owner_ordinal),
    /** Where the runs of an owner begin that are older than a run of any owner: lists of all owners are paged by `run_id`. */
    index("run_owner").on(table.owner, table.run_id),
    index("run_created").on(table.owner, table.created_at, table.owner_ordinal),
    index("run_refused")
      .on(table.owner, table.outcome_kind, table.owner_ordinal)
      .where(fragment`${table.outcome_kind} <> 'ok'`),
    index("run_observed")
      .on(table.owner, table.outcome_kind, table.owner_ordinal)
      .where(fragment`${table.enforcement} <> ''`),
    index("run_closing")
      .on(table.owner, table.closing_outcome, table.owner_ordinal)
      .where(fragment`${table.closing_outcome} <> ''`),
  ],
)

/** Findings as the column holds them. */
export const findingsText = (findings: readonly { readonly code: string; readonly count: number }[]): string =>
  findings.map(({ code, count }) => `${code}:${count}`).join(" ")

/** What a list shows of an explanation, as the column holds it. The ids of rules and signatures have no colon. */
export const refusalText = ({ reason, rule_id }: ListedExplanation): string =>
  rule_id === undefined ? reason : `${reason}:${rule_id}`

export type NewRunRow = RowOf<typeof run>
/** A run with its sealed document, the bundle's RFC 8785 text. */
export type RunRow = NewRunRow & { readonly bundle: string }
/** What a run list shows. docs/api.md, "GET /runs". */
export type RunSummaryRow = Omit<NewRunRow, "disclosure_seed" | "log_index">

/** `limit` ≥ 1, `offset` ≥ 0; the wire bounds them. */
export type RowRange = { readonly limit: number; readonly offset: number }

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
  readonly route_prefix?: string | undefined
  readonly status?: OutcomeKind | undefined
  /** Of a run that is not completed. */
  readonly error_stage?: string | undefined
  readonly enforcement?: Enforcement | undefined
  readonly closing_outcome?: ActOutcome | undefined
  /** Values that all have to be in the record; at least one. */
  readonly terms?: readonly RunTerm[] | undefined
  /** Created at or after, milliseconds since the epoch. */
  readonly from_ms?: number | undefined
  /** Created before, milliseconds since the epoch. */
  readonly to_ms?: number | undefined
}

/** Stores sealed runs, beside their documents. */
export const insertRuns = (tx: Tx, runs: readonly NewRunRow[]): Promise<void> => insertRows(tx, run, runs)

const RUN_COLUMNS = Object.keys(getTableColumns(run))

/** Columns that a summary does not show. */
const HIDDEN: readonly string[] = ["disclosure_seed", "log_index"]
export const SUMMARY_COLUMNS: string = RUN_COLUMNS.filter(name => !HIDDEN.includes(name)).join(", ")

/** The server caches the plan of a prepared statement; statements of the query builder are not prepared. */
const PREPARED = { prepare: true }

const FIND_ANY = `select ${RUN_COLUMNS.map(name => `run.${name}`).join(", ")}, document.packed as bundle
  from run join document on document.log_index = run.log_index where run_id = $1`
const FIND = `${FIND_ANY} and ${isReadable("$2::bigint", "run.owner")}`

/** A run of whatever owner; undefined when there is none. */
export const findAnyRun = (source: Source, runId: number): Promise<RunRow | undefined> =>
  found(source, FIND_ANY, [runId])

/** A run that this key reads: its own, or one of open mode that was given to it; undefined when there is none. */
export const findRun = (source: Source, owner: number, runId: number): Promise<RunRow | undefined> =>
  found(source, FIND, [runId, owner])

type StoredRun = Omit<RunRow, "bundle"> & { readonly bundle: Uint8Array }

function found(source: Source, statement: string, values: number[]): Promise<RunRow | undefined> {
  return source.read(async ({ sql }) => {
    const [row] = await sql.unsafe<StoredRun[]>(statement, values, PREPARED)
    return row === undefined ? undefined : { ...row, bundle: unpackBundle(row.bundle) }
  })
}

/** The document of a run, as it is stored. */
export type PackedRun = { readonly run_id: number; readonly packed: Uint8Array }

/** The documents of some runs, packed, newest first. All of them are in memory at once: a reader asks for few. */
export const packedRuns = (source: Source, runIds: readonly number[]): Promise<readonly PackedRun[]> =>
  source.read(
    async ({ sql }) => sql<PackedRun[]>`
      select run.run_id, document.packed from run join document on document.log_index = run.log_index
      where run.run_id in (select json_array_elements_text(${JSON.stringify(runIds)}::text::json)::bigint)
      order by run.run_id desc`,
  )

/**
 * A row of a page beside the number of all that match: one statement, so that both are of the same instant. Of a page without
 * runs there is one row that holds only the total.
 */
type PageRow = { readonly total: number } & (RunSummaryRow | { readonly run_id: null })

function runPage(rows: readonly PageRow[]): RunPage {
  const runs: RunSummaryRow[] = []
  for (const { total: _, ...summary } of rows) if (summary.run_id !== null) runs.push(summary)
  return { total: rows[0]?.total ?? 0, runs }
}

const LIST = `
  select counted.total, page.* from (
    select coalesce(max(owner_ordinal), 0) as total from run where owner = $1
  ) as counted left join lateral (
    select ${SUMMARY_COLUMNS} from run where owner = $1 and owner_ordinal <= counted.total - $2
    order by owner_ordinal desc limit $3
  ) as page on true
  order by page.owner_ordinal desc`

/** A page of an owner's runs. Ordinals have no gaps, so that any page is as cheap as the first. */
export function listRuns(source: Source, owner: number, { limit, offset }: RowRange): Promise<RunPage> {
  return source.read(async ({ sql }) => runPage(await sql.unsafe<PageRow[]>(LIST, [owner, offset, limit], PREPARED)))
}

/**
 * A page of the owner's runs that pass all filters. The statement is planned anew for its values: which index is best depends
 * on them. The inner query reads only an index where that holds all filtered columns, so that skipped runs cost little.
 */
export function searchRuns(
  source: Source,
  owner: number,
  filters: RunFilters,
  { limit, offset }: RowRange,
): Promise<RunPage> {
  const values: (string | number)[] = []
  const place = (value: string | number): string => `$${values.push(value)}`
  const caller = `${place(owner)}::bigint`
  const own = `owner = ${caller}`
  const withTerms = (filters.terms ?? []).map(term => hasTerm(caller, term, place))
  const matching = [own, ...conditions(filters, place), ...withTerms].join(" and ")
  const text = `
    select counted.total, page.* from (${countOf(own, matching, filters)}) as counted left join lateral (
      select ${SUMMARY_COLUMNS} from run join (
        select owner_ordinal from run where ${matching}${isDated(filters) ? " and owner_ordinal <= counted.newest" : ""}
        order by owner_ordinal desc limit ${place(limit)}::bigint offset ${place(offset)}::bigint
      ) as chosen using (owner_ordinal) where ${own}
    ) as page on true
    order by page.owner_ordinal desc`
  return source.read(async ({ sql }) => runPage(await sql.unsafe<PageRow[]>(text, values)))
}

/** Runs are nearly in the order of their times: the page of an old day starts at the day's last run, not at the newest. */
export const isDated = ({ from_ms, to_ms }: RunFilters): boolean => from_ms !== undefined || to_ms !== undefined

/** How many match. The completed runs are counted as all minus the refused ones, which are few and have an index. */
function countOf(own: string, matching: string, filters: RunFilters): string {
  const { status, ...others } = filters
  if (isDated(filters)) return `select count(*) as total, max(owner_ordinal) as newest from run where ${matching}`
  const completedOnly = status === "ok" && Object.values(others).every(filter => filter === undefined)
  if (!completedOnly) return `select count(*) as total from run where ${matching}`
  return `
    select (select coalesce(max(owner_ordinal), 0) from run where ${own})
      - (select count(*) from run where ${own} and outcome_kind <> 'ok') as total`
}

export function conditions(filters: RunFilters, place: (value: string | number) => string): readonly string[] {
  const { manifest_hash_prefix: prefix, program_id, route_id, route_prefix } = filters
  const { status, error_stage, enforcement, closing_outcome, from_ms, to_ms } = filters
  const isRefused = error_stage !== undefined || (status !== undefined && status !== "ok")
  return [
    ...(prefix === undefined ? [] : [`manifest_hash like ${place(`${literally(prefix)}%`)}`]),
    ...(program_id === undefined ? [] : [`program_id = ${place(program_id)}`]),
    ...(route_id === undefined ? [] : [`route_id = ${place(route_id)}`]),
    ...(route_prefix === undefined ? [] : [`route_id like ${place(`${literally(route_prefix)}%`)}`]),
    ...(status === undefined ? [] : [`outcome_kind = ${place(status)}`]),
    ...(error_stage === undefined ? [] : [`error_stage = ${place(error_stage)}`]),
    ...(enforcement === undefined ? [] : [`enforcement = ${place(enforcement)}`, "enforcement <> ''"]),
    ...(closing_outcome === undefined ? [] : [`closing_outcome = ${place(closing_outcome)}`, "closing_outcome <> ''"]),
    // The planner uses the partial index of refused runs only if the statement holds its condition.
    ...(isRefused ? ["outcome_kind <> 'ok'"] : []),
    ...(from_ms === undefined ? [] : [`created_at >= ${place(from_ms)}`]),
    ...(to_ms === undefined ? [] : [`created_at < ${place(to_ms)}`]),
  ]
}

/** A text that LIKE takes letter by letter. */
const literally = (text: string): string => text.replaceAll(/[\\%_]/g, wildcard => `\\${wildcard}`)

// How many runs of each outcome an owner has, counted where they are sealed: to count millions of rows takes too long for an answer.

export const outcome_count = pgTable(
  "outcome_count",
  {
    /** Id of the API key; 0 = anonymous. */
    owner: number(),
    outcome_kind: text().$type<OutcomeKind>().notNull(),
    runs: number(),
  },
  table => [primaryKey({ columns: [table.owner, table.outcome_kind] })],
)

export type OutcomeCountRow = RowOf<typeof outcome_count>

/** Adds runs to their counts. Behind the head's lock, so that no two transactions wait for each other's rows. */
export async function countOutcomes(
  { sql }: Tx,
  runs: readonly Pick<OutcomeCountRow, "owner" | "outcome_kind">[],
): Promise<void> {
  if (runs.length === 0) return
  await sql`
    insert into outcome_count as stored (owner, outcome_kind, runs)
    select owner, outcome_kind, count(*)
    from json_to_recordset(${JSON.stringify(runs)}::text::json) as sealed(owner bigint, outcome_kind text)
    group by owner, outcome_kind
    on conflict (owner, outcome_kind) do update set runs = stored.runs + excluded.runs`
}
