/** Keys looked up and their requests counted by one statement, where several processes count in one database. */

import type { Database } from "../../store/driver/database.ts"
import type { ActiveKey } from "../../store/tables/api-keys.ts"
import { countKeyRequests, type KeyArrivals } from "../../store/tables/request-windows.ts"
import { keyCaller } from "./caller.ts"
import type { Admission, SoughtHash } from "./key-directory.ts"
import type { LimitName } from "./rate-limit.ts"
import { WINDOW_MS } from "./request-counter.ts"

export type CountedRequest = { readonly hash: SoughtHash; readonly limit: LimitName }

/** Gives each request its caller, and its place as if they had come one after the other. */
export async function lookUpAndCount(
  db: Database,
  batch: readonly CountedRequest[],
  at: number,
  noteUse: (key: ActiveKey) => void,
): Promise<readonly Admission[]> {
  const arrivals = new Map<string, KeyArrivals>()
  const turns = batch.map(({ hash, limit }) => {
    if (hash === undefined) return undefined
    const pair = pairOf(hash, limit)
    const turn = (arrivals.get(pair)?.requests ?? 0) + 1
    arrivals.set(pair, { secret_hash: hash, limit_name: limit, requests: turn })
    return { pair, turn }
  })
  const keys = arrivals.size === 0 ? [] : await countKeyRequests(db, [...arrivals.values()], at, WINDOW_MS)
  for (const key of keys) noteUse(key)
  const active = new Map(
    keys.map(key => {
      const pair = pairOf(key.secret_hash, key.limit_name)
      const before = key.requests - (arrivals.get(pair)?.requests ?? 0)
      return [pair, { caller: keyCaller(key), before, window_start: key.window_start }]
    }),
  )
  return turns.map(request => {
    const key = request && active.get(request.pair)
    if (request === undefined || key === undefined) return "nobody"
    const { caller, before, window_start } = key
    return { caller, counted: { place: before + request.turn, window_start } }
  })
}

/** A secret's hash and a limit as one name. */
const pairOf = (hash: string, limit: string): string => `${hash} ${limit}`
