/** Which key reads the runs of open mode. They are given once, and never taken back. Decision 0125. */
import type { EventFacts } from "@runseal/core/artifacts/admin-event"
import { pgTable } from "drizzle-orm/pg-core"
import type { Source } from "../driver/session.ts"
import { type Acts, recordAdminEvent } from "./admin-events.ts"
import { number, onlyRow, type RowOf } from "./column-types.ts"

/** The one claim of a deployment; no row before it. */
export const run_claim = pgTable("run_claim", {
  only: onlyRow(),
  /** The key that reads the runs. */
  key_id: number(),
  /** The admin key that gave them. */
  claimed_by: number(),
  /** Milliseconds since the epoch. */
  claimed_at: number(),
})

export type RunClaimRow = RowOf<typeof run_claim>

/**
 * - `absent`: there is no such key, or it is revoked
 * - `nothing`: no run was made in open mode
 * - `nobody`: the admin key is revoked or expired
 */
export type ClaimResult = (RunClaimRow & { readonly runs: number }) | "absent" | "nothing" | "nobody"

/**
 * Gives the runs of open mode to a key, unless they were given before: then the stored claim is returned. Both keys are locked
 * against a revocation until the claim is committed.
 */
export function claimRuns(acts: Acts, claim: RunClaimRow, who: EventFacts["who"]): Promise<ClaimResult> {
  const { key_id, claimed_by, claimed_at } = claim
  return acts.transaction(async tx => {
    const { sql } = tx
    const [found] = await sql<{ runs: number; is_admin: boolean; is_key: boolean }[]>`
      with held as (
        select key_id, scope, expires_at from api_key
        where key_id in (${claimed_by}::bigint, ${key_id}::bigint) and revoked_at = 0 order by key_id for share
      )
      select coalesce((select max(owner_ordinal) from run where owner = 0), 0) as runs,
        exists(
          select from held where key_id = ${claimed_by}::bigint and scope = 'admin'
            and (expires_at = 0 or expires_at > ${claimed_at}::bigint)
        ) as is_admin,
        exists(select from held where key_id = ${key_id}::bigint) as is_key`
    if (found === undefined || !found.is_admin) return "nobody"
    if (!found.is_key) return "absent"
    if (found.runs === 0) return "nothing"
    const { count } = await sql`
      insert into run_claim ("only", key_id, claimed_by, claimed_at)
      values (true, ${key_id}::bigint, ${claimed_by}::bigint, ${claimed_at}::bigint) on conflict do nothing`
    const subject = { kind: "key" as const, id: String(key_id) }
    const event = { at: claimed_at, who, action: "runs.claim", subject, after: { runs: found.runs } } as const
    if (count === 1) await recordAdminEvent(tx, event)
    const [stored = claim] = await sql<RunClaimRow[]>`select key_id, claimed_by, claimed_at from run_claim`
    return { ...stored, runs: found.runs }
  })
}

/** The claim; undefined before one is made. */
export function findClaim(source: Source): Promise<RunClaimRow | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql<RunClaimRow[]>`select key_id, claimed_by, claimed_at from run_claim`
    return found
  })
}

/** SQL condition on runs and permits: the owner is the caller, or it is of open mode and the caller has the claim. */
export const isReadable = (caller: string, owner = "owner"): string =>
  `(${owner} = ${caller} or (${owner} = 0 and exists(select from run_claim where key_id = ${caller})))`
