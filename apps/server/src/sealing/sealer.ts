/**
 * Runs and attestations, sealed in groups: one batch is one transaction, and what is acknowledged is durable.
 * docs/pipeline.md, "Order of sealing".
 */

import type { Draft } from "@runseal/core/seal/draft"
import type { PendingEnd, PendingRedemption } from "@runseal/core/seal/permits/settle-permits"
import type { PendingClose, PendingOpening } from "@runseal/core/seal/pipeline"
import { followed } from "../followed-steps.ts"
import type { LogFrontier } from "../keys/log-builder.ts"
import { SIGNER_AWAY, SignerFailure } from "../keys/remote-signer.ts"
import { createGroupCommit } from "../store/driver/group-commit.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import type { Acts } from "../store/tables/admin-events.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { ReportFault } from "../telemetry.ts"
import type { Batch, BatchWork, KeyedItem, SealedEnd, SealedOpening, SealedRun } from "./batch.ts"
import { permitRuns } from "./batch.ts"
import { ActRefused, commitBatch, type SealerContext, secondsSince } from "./commit-batch.ts"
import type { AttestationDraft, SealedAttestation } from "./seal-attestation.ts"
import type { ExportDraft, SealedStatement } from "./seal-export-statement.ts"
import { PROBE } from "./signer-ready.ts"

/** Most runs, permits, attestations and statements in one transaction. */
export const BATCH_MAX_ITEMS = 256
/** Most of them that may wait; past it sealing answers 503 at once. */
export const QUEUE_MAX_ITEMS = 4096

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
  readonly openPermit: (opening: PendingOpening, claim?: KeyClaim) => Promise<SealedPermitAnswer>
  /** Settles a reservation and seals the run that closes its permit. Rejects as `openPermit` does. */
  readonly closePermit: (close: PendingClose, claim?: KeyClaim) => Promise<SealedRun>
  /** Releases reservations and seals the document that ends their permits, those of them that are still open. Rejects so too. */
  readonly endPermits: (end: PendingEnd) => Promise<SealedEnd>
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

type SealedPermitAnswer = { readonly opening: SealedOpening } | { readonly refused: SealedRun }

const ACT_UNKNOWN =
  "It is not known whether this was done: read GET /admin/audit, or send it again. Without an Idempotency-Key a repeat makes another key, secret or destination; anything else is done once."
const UNREMEMBERED =
  "The batch was committed, but the log's head could not be remembered beside the keys; nothing of it was acknowledged."

/** A batch with its work, and the index of an item among those of its kind. */
type Sealed = { readonly work: BatchWork; readonly batch: Batch; readonly at: number }
/** From the queue to the end of the batch. */
type Submit = (item: Item) => Promise<Sealed>

export function openSealer(context: SealerContext): Sealer {
  let known: LogFrontier | undefined
  /** Whether the last batch got no signature. The next asks for one before its transaction, which holds the log's head and keeps reads waiting. */
  let isUnsigned = false

  const sealItems = async (items: readonly Item[]): Promise<readonly Sealed[]> => {
    let committed = false
    const faults: Parameters<ReportFault>[] = []
    const reportFault: ReportFault = (...fault) => void faults.push(fault)
    try {
      const { work, indices } = partition(items)
      await context.heads.readyToRemember()
      if (isUnsigned) await context.log.keys.service.signAll([PROBE])
      isUnsigned = false
      const batch = await commitBatch(work, known, { ...context, reportFault })
      committed = true
      known = batch.log.frontier()
      await context.heads.remember({ size: batch.log.size(), root: batch.log.root() })
      context.clock.sealed(batch.log.size())
      context.reportCommitted(items.length)
      return indices.map(at => ({ work, batch, at }))
    } catch (error) {
      if (error instanceof ActRefused) throw error.reason
      // Whatever the outcome of the commit was, the next batch reads the log's head again.
      known = undefined
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
  const long = { isLong: (item: Item) => weigh(item) > LONG_BYTES, weigh, batchWeight: LONG_BATCH_BYTES }
  const bounds = { batch: BATCH_MAX_ITEMS, waiting: QUEUE_MAX_ITEMS, long }
  const group = createGroupCommit<Item, Sealed>(
    items => {
      const batch = { name: "batch", facts: { items: items.length }, apart: items }
      return context.heads.whileSealing(() => followed(batch, () => sealItems(items)))
    },
    bounds,
    context.upstream,
  )
  const submit: Submit = item => followed({ name: "seal", item }, () => group.submit(item))

  return {
    seal: async (draft, claim) => {
      const since = performance.now()
      const { batch, at } = await submit({ run: draft, claim })
      const sealed = sealedAt(batch.runs, at)
      context.reportSealed(sealed.bundle.run.outcome_kind, secondsSince(since))
      return sealed
    },
    attest: async (draft, claim) => {
      const since = performance.now()
      const { batch, at } = await submit({ attestation: draft, claim })
      const sealed = sealedAt(batch.attestations, at)
      context.reportSealed("attestation", secondsSince(since))
      return sealed
    },
    ...sealPermits(submit, context),
    sealEvents: async () => {
      const since = performance.now()
      const { batch } = await submit({ events: true, claim: undefined })
      for (const _ of batch.events) context.reportSealed("admin_event", secondsSince(since))
      return batch.events.length
    },
    acts: sealActs(submit, context),
    state: async draft => {
      const { batch, at } = await submit({ export: draft, claim: undefined })
      return sealedAt(batch.statements, at)
    },
    waiting: group.waiting,
    close: group.close,
  }
}

/** An act's outcome that is not known has a sentence of its own: no answer is repeated to a request of an administrator. */
const ofAct = (error: unknown): unknown =>
  error instanceof StoreError && error.code === "outcome_unknown"
    ? new StoreError(error.code, { message: error.message, late: error.late, callerMessage: ACT_UNKNOWN })
    : error

/** Bytes of canonical text that an item's sections have. An act fills a batch: what it throws refuses nothing else. */
function weigh(item: Item): number {
  if ("act" in item) return LONG_BATCH_BYTES
  if ("run" in item) return item.run.texts.size()
  if ("opening" in item) return item.opening.run.facts.texts.size()
  return "close" in item ? item.close.run.facts.texts.size() : 0
}

/** An act of an administrator, as an item. */
const sealActs = (submit: Submit, { reportSealed }: Pick<SealerContext, "reportSealed">): Acts => ({
  transaction: work =>
    new Promise((resolve, reject) => {
      const since = performance.now()
      let done = (): void => reject(new StoreError("corrupt"))
      const act = async (tx: Tx): Promise<void> => {
        const result = await work(tx)
        done = () => resolve(result)
      }
      const acknowledge = ({ batch }: Sealed): void => {
        for (const _ of batch.events) reportSealed("admin_event", secondsSince(since))
        done()
      }
      submit({ act, claim: undefined }).then(acknowledge, (error: unknown) => reject(ofAct(error)))
    }),
})

/** What the sealer does for permits. */
function sealPermits(
  submit: Submit,
  { reportSealed }: Pick<SealerContext, "reportSealed">,
): Pick<Sealer, "openPermit" | "closePermit" | "endPermits" | "redeemPermit"> {
  const refuse = ({ batch: { refusals }, at }: Sealed, kind: keyof Batch["refusals"]): void => {
    if (refusals[kind].has(at)) throw refusals[kind].get(at)
  }
  const sealedRun = (batch: Batch, at: number, since: number): SealedRun => {
    const sealed = sealedAt(batch.runs, at)
    reportSealed(sealed.bundle.run.outcome_kind, secondsSince(since))
    return sealed
  }
  return {
    openPermit: async (opening, claim) => {
      const since = performance.now()
      const sealed = await submit({ opening, claim })
      refuse(sealed, "openings")
      const { work, batch, at } = sealed
      const opened = batch.openings[at]
      if (opened === undefined) return { refused: sealedRun(batch, permitRuns(work).opening(at), since) }
      reportSealed("opening", secondsSince(since))
      return { opening: opened }
    },
    closePermit: async (close, claim) => {
      const since = performance.now()
      const sealed = await submit({ close, claim })
      refuse(sealed, "closes")
      return sealedRun(sealed.batch, permitRuns(sealed.work).close(sealed.at), since)
    },
    endPermits: async end => {
      const since = performance.now()
      const sealed = await submit({ end, claim: undefined })
      refuse(sealed, "ends")
      const ended = sealedAt(sealed.batch.ends, sealed.at)
      reportSealed("permit_end", secondsSince(since))
      return ended
    },
    redeemPermit: async redemption => {
      const since = performance.now()
      const sealed = await submit({ redemption, claim: undefined })
      refuse(sealed, "redemptions")
      const { redeemed_at } = sealedAt(sealed.batch.redemptions, sealed.at)
      reportSealed("redemption", secondsSince(since))
      return redeemed_at
    },
  }
}

/** @throws StoreError when the batch was sealed without the item, which is then refused alone */
function sealedAt<T>(sealed: readonly (T | undefined)[], at: number): T {
  const found = sealed[at]
  if (found === undefined) throw new StoreError("unavailable")
  return found
}

// What waits for the sealer: runs, attestations, exports and permits, acts of administrators, and that admin events do, each as it was submitted.

type Item = (
  | { readonly run: Draft }
  | { readonly attestation: AttestationDraft }
  | { readonly export: ExportDraft }
  | { readonly opening: PendingOpening }
  | { readonly close: PendingClose }
  | { readonly end: PendingEnd }
  | { readonly redemption: PendingRedemption }
  | { readonly events: true }
  /** Alone in its batch. */
  | { readonly act: NonNullable<BatchWork["act"]> }
) & {
  /** Of an item under an idempotency key. */
  readonly claim: KeyClaim | undefined
}

/** The items by kind, and the index of each within its kind. */
function partition(items: readonly Item[]): { readonly work: BatchWork; readonly indices: readonly number[] } {
  const drafts: Draft[] = []
  const attestations: AttestationDraft[] = []
  const exports: ExportDraft[] = []
  const [openings, closes, ends]: [PendingOpening[], PendingClose[], PendingEnd[]] = [[], [], []]
  const redemptions: PendingRedemption[] = []
  const keyed: KeyedItem[] = []
  let events = false
  let act: BatchWork["act"]
  const indices = items.map(item => {
    const { kind, at } = place(item)
    if (item.claim !== undefined && kind !== undefined) keyed.push({ kind, at, claim: item.claim })
    return at
  })
  const permits = { openings, closes, ends, redemptions }
  return { work: { drafts, attestations, exports, keyed, permits, events, ...(act && { act }) }, indices }

  /** @returns no kind for what has no idempotency key */
  function place(item: Item): { readonly kind: KeyedItem["kind"] | undefined; readonly at: number } {
    if ("run" in item) return { kind: "run", at: drafts.push(item.run) - 1 }
    if ("attestation" in item) return { kind: "attestation", at: attestations.push(item.attestation) - 1 }
    if ("opening" in item) return { kind: "opening", at: openings.push(item.opening) - 1 }
    if ("close" in item) return { kind: "close", at: closes.push(item.close) - 1 }
    if ("events" in item) {
      events = true
      return { kind: undefined, at: 0 }
    }
    if ("act" in item) {
      act = item.act
      return { kind: undefined, at: 0 }
    }
    if ("end" in item) return { kind: undefined, at: ends.push(item.end) - 1 }
    if ("redemption" in item) return { kind: undefined, at: redemptions.push(item.redemption) - 1 }
    return { kind: undefined, at: exports.push(item.export) - 1 }
  }
}
