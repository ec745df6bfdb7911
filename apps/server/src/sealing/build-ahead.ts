/**
 * Batches that are built and verified before the log's head is locked, while the batch before them is written: so the lock is held for the write
 * alone. Decision 0387.
 *
 * A batch is built on what the batches before it leave: the base. It is written only if that is what the database holds once the head is locked
 * (`isStillTrue`). Otherwise it is built again behind the lock, in the same transaction. So what is built ahead decides nothing: it is right or
 * it is thrown away, and each batch is built twice at most.
 */
import { equalBytes } from "@runseal/canonical"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import { rootOf } from "@runseal/log/merkle/compact-range"
import type { LogFrontier } from "../keys/embedded-log.ts"
import type { Database } from "../store/driver/database.ts"
import { sentTogether, type Tx } from "../store/driver/session.ts"
import { countAttestations } from "../store/tables/attestations-table.ts"
import type { KeyState } from "../store/tables/idempotency-keys.ts"
import { type LogHeadRow, loadFrontier, readHead } from "../store/tables/log-store.ts"
import { lockTenants, NO_RECORD, readTenants, type TenantClaim, type TenantRow } from "../store/tables/tenants.ts"
import type { Batch, BatchContext, BatchStart, Item, OpenItem } from "./batch.ts"
import { attestingOf, tenantOwnersOf, withoutTaken, withSalt } from "./locked-rows.ts"
import { nextLogTime } from "./log-clock.ts"
import { buildBatch } from "./seal-batch.ts"

/** What the next batch is built on. */
export type Base = Pick<LogHeadRow, "log_time" | "next_run_id"> & {
  readonly frontier: LogFrontier
  /** Tenants and owners that batches before had, as those left them. They are those of this base alone while it is the newest. */
  readonly tenants: Map<string, TenantHead>
  readonly attested: Map<number, number>
}

/** Most tenants of a base, and as many owners of attestations: those of the newest batches. What is not there is read. */
const BASE_MAX_TENANTS = 4096
/** Oldest batch that is written, in milliseconds since its log time was chosen. */
const AHEAD_MAX_AGE_MS = 60_000

export type AheadContext = BatchContext & {
  readonly db: Pick<Database, "read">
  /** Milliseconds since the epoch, by the log's clock. */
  readonly nowMs: () => number
}

/** A batch, and what it was built on. */
export type BuiltBatch = { readonly batch: Batch; readonly start: BatchStart }

/** A batch that is not written yet. */
export type AheadBatch = BuiltBatch & {
  readonly base: Base
  /** The items that were built: an item whose key another item of the batch has is not. */
  readonly items: readonly OpenItem[]
  /** The tenants that it makes. */
  readonly made: readonly TenantClaim[]
}

/**
 * Whether an item can be built without a lock: it needs its place in a chain or a count, which a batch in flight knows. Everything else reads or
 * moves rows that are locked behind the head: permits, windows, API keys, requests for an approval, admin events.
 */
export const isBuiltAhead = (item: Item): item is OpenItem =>
  (item.kind === "run" || item.kind === "attestation") &&
  "open" in item &&
  item.locks.opens === undefined &&
  item.locks.ends === undefined

/** Builds and verifies a batch. Rejects as `buildBatch` does, and when the database cannot be read. */
export async function buildAhead(items: readonly OpenItem[], base: Base, context: AheadContext): Promise<AheadBatch> {
  // Their keys are taken as free, as the requests have found them; `isStillTrue` compares them.
  const free = withoutTaken(items, statesAsSent(items))
  const owners = tenantOwnersOf(free)
  const unknown = owners.filter(({ tenant_id }) => !base.tenants.has(tenant_id))
  const attesting = attestingOf(free)
  const uncounted = attesting.filter(owner => !base.attested.has(owner))
  // A batch in flight has none of these: it would have left them in the base.
  const [found, counted] =
    unknown.length + uncounted.length === 0
      ? [new Map<string, TenantRow>(), new Map<number, number>()]
      : await context.db.read(session =>
          sentTogether([readTenants(session, unknown), countAttestations(session, uncounted)]),
        )
  const made = unknown.filter(({ tenant_id }) => !found.has(tenant_id)).map(withSalt)
  const heads = new Map<string, TenantHead>([
    ...found,
    ...made.map(claim => [claim.tenant_id, newHead(claim)] as const),
  ])
  const time = nextLogTime(base.log_time, context.nowMs())
  const start: BatchStart = {
    frontier: base.frontier,
    next_run_id: base.next_run_id,
    tenants: new Map(
      owners.flatMap(({ tenant_id }) => at(tenant_id, base.tenants.get(tenant_id) ?? heads.get(tenant_id))),
    ),
    attested: new Map(attesting.flatMap(owner => at(owner, base.attested.get(owner) ?? counted.get(owner)))),
    time,
    now: Math.max(context.nowMs(), time * 1000),
  }
  const attempts = free.map(item => ({ item, open: item.open }))
  return { batch: await buildBatch(attempts, start, context), start, base, items: free, made }
}

const at = <Key, Value>(key: Key, value: Value | undefined): readonly (readonly [Key, Value])[] =>
  value === undefined ? [] : [[key, value]]

const newHead = ({ tenant_id, salt }: TenantClaim): TenantHead => ({
  tenant_id,
  salt,
  record_count: 0,
  run_count: 0,
  head: NO_RECORD,
})

const statesAsSent = (items: readonly Item[]): ReadonlyMap<string, Pick<KeyState, "record_id" | "charge_id">> =>
  new Map(items.flatMap(({ claim, charge_id }) => at(claim?.key_hash ?? "", claim && { record_id: "", charge_id })))

/** What the database holds, behind the lock of its head. */
type Found = {
  readonly head: LogHeadRow
  /** The tenants of a batch's items that exist, locked. */
  readonly tenants: ReadonlyMap<string, TenantHead>
  /** The states of their idempotency keys, locked. */
  readonly keys: ReadonlyMap<string, KeyState>
  /** Milliseconds since the epoch, by the log's clock. */
  readonly nowMs: number
}

/**
 * Whether what a batch was built on is what the database holds. The head's epoch is compared for every batch; attestations are counted only with
 * the log's size. Makes the batch's new tenants.
 * @param items all of the batch
 */
export async function isStillTrue(
  tx: Tx,
  { base, start, items: built, made }: AheadBatch,
  items: readonly Item[],
  { head, tenants, keys, nowMs }: Found,
): Promise<boolean> {
  if (!isAt(base.frontier, head)) return false
  if (head.log_time !== base.log_time || head.next_run_id !== base.next_run_id) return false
  const age = nowMs - start.time * 1000
  // A time of the future is the log's own, which never goes back; a clock that was ahead for a moment is not written.
  if (age > AHEAD_MAX_AGE_MS || (age < 0 && start.time !== head.log_time)) return false
  const free = withoutTaken(items, keys)
  if (free.length !== built.length || !free.every((item, at) => item === built[at])) return false
  const stored = made.length === 0 ? tenants : new Map([...tenants, ...(await lockTenants(tx, made))])
  return [...start.tenants.values()].every(built => isSame(built, stored.get(built.tenant_id)))
}

const isSame = (built: TenantHead, stored: TenantHead | undefined): boolean =>
  stored?.record_count === built.record_count &&
  stored.run_count === built.run_count &&
  stored.head === built.head &&
  stored.salt === built.salt

/** Whether the log of a head is the one that is known. */
export const isAt = (known: LogFrontier | undefined, head: Pick<LogHeadRow, "size" | "root">): known is LogFrontier =>
  known !== undefined && known.range.size === head.size && equalBytes(rootOf(known.range), head.root)

/** What the log in the database leaves to the next batch. @param known the base that was known, which is given again where it is still that */
export function readBase(known: Base | undefined, db: Pick<Database, "read">): Promise<Base> {
  return db.read(async session => {
    const head = await readHead(session)
    const { log_time, next_run_id } = head
    if (known !== undefined && isAt(known.frontier, head)) return known
    // Entries never change: what a head of some time ago grew from is the same when it is read later.
    return {
      log_time,
      next_run_id,
      frontier: await loadFrontier(session, head),
      tenants: new Map(),
      attested: new Map(),
    }
  })
}

/** What a batch leaves to the next one. @param before what it was built on; it is not used any more */
export function baseAfter(before: Pick<Base, "log_time" | "tenants" | "attested">, { batch, start }: BuiltBatch): Base {
  for (const [id, head] of batch.tenants) renew(before.tenants, id, head)
  for (const [owner, count] of start.attested) renew(before.attested, owner, count)
  let runs = 0
  for (const { rows } of batch.sealed) {
    if (rows.run !== undefined) runs++
    if (rows.attestation !== undefined) renew(before.attested, rows.attestation.owner, rows.attestation.owner_ordinal)
  }
  return {
    frontier: batch.log.frontier(),
    // Of a batch that wrote nothing the head keeps its time.
    log_time: batch.entries.length === 0 ? before.log_time : start.time,
    next_run_id: start.next_run_id + runs,
    tenants: before.tenants,
    attested: before.attested,
  }
}

function renew<Key, Value>(known: Map<Key, Value>, key: Key, value: Value): void {
  known.delete(key)
  known.set(key, value)
  for (const oldest of known.keys()) {
    if (known.size <= BASE_MAX_TENANTS) return
    known.delete(oldest)
  }
}
