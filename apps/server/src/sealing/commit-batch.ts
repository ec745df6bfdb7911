/** Commits a batch. Everything that its items depend on is locked first, always in the order of `docs/architecture.md`, "Locks". */
import { randomBytes } from "node:crypto"
import { equalBytes } from "@runseal/canonical"
import { rootOf } from "@runseal/log/merkle/compact-range"
import type { LogFrontier } from "../keys/log-builder.ts"
import type { Draft } from "../run/pipeline/draft.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError, storeErrorFrom } from "../store/driver/store-errors.ts"
import { sentTogether } from "../store/driver/transaction.ts"
import { dueEvents, hasDueEvents } from "../store/tables/admin-events.ts"
import { countAttestations } from "../store/tables/attestations-table.ts"
import { type LogHeadRow, loadFrontier, lockHead } from "../store/tables/log-store.ts"
import { findTenants, lockTenants, type TenantClaim, type TenantOwner } from "../store/tables/tenants.ts"
import { writeBatch } from "./batch-rows.ts"
import { lockClaims, recordSealed, withoutTaken } from "./keyed-items.ts"
import { nextLogTime } from "./log-clock.ts"
import { lockPermitItems, lockPermitWindows, permitItems } from "./permit-rows.ts"
import { type Batch, type BatchWork, buildBatch, type Round } from "./seal-batch.ts"
import { DEPLOYMENT } from "./seal-events.ts"
import { stateExports } from "./seal-export-statement.ts"
import type { SealerContext } from "./sealer.ts"
import { NO_PERMITS } from "./settle-permits.ts"

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
 * @param known the log's last frontier; it is read from the store when the stored head is another one
 * @throws ActRefused; StoreError; whatever else sealing failed with
 */
export async function commitBatch(
  work: BatchWork,
  known: LogFrontier | undefined,
  context: SealerContext,
): Promise<Batch> {
  const { exports = [], permits = NO_PERMITS } = work
  let lockedSince: number | undefined
  const { act } = work
  const deployment = work.events || act ? [{ tenant: DEPLOYMENT }] : []
  const owners = ownersOf([...work.drafts, ...exports, ...permitItems(permits), ...deployment])
  const attesting = [...new Set(work.attestations.map(({ owner }) => owner))]
  const sealing = context.db.transactionFrom(
    // In this order: what is read behind the head's lock is final.
    tx =>
      sentTogether([
        lockHead(tx),
        findTenants(tx, owners),
        countAttestations(tx, attesting),
        lockClaims(tx, work, context.nowMs()),
        lockPermitItems(tx, work),
        dueEvents(tx, work.events === true),
      ]),
    async (tx, [head, found, attested, keys, locked, stored]) => {
      lockedSince = performance.now()
      await context.checkHead(tx, head)
      if (head.epoch !== context.epoch)
        throw new StoreError("unavailable", { message: KEYS_CHANGED, callerMessage: KEYS_CHANGED })
      await context.clock.check(tx, head)
      const time = nextLogTime(head.log_time, context.nowMs())
      const frontier = isAt(known, head) ? known : await loadFrontier(tx, head)
      const made = await lockTenants(tx, owners.filter(({ tenant_id }) => !found.has(tenant_id)).map(withSalt))
      const tenants = new Map([...found, ...made])
      const due = act === undefined ? stored : await dueAfter(tx, act)
      const statements = await stateExports(tx, exports, tenants, error => context.reportFailure(error, 1))
      const now = Math.max(context.nowMs(), time * 1000)
      const permitState = { ...locked, windows: await lockPermitWindows(tx, permits, locked.permits), now }
      const start = { frontier, next_run_id: head.next_run_id, tenants, attested, time, now, permits: permitState }
      const round = withoutTaken(work, keys)
      const batch = await buildBatch({ ...round, statements, due }, start, context)
      if (batch.entries.length > 0) {
        await sentTogether([
          ...writeBatch(tx, work, batch, { ...context, head, time, permits: permitState }),
          recordSealed(tx, work, batch, context.nowMs()),
        ])
      } else if (hasItems(round) || exports.length > 0) throw new StoreError("unavailable")
      if (act !== undefined && (await hasDueEvents(tx)))
        throw new StoreError("unavailable", { message: EVENT_NOT_SEALED, callerMessage: EVENT_NOT_SEALED })
      return batch
    },
  )
  return sealing.finally(() => {
    if (lockedSince !== undefined) context.reportLockHeld(secondsSince(lockedSince))
  })
}

/** Does an act behind the locks of the head and the tenants. @returns the events that are due then, its own among them */
async function dueAfter(tx: Tx, act: NonNullable<BatchWork["act"]>): ReturnType<typeof dueEvents> {
  await act(tx).catch((thrown: unknown) => {
    const error = storeErrorFrom(thrown)
    throw error instanceof StoreError ? error : new ActRefused(error)
  })
  return dueEvents(tx, true)
}

const hasItems = ({ drafts, attestations }: Round): boolean =>
  [...drafts, ...attestations].some(item => item !== undefined)

const isAt = (known: LogFrontier | undefined, head: LogHeadRow): known is LogFrontier =>
  known !== undefined && known.range.size === head.size && equalBytes(rootOf(known.range), head.root)

/** Who owns the batch's tenants, each of them once. */
const ownersOf = (drafts: readonly Pick<Draft, "tenant">[]): readonly TenantOwner[] => [
  ...new Map(drafts.map(({ tenant }) => [tenant.tenant_id, tenant])).values(),
]

/** A tenant with the salt it gets if it is new. */
const withSalt = ({ tenant_id, owner }: TenantOwner): TenantClaim => ({
  tenant_id,
  owner,
  salt: randomBytes(32).toString("hex"),
})

export const secondsSince = (since: number): number => (performance.now() - since) / 1000
