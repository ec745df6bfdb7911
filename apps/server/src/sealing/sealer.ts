/**
 * Runs and attestations, sealed in groups: one batch is one transaction, and what is acknowledged is durable.
 * docs/pipeline.md, "Order of sealing".
 */

import type { Draft } from "@runseal/core/seal/draft"
import type { PendingEnd, PendingRedemption } from "@runseal/core/seal/permits/settle-permits"
import type { PendingRequest } from "@runseal/core/seal/pipeline"
import type { PendingClose, PendingOpening } from "@runseal/core/seal/settlement"
import { followed } from "../followed-steps.ts"
import { SIGNER_AWAY, SignerFailure } from "../keys/remote-signer.ts"
import { createPipelinedCommit, type WriteBatch } from "../store/driver/group-commit.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import type { Acts } from "../store/tables/admin-events.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { ReportFault } from "../telemetry.ts"
import type { Item, SealedRun } from "./batch.ts"
import { type Base, baseAfter, buildAhead, isBuiltAhead } from "./build-ahead.ts"
import { ActRefused, type Answer, commitBatch, type Known, type SealerContext, secondsSince } from "./commit-batch.ts"
import { PROBE } from "./readiness.ts"
import { requestItem } from "./seal-approvals.ts"
import { type AttestationDraft, attestationItem, type SealedAttestation } from "./seal-attestation.ts"
import { DEPLOYMENT } from "./seal-events.ts"
import { type ExportDraft, exportItem, type SealedStatement } from "./seal-export-statement.ts"
import { closeItem, endItem, type OpenedPermit, openingItem, redemptionItem } from "./seal-permits.ts"
import { runItem } from "./seal-run.ts"

/** Most runs, permits, attestations and statements in one transaction. */
export const BATCH_MAX_ITEMS = 256
/** Most of them that may wait; past it sealing answers 503 at once. */
export const QUEUE_MAX_ITEMS = 4096

/** Fewer items than these wait for the batch before, so that they share a batch with those that come meanwhile. */
const AHEAD_FROM_ITEMS = 4

/** A run whose sections exceed this size, in bytes of canonical text, takes long to seal. */
const LONG_BYTES = 65_536
/** Most bytes of such runs in one batch. */
const LONG_BATCH_BYTES = 1_048_576

export type Sealer = {
  /**
   * Seals a draft; resolves once its record is durable. Rejects with StoreError when nothing was acknowledged: "outcome_unknown"
   * when a record may exist all the same, "unavailable" also when the claim's key has another record.
   */
  readonly seal: (draft: Draft, claim?: KeyClaim) => Promise<SealedRun>
  /** The same for an attestation. */
  readonly attest: (draft: AttestationDraft, claim?: KeyClaim) => Promise<SealedAttestation>
  /**
   * Makes a reservation and seals the opening; or seals the run that it was refused as. Rejects as `seal` does, and with
   * PermitRefusal when nothing was sealed because of what the batch found.
   */
  readonly openPermit: (opening: PendingOpening, claim?: KeyClaim) => Promise<OpenedPermit>
  /** Seals a request for an approval, and stores its payload for those who decide. Gives its id. Rejects as `openPermit` does. */
  readonly requestApproval: (request: PendingRequest, payload: string, claim?: KeyClaim) => Promise<string>
  /** Settles a reservation and seals the run that closes its permit. Rejects as `openPermit` does. */
  readonly closePermit: (close: PendingClose, claim?: KeyClaim) => Promise<SealedRun>
  /** Releases reservations and seals the document that ends their permits, those of them that are still open. Rejects so too. */
  readonly endPermits: (end: PendingEnd) => Promise<void>
  /**
   * Redeems an open permit once for all: its leaf is an entry of the log before this resolves. Gives the time in milliseconds. Rejects as
   * `openPermit` does.
   */
  readonly redeemPermit: (redemption: PendingRedemption) => Promise<number>
  /** Seals admin events that are committed, some at a time, and gives their number. Rejects when the batch was not committed. */
  readonly sealEvents: () => Promise<number>
  /**
   * Does what an administrator asks for and seals the event that it records, in one transaction: so what is acknowledged is in the log, and
   * nothing is done where nothing can be sealed. Rejects with whatever `work` rejected with, and else as `seal` does.
   */
  readonly acts: Acts
  /** Seals the statement of an export, of the chain at the time of sealing. */
  readonly state: (draft: ExportDraft) => Promise<SealedStatement>
  /** Records in the queue. */
  readonly waiting: () => number
  /** Seals the queue and takes nothing more. */
  readonly close: () => Promise<void>
}

const ACT_UNKNOWN =
  "It is not known whether this was done: read GET /admin/audit, or send it again. Without an Idempotency-Key a repeat makes another key, secret or destination; anything else is done once."
const UNREMEMBERED =
  "The batch was committed, but the log's head could not be remembered beside the keys; nothing of it was acknowledged."

type SealBatch = WriteBatch<Answer>

/**
 * Makes batches ready and writes them, one after the other. A batch is built while the one before it is written, where its items allow it; the next
 * one is built on what it leaves.
 */
function createBatches(context: SealerContext): (items: readonly Item[]) => Promise<SealBatch> {
  /** Behind all batches that were built; undefined while nobody knows, and while a batch is built behind the lock. */
  let base: Base | undefined
  /** Whether a batch is built and not being written yet. */
  let isBuilt = false
  /** The last batch that is being written; never rejects. */
  let writing: Promise<unknown> = Promise.resolve()
  /** Whether the last batch got no signature. The next asks for one before its transaction, which holds the log's head and keeps reads waiting. */
  let isUnsigned = false

  const write = async (
    items: readonly Item[],
    known: Known,
    found: readonly Fault[] = [],
  ): Promise<readonly Answer[]> => {
    let committed = false
    const faults: Fault[] = []
    const reportFault: ReportFault = (...fault) => void faults.push(fault)
    try {
      await context.heads.readyToRemember()
      if (isUnsigned) await context.log.keys.service.signAll([PROBE])
      isUnsigned = false
      const reportBuilt: SealerContext["reportBuilt"] = place => {
        if (place === "again") base = undefined
        context.reportBuilt(place)
      }
      const sealed = await commitBatch(items, known, { ...context, reportFault, reportBuilt })
      const { batch, answers } = sealed
      committed = true
      if (sealed.base === undefined) faults.push(...found)
      // What was built meanwhile was built on something else, and is built again.
      else base = isBuilt ? undefined : sealed.base
      await context.heads.remember({ size: batch.log.size(), root: batch.log.root() })
      context.clock.sealed(batch.log.size())
      context.reportCommitted(items.length)
      // The batch was sealed without an item that has no answer.
      return items.map(item => answers.get(item) ?? { refusal: new StoreError("unavailable") })
    } catch (error) {
      if (error instanceof ActRefused) throw error.reason
      // Whatever the outcome of the commit was, the next batch reads the log's head again.
      base = undefined
      context.reportFailure(error, items.length)
      const isOfSigner = error instanceof SignerFailure
      isUnsigned ||= isOfSigner
      if (committed) throw new StoreError("outcome_unknown", { message: UNREMEMBERED })
      if (error instanceof StoreError) throw error
      throw new StoreError("unavailable", isOfSigner ? { callerMessage: SIGNER_AWAY } : {})
    } finally {
      // A run has its number once it is committed.
      for (const [failure, failedFor] of faults) context.reportFault(failure, committed ? failedFor : undefined)
    }
  }
  const writer =
    (items: readonly Item[], known: Known, found?: readonly Fault[]): SealBatch =>
    () => {
      isBuilt = false
      const batch = { name: "batch", facts: { items: items.length }, apart: items }
      const written = context.heads.whileSealing(() => followed(batch, () => write(items, known, found)))
      writing = written.catch(ignore)
      return written
    }
  /** A batch that is built behind the lock, on what all batches before it leave. */
  const behindLock = async (items: readonly Item[]): Promise<SealBatch> => {
    await writing
    const before = base
    base = undefined
    return writer(items, { base: before })
  }

  return async items => {
    isBuilt = false
    // Of a batch that is thrown away, a signer elsewhere would have seen leaves that are in no log.
    if (context.log.keys.service.isElsewhere || !items.every(isBuiltAhead)) return behindLock(items)
    if (base === undefined) await writing
    const from = base
    if (from === undefined) return behindLock(items)
    const faults: Fault[] = []
    const reportFault: ReportFault = (...fault) => void faults.push(fault)
    const step = { name: "build", facts: { items: items.length }, apart: items }
    const ahead = await followed(step, () => buildAhead(items, from, { ...context, reportFault }))
    // A batch before it was not written as it was built.
    if (base !== from) return behindLock(items)
    base = baseAfter(from, ahead)
    isBuilt = true
    return writer(items, { ahead }, faults)
  }
}

type Fault = Parameters<ReportFault>
const ignore = (): void => undefined

export function openSealer(context: SealerContext): Sealer {
  const weigh = ({ bytes }: Item): number => bytes
  const bounds = {
    batch: BATCH_MAX_ITEMS,
    waiting: QUEUE_MAX_ITEMS,
    lanes: [
      { takes: (item: Item) => weigh(item) > LONG_BYTES, weigh, batchWeight: LONG_BATCH_BYTES },
      // What is built behind the lock holds up nothing that need not be.
      { takes: (item: Item) => !isBuiltAhead(item), weigh: () => 1, batchWeight: BATCH_MAX_ITEMS },
    ],
    aheadFrom: AHEAD_FROM_ITEMS,
  }
  const group = createPipelinedCommit<Item, Answer>(createBatches(context), bounds, context.upstream)
  /** From the queue to the end of the batch. @param make the item, which gives its answer once it is acknowledged */
  const submit = <Made>(make: (answer: (made: Made) => void) => Item): Promise<Made> =>
    new Promise((resolve, reject) => {
      const since = performance.now()
      const item = make(resolve)
      const acknowledge = (answer: Answer): void => {
        if ("refusal" in answer) throw answer.refusal
        for (const kind of answer.counted) context.reportSealed(kind, secondsSince(since))
        answer.acknowledge()
      }
      followed({ name: "seal", item }, () => group.submit(item))
        .then(acknowledge)
        .catch(reject)
    })

  return {
    seal: (draft, claim) => submit(answer => runItem(draft, claim, answer)),
    attest: (draft, claim) => submit(answer => attestationItem(draft, claim, answer)),
    openPermit: (opening, claim) => submit(answer => openingItem(opening, claim, answer)),
    requestApproval: (request, payload, claim) =>
      submit(answer =>
        requestItem(request, { payload, encryptPayload: context.payloadKeys.encryptPayload }, claim, answer),
      ),
    closePermit: (close, claim) => submit(answer => closeItem(close, claim, answer)),
    endPermits: end => submit(answer => endItem(end, answer)),
    redeemPermit: redemption => submit(answer => redemptionItem(redemption, answer)),
    sealEvents: () => submit(answer => ({ ...ofDeployment("events"), bytes: 0, eventsSealed: answer })),
    acts: {
      transaction: async work => {
        try {
          return await submit(answer => actItem(work, answer))
        } catch (error) {
          throw ofAct(error)
        }
      },
    },
    state: draft => submit(answer => exportItem(draft, answer)),
    waiting: group.waiting,
    close: group.close,
  }
}

const ofDeployment = (kind: "events" | "act") => ({ kind, locks: { tenant: DEPLOYMENT }, charge_id: "" })

/** An act of an administrator. It fills a batch: what it throws refuses nothing else. */
const actItem = <Result>(work: (tx: Tx) => Promise<Result>, answer: (result: Result) => void): Item => ({
  ...ofDeployment("act"),
  bytes: LONG_BATCH_BYTES,
  act: async tx => {
    const result = await work(tx)
    return () => answer(result)
  },
})

/** An act's outcome that is not known has a sentence of its own: no answer is repeated to a request of an administrator. */
const ofAct = (error: unknown): unknown =>
  error instanceof StoreError && error.code === "outcome_unknown"
    ? new StoreError(error.code, { message: error.message, late: error.late, callerMessage: ACT_UNKNOWN })
    : error
