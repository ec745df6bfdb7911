/**
 * Requests counted for rate limits, by all processes of one database together. Counting is hand-written: one statement for a whole
 * batch of requests, as a JSON text, which also sets its own durability.
 */
import { index, pgTable, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import { type ActiveKey, acceptedSecrets, CALLER_COLUMNS } from "./api-keys.ts"
import { number, type RowOf } from "./column-types.ts"
import { sweepRows } from "./sweep-rows.ts"

/** Requests counted for one caller and limit in its present window. */
export const request_window = pgTable(
  "request_window",
  {
    /** Names limit and caller; an address is stored as an HMAC. */
    bucket: text().primaryKey(),
    /** Milliseconds since the epoch. */
    window_start: number(),
    requests: number(),
  },
  table => [index("request_window_start").on(table.window_start)],
)

type RequestWindowRow = RowOf<typeof request_window>

/** Requests that came for one bucket. */
type Arrivals = Pick<RequestWindowRow, "bucket" | "requests">

/**
 * Counts requests in one statement. A window begins with its bucket's first request and lasts `window_ms`; a request after
 * its end begins the next. Each bucket at most once; buckets are locked in one order, so that no two processes wait for each
 * other. A crash of the database may forget the counts of its last moments: the commit does not wait for the disk.
 * @param at milliseconds since the epoch
 * @returns the windows with these requests counted, in no order
 */
export const countRequests = (
  db: Database,
  arrivals: readonly Arrivals[],
  at: number,
  window_ms: number,
): Promise<readonly RequestWindowRow[]> =>
  // A window that starts a whole length from now was started by a clock that was set back since.
  db.count(
    ({ sql }) => sql<RequestWindowRow[]>`
    insert into request_window as stored (bucket, window_start, requests)
    select bucket, ${at}::bigint, requests
    from json_to_recordset(${JSON.stringify(arrivals)}::text::json) as arrived(bucket text, requests bigint)
    order by bucket collate "C"
    on conflict (bucket) do update set
      requests = excluded.requests + case
        when abs(excluded.window_start - stored.window_start) < ${window_ms}::bigint then stored.requests else 0 end,
      window_start = case
        when abs(excluded.window_start - stored.window_start) < ${window_ms}::bigint then stored.window_start
        else excluded.window_start end
    returning bucket, window_start, requests, set_config('synchronous_commit', 'off', true)`,
  )

/** Requests that came with one secret for one limit. */
export type KeyArrivals = Pick<ActiveKey, "secret_hash"> & { readonly limit_name: string; readonly requests: number }

/** An accepted key, and its window with these requests counted. */
type CountedKey = ActiveKey & RequestWindowRow & Pick<KeyArrivals, "limit_name">

/** The requests of a bucket that came with another of the key's secrets are counted behind each other. */
const COUNT_KEYS = `
  with active as (
    select ${CALLER_COLUMNS}, encode(accepted.secret_hash, 'hex') as secret_hash, limit_name, requests as arrived_requests,
      'key:' || key_id || ':' || limit_name as bucket
    from json_to_recordset($1::text::json) as arrived(hash text, limit_name text, requests bigint)
    join ${acceptedSecrets("$2::bigint")} as accepted on accepted.secret_hash = decode(arrived.hash, 'hex')
  ), counted as (
    insert into request_window as stored (bucket, window_start, requests)
    select bucket, $2::bigint, sum(arrived_requests) from active
    group by bucket order by bucket collate "C"
    on conflict (bucket) do update set
      requests = excluded.requests + case
        when abs(excluded.window_start - stored.window_start) < $3::bigint then stored.requests else 0 end,
      window_start = case
        when abs(excluded.window_start - stored.window_start) < $3::bigint then stored.window_start
        else excluded.window_start end
    returning bucket, window_start, requests, set_config('synchronous_commit', 'off', true) as unsynced
  )
  select ${CALLER_COLUMNS}, secret_hash, limit_name, bucket, window_start, unsynced,
    (requests - coalesce(sum(arrived_requests) over (
      partition by bucket order by secret_hash rows between unbounded preceding and 1 preceding), 0))::bigint as requests
  from active join counted using (bucket)`

/**
 * Finds keys and counts the requests that came with them, as `countRequests` does, in one statement: under the bucket
 * `key:<key_id>:<limit_name>`. A key that is unknown, revoked or expired is not counted. Each pair of secret and limit at most
 * once.
 * @param at milliseconds since the epoch
 * @returns one row for each pair whose key is accepted, in no order
 */
export const countKeyRequests = (
  db: Database,
  arrivals: readonly KeyArrivals[],
  at: number,
  window_ms: number,
): Promise<readonly CountedKey[]> => {
  const arrived = arrivals.map(({ secret_hash: hash, ...counted }) => ({ hash, ...counted }))
  return db.count(({ sql }) =>
    sql.unsafe<CountedKey[]>(COUNT_KEYS, [JSON.stringify(arrived), at, window_ms], { prepare: true }),
  )
}

/** Removes at most `limit` windows that have ended; those that another process holds are left to it. */
export async function sweepRequestWindows(db: Database, at: number, window_ms: number, limit: number): Promise<void> {
  const { bucket, window_start } = request_window
  await db.write(({ orm }) => sweepRows(orm, bucket, window_start, at - window_ms, limit))
}
