/** What each key has used. Nothing here reads runs: they are counted where they are sealed. */
import type { Source } from "../driver/session.ts"
import type { ApiKeyRow } from "./api-keys.ts"
import type { OutcomeCountRow } from "./runs-table.ts"

/** A key with the sums over its rows; key 0 is open mode. */
export type KeyUsageRow = Pick<ApiKeyRow, "key_id" | "name" | "revoked_at" | "last_used_at" | "window_token_budget"> & {
  readonly scope: ApiKeyRow["scope"] | ""
  readonly tier: ApiKeyRow["tier"] | ""
  readonly tokens: number
  readonly window_total: number
  readonly open_permits: number
  /** Runs that it was admitted to in the trial period. */
  readonly admitted: number
}

type UsageTimes = {
  readonly window_seconds: number
  /** Milliseconds since the epoch, as the next: the start of the present window, and of the trial period. */
  readonly window_start: number
  readonly trial_since: number
}

/** All keys, oldest first, behind open mode if runs were made in it. */
export function readUsage(
  source: Source,
  { window_seconds, window_start, trial_since }: UsageTimes,
): Promise<readonly KeyUsageRow[]> {
  return source.read(
    async ({ sql }) => sql<KeyUsageRow[]>`
      with listed as (
        select key_id, name, scope, tier, revoked_at, last_used_at, window_token_budget from api_key
        union all
        select 0, 'anonymous', '', '', 0, 0, -1 from tenant where owner = 0
      )
      select listed.*,
        (select least(coalesce(sum(total), 0), ${Number.MAX_SAFE_INTEGER}::bigint)::bigint from tenant_window
          where tenant_window.tenant_id = tenant.tenant_id) as tokens,
        coalesce((select total from tenant_window where tenant_window.tenant_id = tenant.tenant_id
          and tenant_window.window_seconds = ${window_seconds}::bigint
          and tenant_window.window_start = ${window_start}::bigint), 0) as window_total,
        (select count(*) from permit where permit.owner = listed.key_id and state = 'open') as open_permits,
        (select count(*) from trial_admission where trial_admission.key_id = listed.key_id
          and admitted_at > ${trial_since}::bigint) as admitted
      from listed left join tenant on tenant.owner = listed.key_id
      order by listed.key_id`,
  )
}

/** The runs of every owner, by outcome. */
export function readOutcomeCounts(source: Source): Promise<readonly OutcomeCountRow[]> {
  return source.read(async ({ sql }) => sql<OutcomeCountRow[]>`select owner, outcome_kind, runs from outcome_count`)
}
