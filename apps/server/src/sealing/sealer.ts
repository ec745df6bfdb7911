/**
 * Runs and attestations, sealed in groups: one batch is one transaction, and what is acknowledged is durable.
 * docs/pipeline.md, "Order of sealing".
 */

import type { Draft } from "@runseal/core/seal/draft"
import type { PendingEnd, PendingRedemption } from "@runseal/core/seal/permits/settle-permits"
import type { PendingRequest } from "@runseal/core/seal/pipeline"
import type { PendingClose, PendingOpening } from "@runseal/core/seal/settlement"
import { followed } from "../followed-steps.ts"
import { createPipelinedCommit } from "../store/driver/group-commit.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import type { Acts } from "../store/tables/admin-events.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { Item, SealedRun } from "./batch.ts"
import { createBatches } from "./batches.ts"
import { isBuiltAhead } from "./build-ahead.ts"
import { type Answer, type SealerContext, secondsSince } from "./commit-batch.ts"
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
const AHEAD_FROM_ITEMS = 8

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

export function openSealer(context: Omit<SealerContext, "reportHead">): Sealer {
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
