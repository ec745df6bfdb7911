/**
 * Runs over time. Nothing here reads runs one by one: within an owner they are numbered without a gap, so that the runs of a time are the
 * difference of two numbers, and the refused ones, of which there is an index by outcome, are counted between them. Decision 0216.
 */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { Source } from "../driver/session.ts"
import type { Owners } from "./all-owners.ts"
import { TERM_FIELDS, termHash } from "./run-terms.ts"

/** Runs of a step; without an outcome all of them. */
export type StepCount = { readonly step: number; readonly outcome_kind: OutcomeKind | null; readonly runs: number }

/** Where the runs of each owner begin that were admitted at or after each of some times, $1 in milliseconds. Owners are those of $2, or all. */
const PLACES = `
  listed as (
    select owner from tenant where owner >= 0
      and ($2::text = '' or owner in (select value::bigint from json_array_elements_text(nullif($2::text, '')::json)))
  ), times as (
    select (ordinality - 1)::int as step, value::bigint as at
    from json_array_elements_text($1::text::json) with ordinality
  ), places as (
    select listed.owner, times.step, max(coalesce(
      (select run.owner_ordinal from run where run.owner = listed.owner and run.created_at >= times.at
        order by run.created_at, run.owner_ordinal limit 1),
      (select coalesce(max(run.owner_ordinal), 0) + 1 from run where run.owner = listed.owner)
    )) over (partition by listed.owner order by times.step) as first
    from listed cross join times
  ), spans as (
    select owner, step, first, lead(first) over (partition by owner order by step) as next from places
  )`

const OUTCOMES = `with ${PLACES}
  select step, outcome_kind, sum(runs)::bigint as runs from (
    select step, null as outcome_kind, next - first as runs from spans where next > first
    union all
    select step, kind.outcome_kind, counted.runs
    from spans
    cross join (values ('pepg_deny'), ('ccv_halt'), ('macc_halt'), ('aivp_t4_halt'), ('attestation_gap'), ('stage_error'))
      as kind(outcome_kind)
    cross join lateral (
      select count(*) as runs from run where run.owner = spans.owner and run.outcome_kind <> 'ok'
        and run.outcome_kind = kind.outcome_kind and run.owner_ordinal >= spans.first and run.owner_ordinal < spans.next
    ) as counted
    where spans.next > spans.first
  ) as each
  group by step, outcome_kind having sum(runs) > 0`

/** $3: the hashes of rules. The search index has what decided a run, also one that was allowed. */
const DENIED = `with ${PLACES}
  select rule.term, sum(counted.runs)::bigint as runs
  from spans
  cross join (select value as term from json_array_elements_text($3::text::json)) as rule
  cross join lateral (
    select count(*) as runs from run_term where run_term.owner = spans.owner and run_term.field = ${TERM_FIELDS.rule_id}
      and run_term.term = rule.term::bigint
      and run_term.owner_ordinal >= spans.first and run_term.owner_ordinal < spans.next
      and exists (select from run where run.owner = spans.owner and run.outcome_kind = 'pepg_deny'
        and run.outcome_kind <> 'ok' and run.owner_ordinal = run_term.owner_ordinal)
  ) as counted
  where spans.next > spans.first
  group by rule.term having sum(counted.runs) > 0`

const ownersText = (owners: Owners): string => (owners === undefined ? "" : JSON.stringify(owners))

/**
 * How many runs of these owners there were between each two times, and how many of each outcome but `ok`. Runs are in the order in which
 * they were sealed: one that was admitted just before a time may be counted after it.
 * @param times milliseconds since the epoch, ascending
 */
export function countOutcomesOverTime(
  source: Source,
  owners: Owners,
  times: readonly number[],
): Promise<readonly StepCount[]> {
  return source.read(async ({ sql }) => sql.unsafe<StepCount[]>(OUTCOMES, [JSON.stringify(times), ownersText(owners)]))
}

/** How many runs of these owners each rule or signature denied from one time to another. @param rules each once */
export async function countDenied(
  source: Source,
  owners: Owners,
  times: readonly [from: number, to: number],
  rules: readonly string[],
): Promise<readonly { readonly rule_id: string; readonly runs: number }[]> {
  const ids = new Map(rules.map(rule => [termHash(rule), rule]))
  const values = [JSON.stringify(times), ownersText(owners), JSON.stringify([...ids.keys()])]
  const rows = await source.read(async ({ sql }) => sql.unsafe<{ term: string; runs: number }[]>(DENIED, values))
  return rows.flatMap(({ term, runs }) => {
    const rule_id = ids.get(term)
    return rule_id === undefined ? [] : [{ rule_id, runs }]
  })
}

const TOKENS = `
  with times as (
    select (ordinality - 1)::int as step, value::bigint as at, lead(value::bigint) over (order by ordinality) as next
    from json_array_elements_text($1::text::json) with ordinality
  )
  select times.step, least(sum(tenant_window.total), ${Number.MAX_SAFE_INTEGER}::bigint)::bigint as tokens
  from tenant
  join tenant_window on tenant_window.tenant_id = tenant.tenant_id and tenant_window.window_seconds = $3::bigint
  join times on tenant_window.window_start >= times.at and tenant_window.window_start < times.next
  where tenant.owner >= 0
    and ($2::text = '' or tenant.owner in (select value::bigint from json_array_elements_text(nullif($2::text, '')::json)))
  group by times.step`

/**
 * Tokens of the budget windows of these owners that began between each two times; none for a step without a window.
 * @param times milliseconds since the epoch, ascending
 * @param window_seconds length of the windows: those of another length are from before a change of the options
 */
export function tokensOverTime(
  source: Source,
  owners: Owners,
  times: readonly number[],
  window_seconds: number,
): Promise<readonly { readonly step: number; readonly tokens: number }[]> {
  const values = [JSON.stringify(times), ownersText(owners), window_seconds]
  return source.read(async ({ sql }) => sql.unsafe<{ step: number; tokens: number }[]>(TOKENS, values))
}

/**
 * How many entries of the log are older than each of some times. The clock of the log never goes back, so that each is found by bisection.
 * @param times Unix seconds
 */
export function logSizesAt(source: Source, times: readonly number[]): Promise<readonly number[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<{ size: number }[]>`
      with recursive search as (
        select (ordinality - 1)::int as step, value::bigint as at, 0::bigint as low, (select size from log_head) as high
        from json_array_elements_text(${JSON.stringify(times)}::text::json) with ordinality
        union all
        select step, at, case when is_older then (low + high) / 2 + 1 else low end,
          case when is_older then high else (low + high) / 2 end
        from (
          select search.*, (select integrated_time from log_entry where log_index = (low + high) / 2) < at as is_older
          from search where low < high
        ) as halved
      )
      select low as size from search where low >= high order by step`
    return rows.map(({ size }) => size)
  })
}
