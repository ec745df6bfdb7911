/** Runs that trial keys were admitted to. docs/api.md, "Limits": so many in a rolling period. */
import { asc, eq, gt, inArray } from "drizzle-orm"
import { index, pgTable, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import { insertRows, sentTogether, type Tx } from "../driver/session.ts"
import { number, type RowOf } from "./column-types.ts"
import { sweepRows } from "./sweep-rows.ts"

/** One run a trial key was admitted to. What no run came of is taken back; what is older than the period is swept. */
export const trial_admission = pgTable(
  "trial_admission",
  {
    admission_id: text().primaryKey(),
    key_id: number(),
    /** Milliseconds since the epoch. */
    admitted_at: number(),
  },
  table => [index("trial_admission_key").on(table.key_id, table.admitted_at)],
)

type TrialAdmissionRow = RowOf<typeof trial_admission>

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
 * period, also when other processes admit at the same time. Of existing keys, at most a batch of runs.
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
    await insertRows(tx, trial_admission, rows)
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
  await db.write(({ orm }) => orm.delete(trial_admission).where(inArray(trial_admission.admission_id, [...ids])))
}

/**
 * Removes at most `limit` admissions of the first key after `afterKey` that are as old as `before` or older. So
 * the admissions of every key are swept, whether it is used or not, and no step reads the whole table.
 * @returns the swept key; 0 when there is none left
 */
export function sweepTrialAdmissions(db: Database, afterKey: number, before: number, limit: number): Promise<number> {
  const { admission_id, key_id, admitted_at } = trial_admission
  return db.transaction(async ({ orm }) => {
    const [next] = await orm
      .select({ key_id })
      .from(trial_admission)
      .where(gt(key_id, afterKey))
      .orderBy(asc(key_id))
      .limit(1)
    if (next === undefined) return 0
    await sweepRows(orm, admission_id, admitted_at, before, limit, eq(key_id, next.key_id))
    return next.key_id
  })
}
