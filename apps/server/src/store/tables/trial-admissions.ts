/** Runs that trial keys were admitted to. docs/api.md, "Limits": so many in a rolling period. */
import type { TrialAdmissionRow } from "../access-schema.ts"
import type { Database } from "../driver/database.ts"
import { insertRows } from "../driver/insert-rows.ts"
import type { Tx } from "../driver/session.ts"
import { sentTogether } from "../driver/transaction.ts"

/** A run asked for. `admission_id` is new each time. */
export type AskedAdmission = Pick<TrialAdmissionRow, "admission_id" | "key_id">

export type TrialCap = {
  /** Runs in a period. */
  readonly runs: number
  readonly period_ms: number
}

export type AdmissionResult =
  | { readonly admitted: true }
  /** When the oldest admission of the period leaves it, in milliseconds since the epoch. */
  | { readonly admitted: false; readonly free_at: number }

type Used = { readonly key_id: number; readonly used: number; readonly oldest: number }

/**
 * Admits runs in one transaction, as if one after the other in the order given: of one key never more than the cap within a
 * period, whoever else asks at the same time. Keys that exist, at most a batch of runs.
 *
 * The commit does not wait for the disk: a run is sealed after its admission, and the sealing transaction, which does wait,
 * takes along what was committed before it.
 * @param at milliseconds since the epoch
 */
export function admitTrialRuns(
  db: Database,
  asked: readonly AskedAdmission[],
  at: number,
  cap: TrialCap,
): Promise<readonly AdmissionResult[]> {
  const keyIds = [...new Set(asked.map(({ key_id }) => key_id))]
  // In this order: what is counted behind the keys' locks is final.
  const open = (tx: Tx) => sentTogether([lockKeys(tx, keyIds), usedBy(tx, keyIds, at - cap.period_ms)])
  return db.transactionFrom(open, async (tx, [, before]) => {
    const used = new Map(before.map(row => [row.key_id, { ...row }]))
    const results = asked.map(({ key_id }): AdmissionResult => {
      const { used: runs, oldest } = used.get(key_id) ?? { used: 0, oldest: at }
      if (runs >= cap.runs) return { admitted: false, free_at: oldest + cap.period_ms }
      used.set(key_id, { key_id, used: runs + 1, oldest })
      return { admitted: true }
    })
    const admitted = asked.filter((_, i) => results[i]?.admitted)
    const rows = admitted.map(admission => ({ ...admission, admitted_at: at }))
    await insertRows(tx, "trial_admission", ["admission_id", "key_id", "admitted_at"], rows)
    return results
  })
}

/** Locks the keys, always in the same order, against everybody else who admits runs of theirs. */
async function lockKeys({ sql }: Tx, keyIds: readonly number[]): Promise<void> {
  await sql`
    select key_id, set_config('synchronous_commit', 'off', true) from api_key
    where key_id in (select json_array_elements_text(${JSON.stringify(keyIds)}::text::json)::bigint)
    order by key_id for no key update`
}

async function usedBy({ sql }: Tx, keyIds: readonly number[], after: number): Promise<readonly Used[]> {
  const used = await sql<Used[]>`
    select key_id, count(*) as used, min(admitted_at) as oldest from trial_admission
    where key_id in (select json_array_elements_text(${JSON.stringify(keyIds)}::text::json)::bigint)
      and admitted_at > ${after}
    group by key_id`
  return used
}

/** Takes admissions back of which no run came. */
export async function withdrawAdmissions(db: Database, ids: readonly string[]): Promise<void> {
  await db.write(
    ({ sql }) => sql`
    delete from trial_admission
    where admission_id in (select json_array_elements_text(${JSON.stringify(ids)}::text::json))`,
  )
}

/**
 * Removes at most `limit` admissions of the first key after `afterKey` that are as old as `before` or older. So every key has
 * its turn, whether it is used or not, and no step looks at the whole table.
 * @returns the key whose turn it was; 0 when there is none left
 */
export function sweepTrialAdmissions(db: Database, afterKey: number, before: number, limit: number): Promise<number> {
  return db.transaction(async ({ sql }) => {
    const [next] = await sql<Pick<TrialAdmissionRow, "key_id">[]>`
      select key_id from trial_admission where key_id > ${afterKey} order by key_id limit 1`
    if (next === undefined) return 0
    await sql`
      delete from trial_admission where admission_id in (
        select admission_id from trial_admission where key_id = ${next.key_id} and admitted_at <= ${before}
        order by admitted_at limit ${limit} for update skip locked)`
    return next.key_id
  })
}
