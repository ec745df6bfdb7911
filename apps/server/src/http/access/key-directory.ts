/**
 * Finds the key of a secret. Every request reads the database, without a cache, so that a revocation holds from the next request
 * on in every process. Requests that wait at the same time are looked up by one statement; where several processes share the
 * database, that statement also counts them for their rate limits.
 */

import type { LimitName } from "@runseal/api/endpoint"
import type { Database } from "../../store/driver/database.ts"
import { createGroupCommit, type Upstream } from "../../store/driver/group-commit.ts"
import { type ActiveKey, findActiveKeys, hasKeys, noteUses } from "../../store/tables/api-keys.ts"
import { countKeyRequests } from "../../store/tables/request-windows.ts"
import type { Telemetry } from "../../telemetry.ts"
import { isSecret, secretHash } from "./api-key.ts"
import { ANONYMOUS, type KeyCaller, keyCaller } from "./caller.ts"
import { type Counted, countedIn, isShared, numberRequests, sweepWindows, WINDOW_MS } from "./request-counter.ts"

/** Secrets that one statement reads. */
export const MAX_LOOKUPS_PER_STATEMENT = 256
/** Requests that may wait in the queue for their look-up; one more is refused at once. */
export const MAX_WAITING_LOOKUPS = 4096
/** A key's last use is written at most this often. */
export const USE_NOTED_EVERY_MS = 60_000

/** A caller, with the request's number in its window where it is counted already; or "nobody": the request is refused with 401. */
export type Admission = { readonly caller: KeyCaller; readonly counted?: Counted } | "nobody"

export type KeyDirectory = Upstream & {
  /**
   * Finds the caller of a request.
   * @param secret text of the key header; absent when none was sent
   * @param limit the rate limit of the request; absent where it has none
   * @throws StoreError "unavailable" when the queue is full, otherwise the failure of the look-up
   */
  readonly admit: (secret: string | undefined, limit?: LimitName) => Promise<Admission>
  /** The same for the SHA-256 of a secret in hex, which a session leads to. */
  readonly admitHash: (hash: string, limit?: LimitName) => Promise<Admission>
  /** Resolves when the last uses that were seen so far are written, or their write failed. */
  readonly usesNoted: () => Promise<void>
  /** Refuses further requests and writes the last uses. */
  readonly close: () => Promise<void>
}

type DirectoryParts = {
  readonly db: Database
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "keyUseLost">
}

export function openKeyDirectory(parts: DirectoryParts): KeyDirectory {
  const { db, nowMs } = parts
  const uses = createUseNotes(parts)
  const isLocked = lockedMode(db)
  const sweeping = sweepWindows(db)
  const bounds = { batch: MAX_LOOKUPS_PER_STATEMENT, waiting: MAX_WAITING_LOOKUPS, readsOnly: true } as const
  const lookups = createGroupCommit(
    whenLocked(isLocked, (batch: readonly SoughtHash[]) => lookUp(db, batch, nowMs(), uses.note)),
    bounds,
  )
  const counted = createGroupCommit(
    whenLocked(isLocked, async (batch: readonly CountedRequest[]) => {
      const at = nowMs()
      const admissions = await lookUpAndCount(db, batch, at, uses.note)
      sweeping.due(at)
      return admissions
    }),
    bounds,
  )
  const admit = (hash: SoughtHash, limit: LimitName | undefined): Promise<Admission> =>
    limit !== undefined && isShared(db) ? counted.submit({ hash, limit }) : lookups.submit(hash)
  return {
    admit: (secret, limit) => admit(secret !== undefined && isSecret(secret) ? secretHash(secret) : undefined, limit),
    admitHash: admit,
    underWay: (isShared(db) ? counted : lookups).underWay,
    usesNoted: uses.noted,
    close: async () => {
      await lookups.close()
      await counted.close()
      await sweeping.close()
      await uses.noted()
    },
  }
}

/** Whether a key was ever created. Keys are never deleted, so that true is cached; false is read again for every batch. */
function lockedMode(db: Database): () => Promise<boolean> {
  let locked = false
  return async () => {
    locked ||= await hasKeys(db.quick)
    return locked
  }
}

/** In open mode every caller is anonymous, and no secret is looked up. */
const whenLocked =
  <Request>(isLocked: () => Promise<boolean>, lookUp: (batch: readonly Request[]) => Promise<readonly Admission[]>) =>
  async (batch: readonly Request[]): Promise<readonly Admission[]> =>
    (await isLocked()) ? lookUp(batch) : batch.map(() => ({ caller: ANONYMOUS }))

/** Hex of a secret's hash; absent when the header has no text of a secret's form. */
type SoughtHash = string | undefined

async function lookUp(
  db: Database,
  batch: readonly SoughtHash[],
  at: number,
  noteUse: (key: ActiveKey) => void,
): Promise<readonly Admission[]> {
  const hashes = [...new Set(batch.filter(hash => hash !== undefined))]
  const keys = hashes.length === 0 ? [] : await findActiveKeys(db.quick, hashes, at)
  for (const key of keys) noteUse(key)
  const admissions = new Map(keys.map(key => [key.secret_hash, { caller: keyCaller(key) }]))
  return batch.map(hash => (hash === undefined ? undefined : admissions.get(hash)) ?? "nobody")
}

/** Last uses, written in the background. Only keys that exist get here, so that their number bounds the set. */
function createUseNotes({ db, nowMs, telemetry }: DirectoryParts) {
  let due = new Set<number>()
  let writing: Promise<void> | undefined
  const writeAll = async (): Promise<void> => {
    while (due.size > 0) {
      const keyIds = [...due]
      due = new Set()
      await noteUses(db, keyIds, nowMs(), USE_NOTED_EVERY_MS).catch(telemetry.keyUseLost)
    }
    writing = undefined
  }
  return {
    note: ({ key_id, last_used_at }: ActiveKey): void => {
      if (nowMs() - last_used_at < USE_NOTED_EVERY_MS) return
      due.add(key_id)
      // Not at once: all keys of one look-up go into one statement.
      writing ??= Promise.resolve().then(writeAll)
    },
    noted: async (): Promise<void> => {
      await writing
    },
  }
}

// Finds keys and counts their requests by one statement, where several processes count in one database.

type CountedRequest = { readonly hash: SoughtHash; readonly limit: LimitName }

/** Finds the caller of each request, and numbers the requests of a batch as if they had come one after the other. */
async function lookUpAndCount(
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
