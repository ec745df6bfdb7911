/**
 * What needs attention, as the database has it. Each read answers few rows. Of permits and requests it takes the first that match, in the order
 * of an index, and no more than are counted; to find them it may pass over others. docs/api.md, "What needs attention".
 */
import { ATTENTION_COUNT_MAX, ATTENTION_ITEMS_MAX, NEAR_SHARE } from "@runseal/core/wire/attention-answer"
import type { Source } from "../driver/session.ts"
import type { Owners } from "./all-owners.ts"
import type { ApprovalRow } from "./approvals-table.ts"
import type { PermitRow } from "./permits-table.ts"

/** Of a kind the first rows, each with how many there are. */
type Counted = { readonly matching: number }

const ownersText = (owners: Owners): string => (owners === undefined ? "" : JSON.stringify(owners))

/** Whether an owner is one of those of $1. */
const among = (column: string): string =>
  `($1::text = '' or ${column} in (select value::bigint from json_array_elements_text(nullif($1::text, '')::json)))`

export type FullBudget = Counted & {
  readonly key_id: number
  readonly name: string
  readonly total: number
  readonly cap: number
  readonly is_full: boolean
}

/** A cap of 0 is meant: it lets nothing pass. */
const BUDGETS = `
  with budget as (
    select api_key.key_id, api_key.name, tenant_window.total, tenant_window.total >= capped.cap as is_full, capped.cap
    from (
      select key_id, name, window_token_budget from api_key where revoked_at = 0
      union all
      select 0, 'anonymous', -1
    ) as api_key
    cross join lateral (
      select case when api_key.window_token_budget < 0 then $2::bigint else api_key.window_token_budget end as cap
    ) as capped
    join tenant on tenant.owner = api_key.key_id
    join tenant_window on tenant_window.tenant_id = tenant.tenant_id
      and tenant_window.window_seconds = $3::bigint and tenant_window.window_start = $4::bigint
    where capped.cap > 0 and tenant_window.total >= capped.cap * ${NEAR_SHARE}::float and ${among("api_key.key_id")}
  )
  select * from (
    select budget.*, count(*) over (partition by is_full) as matching,
      row_number() over (partition by is_full order by total::float / cap desc, key_id) as place
    from budget
  ) as numbered where place <= ${ATTENTION_ITEMS_MAX} order by is_full desc, place`

type BudgetTimes = { readonly cap: number; readonly window_seconds: number; readonly window_start: number }

/** Windows of living keys that are full or nearly so, the fullest first. */
export function fullBudgets(
  source: Source,
  owners: Owners,
  { cap, window_seconds, window_start }: BudgetTimes,
): Promise<readonly FullBudget[]> {
  const values = [ownersText(owners), cap, window_seconds, window_start]
  return source.read(async ({ sql }) => sql.unsafe<FullBudget[]>(BUDGETS, values))
}

export type UrgentPermit = Counted &
  Pick<PermitRow, "permit_id" | "owner" | "route_id" | "close_by" | "redeemed_at"> & {
    readonly state: "open" | "ended"
  }

const PERMIT_COLUMNS = "permit_id, owner, state, route_id, close_by, redeemed_at"

/** $2: now. $3: from when on permits were opened that can have ended lately. $4: since when they ended. */
const PERMITS = `
  with urgent as (
    (select ${PERMIT_COLUMNS} from permit where state = 'open' and due_at > $2::bigint
      and due_at - $2::bigint < (close_by - opened_at) / 4 and ${among("owner")}
      order by due_at limit ${ATTENTION_COUNT_MAX})
    union all
    (select ${PERMIT_COLUMNS} from permit where state = 'ended' and opened_at > $3::bigint and close_by > $4::bigint
      and ${among("owner")} order by opened_at desc, permit_id desc limit ${ATTENTION_COUNT_MAX})
  )
  select * from (
    select urgent.*, count(*) over (partition by state) as matching,
      row_number() over (partition by state order by case state when 'open' then close_by else -close_by end, permit_id) as place
    from urgent
  ) as numbered where place <= ${ATTENTION_ITEMS_MAX} order by state, place`

/** Milliseconds since the epoch. */
type PermitTimes = { readonly now: number; readonly opened_after: number; readonly ended_after: number }

/**
 * Open permits with less than a quarter of their time left, the first to end first; and those that ended lately, the latest first: of more than are
 * counted, those that were opened last.
 */
export function urgentPermits(
  source: Source,
  owners: Owners,
  { now, opened_after, ended_after }: PermitTimes,
): Promise<readonly UrgentPermit[]> {
  const values = [ownersText(owners), now, opened_after, ended_after]
  return source.read(async ({ sql }) => sql.unsafe<UrgentPermit[]>(PERMITS, values))
}

export type WaitingApproval = Counted & Pick<ApprovalRow, "approval_id" | "route_id" | "expires_at">

/** $1: owners, $2: now. */
const waiting = (condition: string): string => `
  with waiting as (
    select approval_id, route_id, expires_at from approval
    where ended_at = 0 and state = 'waiting' and expires_at > $2::bigint and ${condition}
    order by expires_at, approval_id limit ${ATTENTION_COUNT_MAX}
  )
  select waiting.*, count(*) over () as matching from waiting order by expires_at, approval_id limit ${ATTENTION_ITEMS_MAX}`

const WAITING = waiting(among("owner"))

/** $1: groups, $3: subject. Nobody decides twice, on the own request, or on what the own key asked for. */
const FOR_PERSON = waiting(`
  exists (select from json_array_elements_text(groups::json) as named(name)
    where name in (select json_array_elements_text($1::text::json)))
  and end_user_subject <> $3::text
  and not exists (select from approval_decision where approval_decision.approval_id = approval.approval_id
    and approval_decision.subject = $3::text)
  and not exists (select from api_key where api_key.key_id = approval.owner and $3::text in (
    select json_array_elements_text(nullif(api_key.persons, '')::json)))`)

/** Requests that wait, the first to end first. @param now milliseconds since the epoch */
export const waitingApprovals = (source: Source, owners: Owners, now: number): Promise<readonly WaitingApproval[]> =>
  source.read(async ({ sql }) => sql.unsafe<WaitingApproval[]>(WAITING, [ownersText(owners), now]))

/** Those of them that a person may decide on, as far as its groups say, and has not. */
export const approvalsForPerson = (
  source: Source,
  { subject, groups }: { readonly subject: string; readonly groups: readonly string[] },
  now: number,
): Promise<readonly WaitingApproval[]> =>
  source.read(async ({ sql }) => sql.unsafe<WaitingApproval[]>(FOR_PERSON, [JSON.stringify(groups), now, subject]))
