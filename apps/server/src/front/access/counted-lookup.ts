/** Finds keys and counts their requests by one statement, where several processes count in one database. */

import type { Database } from "../../store/driver/database.ts"
import type { ActiveKey } from "../../store/tables/api-keys.ts"
import { countKeyRequests } from "../../store/tables/request-windows.ts"
import { keyCaller } from "./caller.ts"
import type { Admission, SoughtHash } from "./key-directory.ts"
import type { LimitName } from "./rate-limit.ts"
import { countedIn, numberRequests, WINDOW_MS } from "./request-counter.ts"

export type CountedRequest = { readonly hash: SoughtHash; readonly limit: LimitName }

/** Finds the caller of each request, and numbers the requests of a batch as if they had come one after the other. */
export async function lookUpAndCount(
  db: Database,
  batch: readonly CountedRequest[],
  at: number,
  noteUse: (key: ActiveKey) => void,
): Promise<readonly Admission[]> {
  const buckets = batch.map(({ hash, limit }) => bucketOf(hash, limit))
  const { totals, numbers } = numberRequests(buckets)
  const arrivals = new Map(
    batch.flatMap(({ hash, limit }, i) => {
      if (hash === undefined) return []
      const bucket = buckets[i] ?? ""
      return [[bucket, { secret_hash: hash, limit_name: limit, requests: totals.get(bucket) ?? 0 }]]
    }),
  )
  const keys = arrivals.size === 0 ? [] : await countKeyRequests(db, [...arrivals.values()], at, WINDOW_MS)
  for (const key of keys) noteUse(key)
  const found = new Map(keys.map(key => [bucketOf(key.secret_hash, key.limit_name), key]))
  return buckets.map((bucket, i) => {
    const key = found.get(bucket)
    if (key === undefined) return "nobody"
    return { caller: keyCaller(key), counted: countedIn(key, totals.get(bucket), numbers[i]) }
  })
}

/** A secret's hash and a limit as one name. */
const bucketOf = (hash: SoughtHash, limit: string): string => `${hash} ${limit}`
