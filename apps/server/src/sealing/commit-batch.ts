/** Commits a batch. Everything that its items depend on is locked first, always in the order of `docs/architecture.md`, "Locks". */
import { NOTHING_LOCKED } from "@runseal/core/seal/permits/settle-permits"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import type { SealingHeads } from "../heads/heads.ts"
import type { LogIdentity } from "../keys/embedded-log.ts"
import type { PayloadKeys } from "../keys/payload-keys.ts"
import type { Database } from "../store/driver/database.ts"
import type { Upstream } from "../store/driver/group-commit.ts"
import { sentTogether, type Tx } from "../store/driver/session.ts"
import { StoreError, storeErrorFrom } from "../store/driver/store-errors.ts"
import { dueEvents, hasDueEvents, sealEventRows } from "../store/tables/admin-events.ts"
import { endApprovals, insertApprovals } from "../store/tables/approvals-table.ts"
import { insertAttestations } from "../store/tables/attestations-table.ts"
import { insertDocuments } from "../store/tables/documents-table.ts"
import { appendEntries, type LogHeadRow, loadFrontier, lockHead } from "../store/tables/log-store.ts"
import { insertTerms } from "../store/tables/run-terms.ts"
import { countOutcomes, insertRuns } from "../store/tables/runs-table.ts"
import { findTenants, lockTenants, updateTenants } from "../store/tables/tenants.ts"
import type { Telemetry } from "../telemetry.ts"
import type { Answered, Attempt, Batch, BatchContext, Item } from "./batch.ts"
import { type AheadBatch, type Base, type BuiltBatch, baseAfter, isAt, isStillTrue } from "./build-ahead.ts"
import {
  type LockedRows,
  lockClaims,
  lockRows,
  recordSealed,
  tenantOwnersOf,
  withoutTaken,
  withSalt,
} from "./locked-rows.ts"
import { type LogClock, nextLogTime } from "./log-clock.ts"
import { lockPermitWindows, writePermits } from "./permit-rows.ts"
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
  /** Called behind the lock for each batch; before it is built, where it is built there. */
  readonly reportBuilt: Telemetry["built"]
  /** Called behind the lock for each batch with the log's size. */
  readonly reportHead: (size: number) => void
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

/** A batch that was built ahead locks these only when it is built again. */
const NOT_YET: Promise<undefined> = Promise.resolve(undefined)

/** What is known of a batch before its transaction. */
export type Known =
  /** It was built ahead. */
  | { readonly ahead: AheadBatch }
  /** The base that the batch before has left, where it is known. */
  | { readonly base: Base | undefined }

/**
 * One transaction: lock the log's head; build on it, unless the batch was built ahead and that still holds; write everything.
 * @param items in the order of the queue; an act is alone
 * @throws ActRefused; StoreError; whatever else sealing failed with
 */
export async function commitBatch(items: readonly Item[], known: Known, context: SealerContext): Promise<Committed> {
  let lockedSince: number | undefined
  const isAhead = "ahead" in known
  const sealing = context.db.transactionFrom(
    // In this order: what is read behind the head's lock is final.
    tx =>
      sentTogether([
        lockHead(tx),
        findTenants(tx, isAhead ? tenantOwnersOf(items) : []),
        lockClaims(tx, isAhead ? items : [], context.nowMs()),
        isAhead ? NOT_YET : lockRows(tx, items, context.nowMs()),
      ]),
    async (tx, [head, tenants, keys, rows], sendLast) => {
      lockedSince = performance.now()
      context.reportHead(head.size)
      await context.heads.contains(tx, head)
      if (head.epoch !== context.epoch)
        throw new StoreError("unavailable", { message: KEYS_CHANGED, callerMessage: KEYS_CHANGED })
      await context.clock.check(tx, head)
      const ahead =
        isAhead && (await isStillTrue(tx, known.ahead, items, { head, tenants, keys, nowMs: context.nowMs() }))
          ? known.ahead
          : undefined
      context.reportBuilt(ahead !== undefined ? "ahead" : isAhead ? "again" : "locked")
      const base = isAhead || !isAt(known.base?.frontier, head) ? undefined : known.base
      const { batch, start, free, acted } =
        ahead === undefined
          ? await buildLocked(
              tx,
              items,
              { head, base, rows: rows ?? (await lockRows(tx, items, context.nowMs())) },
              context,
            )
          : { ...ahead, free: ahead.items, acted: [] }
      if (batch.entries.length > 0) {
        const write = () => [
          ...writeBatch(tx, { batch, start }, head, context.publicCheckpoint),
          recordSealed(tx, batch, context.nowMs()),
        ]
        // Whether events are sealed is seen behind the write. All else that is written was compared behind the locks.
        await (items.some(sealsEvents) ? sentTogether(write()) : sendLast(write))
      }
      // Nothing was sealed, and nothing refused: every item failed, and so has the batch.
      else if (free.some(isBuilt) && batch.outcomes.size === 0) throw new StoreError("unavailable")
      if (acted.length > 0 && (await hasDueEvents(tx)))
        throw new StoreError("unavailable", { message: EVENT_NOT_SEALED, callerMessage: EVENT_NOT_SEALED })
      const answers = new Map<Item, Answer>([...batch.outcomes, ...answersOfEvents(items, acted, batch)])
      if (ahead !== undefined) return { batch, answers }
      const before = { tenants: new Map(), attested: new Map(), ...base, log_time: head.log_time }
      return { batch, answers, base: baseAfter(before, { batch, start }) }
    },
  )
  return sealing.finally(() => {
    if (lockedSince !== undefined) context.reportLockHeld(secondsSince(lockedSince))
  })
}

type Locked = {
  readonly head: LogHeadRow
  /** Where it is known what the log of the head grows from; it is read otherwise. */
  readonly base: Base | undefined
  readonly rows: LockedRows
}

/** Builds a batch behind the locks. */
async function buildLocked(tx: Tx, items: readonly Item[], { head, base, rows }: Locked, context: SealerContext) {
  const time = nextLogTime(head.log_time, context.nowMs())
  const frontier = base?.frontier ?? (await loadFrontier(tx, head))
  const unknown = tenantOwnersOf(items).filter(({ tenant_id }) => !rows.tenants.has(tenant_id))
  const tenants = new Map([...rows.tenants, ...(await lockTenants(tx, unknown.map(withSalt)))])
  const acted = await actIn(tx, items)
  const due = acted.length === 0 ? rows.due : await dueEvents(tx, true)
  const free = withoutTaken(items, rows.keys)
  const attempts = await attemptsOf(tx, free, tenants, error => context.reportFailure(error, 1))
  const events = due.map(eventItem).map(item => ({ item, open: item.open }))
  const now = Math.max(context.nowMs(), time * 1000)
  const permits = { ...rows.permits, windows: await lockPermitWindows(tx, items, rows.permits.permits), now }
  const { attested, requests } = rows
  const start = { frontier, next_run_id: head.next_run_id, tenants, attested, requests, time, now, permits }
  return { batch: await buildBatch([...attempts, ...events], start, context), start, free, acted }
}

/** A batch that is durable. */
type Committed = {
  readonly batch: Batch
  /** What each of its items is answered: nothing for one that is refused alone. */
  readonly answers: ReadonlyMap<Item, Answer>
  /** What it leaves to the next batch, where it was built behind the lock. */
  readonly base?: Base
}
export type Answer = Answered | { readonly refusal: unknown }

/** Whether the rounds of a batch build an item: an act, and that events are due, they do not. */
const isBuilt = (item: Item): boolean => "open" in item || "read" in item

const sealsEvents = (item: Item): boolean => "act" in item || "eventsSealed" in item

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

export const secondsSince = (since: number): number => (performance.now() - since) / 1000

// The rows of a batch, as its transaction writes them.

/**
 * Sends all rows of a batch.
 * @param head that it was built on
 * @param publicCheckpoint gives the published checkpoint of a head
 */
function writeBatch(
  tx: Tx,
  { batch, start: { time, permits = NOTHING_LOCKED } }: BuiltBatch,
  head: LogHeadRow,
  publicCheckpoint: SealerContext["publicCheckpoint"],
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
