/** Commits a batch. Everything that its items depend on is locked first, always in the order of `docs/architecture.md`, "Locks". */
import { randomBytes } from "node:crypto"
import { equalBytes } from "@runseal/canonical"
import type { PermitLocks } from "@runseal/core/seal/permits/settle-permits"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import { rootOf } from "@runseal/log/merkle/compact-range"
import type { SealingHeads } from "../heads/heads.ts"
import type { LogFrontier, LogIdentity } from "../keys/embedded-log.ts"
import type { PayloadKeys } from "../keys/payload-keys.ts"
import type { Database } from "../store/driver/database.ts"
import type { Upstream } from "../store/driver/group-commit.ts"
import { sentTogether, type Tx } from "../store/driver/session.ts"
import { StoreError, storeErrorFrom } from "../store/driver/store-errors.ts"
import { dueEvents, hasDueEvents, sealEventRows } from "../store/tables/admin-events.ts"
import { endApprovals, insertApprovals, lockApprovals } from "../store/tables/approvals-table.ts"
import { countAttestations, insertAttestations } from "../store/tables/attestations-table.ts"
import { insertDocuments } from "../store/tables/documents-table.ts"
import { type KeyState, lockKeys, updateKeys } from "../store/tables/idempotency-keys.ts"
import { appendEntries, type LogHeadRow, loadFrontier, lockHead } from "../store/tables/log-store.ts"
import { insertTerms } from "../store/tables/run-terms.ts"
import { countOutcomes, insertRuns } from "../store/tables/runs-table.ts"
import { findTenants, lockTenants, type TenantClaim, type TenantOwner, updateTenants } from "../store/tables/tenants.ts"
import type { Telemetry } from "../telemetry.ts"
import type { Answered, Attempt, Batch, BatchContext, Item } from "./batch.ts"
import { type LogClock, nextLogTime } from "./log-clock.ts"
import { lockPermitItems, lockPermitWindows, writePermits } from "./permit-rows.ts"
import { buildBatch } from "./seal-batch.ts"
import { eventItem } from "./seal-events.ts"

export type SealerContext = BatchContext & {
  readonly heads: SealingHeads
  readonly db: Database
  readonly log: LogIdentity
  /** Milliseconds since the epoch, by the log's clock. */
  readonly nowMs: () => number
  readonly clock: Pick<LogClock, "check" | "sealed">
  /** Encrypts payloads that wait for an approval. */
  readonly payloadKeys: Pick<PayloadKeys, "encryptPayload">
  /** Queues that a run passes before this one, in their order; absent where runs do not come by requests. */
  readonly upstream?: readonly Upstream[]
  /** The head's epoch when this process started. It is another one once the keys were changed or one of the log's was revoked. */
  readonly epoch: number
  /** The published checkpoint of a head. */
  readonly publicCheckpoint: (size: number, root: Uint8Array) => string
  /** Called when a batch failed, all of whose items are refused. */
  readonly reportFailure: Telemetry["batchFailed"]
  /** Called for each acknowledged item, with the seconds since it was submitted. */
  readonly reportSealed: Telemetry["sealed"]
  /** Called for each committed batch. */
  readonly reportCommitted: Telemetry["committed"]
  /** Called for each batch that locked the log's head, committed or not. */
  readonly reportLockHeld: Telemetry["lockHeld"]
}

const KEYS_CHANGED =
  "The log's signing keys were changed or one was revoked since this server started: nothing is sealed until its operator starts it again."

const EVENT_NOT_SEALED =
  "The event of this act could not be sealed, or one before it; the act was not done. Trying again seldom helps before the operator has found the cause, which is in the process log."

/** An administrator's act was refused by what the transaction found. Nothing of the batch is committed, and nothing failed. */
export class ActRefused extends Error {
  override readonly name = "ActRefused"
  /** What the act threw. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super("an act was refused")
    this.reason = reason
  }
}

/**
 * One transaction: lock the log's head, build on it, write everything.
 * @param items in the order of the queue; an act is alone
 * @param known the log's last frontier; it is read from the store when the stored head is another one
 * @throws ActRefused; StoreError; whatever else sealing failed with
 */
export async function commitBatch(
  items: readonly Item[],
  known: LogFrontier | undefined,
  context: SealerContext,
): Promise<Committed> {
  let lockedSince: number | undefined
  const owners = ownersOf(items)
  const attesting = [...new Set(items.flatMap(({ locks }) => locks.attests ?? []))]
  const wantsEvents = items.some(item => "eventsSealed" in item)
  const sealing = context.db.transactionFrom(
    // In this order: what is read behind the head's lock is final.
    tx =>
      sentTogether([
        lockHead(tx),
        findTenants(tx, owners),
        countAttestations(tx, attesting),
        lockClaims(tx, items, context.nowMs()),
        lockPermitItems(tx, items),
        dueEvents(tx, wantsEvents),
        lockApprovals(
          tx,
          items.flatMap(({ locks }) => locks.ends ?? []),
        ),
      ]),
    async (tx, [head, found, attested, keys, locked, stored, requests]) => {
      lockedSince = performance.now()
      await context.heads.contains(tx, head)
      if (head.epoch !== context.epoch)
        throw new StoreError("unavailable", { message: KEYS_CHANGED, callerMessage: KEYS_CHANGED })
      await context.clock.check(tx, head)
      const time = nextLogTime(head.log_time, context.nowMs())
      const frontier = isAt(known, head) ? known : await loadFrontier(tx, head)
      const made = await lockTenants(tx, owners.filter(({ tenant_id }) => !found.has(tenant_id)).map(withSalt))
      const tenants = new Map([...found, ...made])
      const acted = await actIn(tx, items)
      const due = acted.length === 0 ? stored : await dueEvents(tx, true)
      const free = withoutTaken(items, keys)
      const attempts = await attemptsOf(tx, free, tenants, error => context.reportFailure(error, 1))
      const events = due.map(eventItem).map(item => ({ item, open: item.open }))
      const now = Math.max(context.nowMs(), time * 1000)
      const permits = { ...locked, windows: await lockPermitWindows(tx, items, locked.permits), now }
      const start = { frontier, next_run_id: head.next_run_id, tenants, attested, requests, time, now, permits }
      const batch = await buildBatch([...attempts, ...events], start, context)
      if (batch.entries.length > 0) {
        await sentTogether([
          ...writeBatch(tx, batch, { ...context, head, time, permits }),
          recordSealed(tx, batch, context.nowMs()),
        ])
        // Nothing was sealed, and nothing refused: every item failed, and so has the batch.
      } else if (free.some(isBuilt) && batch.outcomes.size === 0) throw new StoreError("unavailable")
      if (acted.length > 0 && (await hasDueEvents(tx)))
        throw new StoreError("unavailable", { message: EVENT_NOT_SEALED, callerMessage: EVENT_NOT_SEALED })
      return { batch, answers: new Map<Item, Answer>([...batch.outcomes, ...answersOfEvents(items, acted, batch)]) }
    },
  )
  return sealing.finally(() => {
    if (lockedSince !== undefined) context.reportLockHeld(secondsSince(lockedSince))
  })
}

/** A batch that is durable, and what each of its items is answered: nothing for one that is refused alone. */
type Committed = {
  readonly batch: Batch
  readonly answers: ReadonlyMap<Item, Answer>
}
export type Answer = Answered | { readonly refusal: unknown }

/** Whether the rounds of a batch build an item: an act, and that events are due, they do not. */
const isBuilt = (item: Item): boolean => "open" in item || "read" in item

/** Does the act of a batch behind the locks of the head and the tenants. @returns it with its answer; nothing where there is none */
async function actIn(tx: Tx, items: readonly Item[]): Promise<readonly (readonly [Item, () => void])[]> {
  const acted = items.map(async item => ("act" in item ? ([[item, await item.act(tx)]] as const) : []))
  const done = await Promise.all(acted).catch((thrown: unknown) => {
    const error = storeErrorFrom(thrown)
    throw error instanceof StoreError ? error : new ActRefused(error)
  })
  return done.flat()
}

/** The items that are built, with what those of them read that say what they are only behind the locks. */
async function attemptsOf(
  tx: Tx,
  items: readonly Item[],
  tenants: ReadonlyMap<string, TenantHead>,
  report: (error: unknown) => void,
): Promise<readonly Attempt[]> {
  const attempts: Attempt[] = []
  for (const item of items) {
    if ("open" in item) attempts.push({ item, open: item.open })
    if (!("read" in item)) continue
    try {
      attempts.push({ item, open: await item.read(tx, tenants) })
    } catch (error) {
      if (error instanceof StoreError && error.code !== "corrupt") throw error
      report(error)
    }
  }
  return attempts
}

/** How those are answered whose batch seals admin events: no caller submits an event. */
function answersOfEvents(
  items: readonly Item[],
  acted: Awaited<ReturnType<typeof actIn>>,
  { sealed }: Batch,
): readonly (readonly [Item, Answered])[] {
  const counted = sealed.filter(({ item }) => item.waitsForEarlier).flatMap(event => event.counted)
  const asked = items.flatMap(item =>
    "eventsSealed" in item ? [[item, () => item.eventsSealed(counted.length)] as const] : [],
  )
  return [...acted, ...asked].map(([item, acknowledge]) => [item, { counted, acknowledge }])
}

const isAt = (known: LogFrontier | undefined, head: LogHeadRow): known is LogFrontier =>
  known !== undefined && known.range.size === head.size && equalBytes(rootOf(known.range), head.root)

/** Who owns the batch's tenants, each of them once. */
const ownersOf = (items: readonly Item[]): readonly TenantOwner[] => [
  ...new Map(
    items.flatMap(({ locks: { tenant } }) => (tenant === undefined ? [] : [[tenant.tenant_id, tenant]])),
  ).values(),
]

/** A tenant with the salt it gets if it is new. */
const withSalt = ({ tenant_id, owner }: TenantOwner): TenantClaim => ({
  tenant_id,
  owner,
  salt: randomBytes(32).toString("hex"),
})

export const secondsSince = (since: number): number => (performance.now() - since) / 1000

// The rows of a batch, as its transaction writes them.

/** What a batch was built on. */
type BatchPlace = {
  readonly head: LogHeadRow
  /** Unix seconds. */
  readonly time: number
  /** The published checkpoint of a head. */
  readonly publicCheckpoint: (size: number, root: Uint8Array) => string
  readonly permits: PermitLocks
}

/** Sends all rows of a batch. */
function writeBatch(
  tx: Tx,
  batch: Batch,
  { head, time, publicCheckpoint, permits }: BatchPlace,
): readonly Promise<void>[] {
  const root = batch.log.root()
  const size = batch.log.size()
  const rows = batch.sealed.map(sealed => sealed.rows)
  const runs = rows.flatMap(({ run }) => run ?? [])
  const entries = batch.entries.map(({ index, body }) => ({ log_index: index, body, integrated_time: time }))
  const next: LogHeadRow = {
    ...head,
    size,
    root,
    log_time: time,
    next_run_id: head.next_run_id + runs.length,
    checkpoint: publicCheckpoint(size, root),
  }
  return [
    appendEntries(tx, { entries, tiles: batch.log.tiles(), head: next }),
    insertDocuments(
      tx,
      rows.flatMap(({ document }) => document ?? []),
    ),
    insertRuns(
      tx,
      runs.map(({ row }) => row),
    ),
    insertTerms(
      tx,
      runs.map(({ terms }) => terms),
    ),
    insertAttestations(
      tx,
      rows.flatMap(({ attestation }) => attestation ?? []),
    ),
    insertApprovals(
      tx,
      rows.flatMap(({ asked }) => asked ?? []),
    ),
    endApprovals(
      tx,
      rows.flatMap(({ ended }) => ended ?? []),
    ),
    updateTenants(tx, [...batch.tenants.values()]),
    countOutcomes(
      tx,
      runs.map(({ row: { owner, outcome_kind } }) => ({ owner, outcome_kind })),
    ),
    sealEventRows(
      tx,
      rows.flatMap(({ event }) => event ?? []),
    ),
    ...writePermits(tx, batch, permits),
  ]
}

// Items that came under an idempotency key. What is read of a key behind the lock of the log's head is final: of two requests under one key, in
// whatever processes, one is sealed.

/** Locks the keys of a batch's items and gives the state of each. */
export const lockClaims = (tx: Tx, items: readonly Item[], now: number): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    items.flatMap(({ claim }) => claim ?? []),
    now,
  )

/**
 * The items of a batch without those that must not be sealed: an item whose key has a record already, and a run whose
 * charge another process has taken over for a retry of the same request.
 * @param states of the keys of its items, which are locked
 */
export function withoutTaken(items: readonly Item[], states: ReadonlyMap<string, KeyState>): readonly Item[] {
  const unused = new Map(states)
  return items.filter(({ claim, charge_id }) => {
    if (claim === undefined) return true
    const state = unused.get(claim.key_hash)
    // A second item of this batch under the same key finds none.
    unused.delete(claim.key_hash)
    return state !== undefined && !isTaken(state, charge_id)
  })
}

const isTaken = ({ record_id, charge_id }: KeyState, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

/** Writes what was sealed under each key, in the transaction that writes the records. */
async function recordSealed(tx: Tx, { sealed }: Batch, now: number): Promise<void> {
  const rows = sealed.flatMap(({ item: { claim, charge_id }, record_id }) =>
    claim === undefined ? [] : [{ ...claim, record_id, charge_id, kept_at: now }],
  )
  await updateKeys(tx, rows)
}
