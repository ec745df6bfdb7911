/**
 * Runs and attestations, sealed in groups: one batch is one transaction, and what is acknowledged is durable.
 * docs/pipeline.md, "Order of sealing".
 */
import { randomBytes } from "node:crypto"
import { equalBytes } from "@runseal/canonical"
import { sealedHash } from "@runseal/core/artifacts/bundle-schema"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import { rootOf } from "@runseal/log/merkle/compact-range"
import type { LogIdentity } from "../keys/embedded-log.ts"
import type { LogFrontier } from "../keys/log-builder.ts"
import type { Draft } from "../run/pipeline/draft.ts"
import type { ReportFault } from "../run/pipeline/stage-failure.ts"
import type { Database } from "../store/driver/database.ts"
import { createGroupCommit, type Upstream } from "../store/driver/group-commit.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { sentTogether } from "../store/driver/transaction.ts"
import { type AttestationRow, countAttestations, insertAttestations } from "../store/tables/attestations-table.ts"
import { packBundle } from "../store/tables/bundle-text.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import { appendEntries, type LogHeadRow, loadFrontier, lockHead } from "../store/tables/log-store.ts"
import { insertTerms, type TermsOfRun } from "../store/tables/run-terms.ts"
import { findingsText, insertRuns, type NewRunRow } from "../store/tables/runs-table.ts"
import { findTenants, lockTenants, type TenantClaim, type TenantOwner, updateTenants } from "../store/tables/tenants.ts"
import type { Telemetry } from "../telemetry.ts"
import type { SealingHeads } from "./head-guard.ts"
import { indexedTerms } from "./indexed-terms.ts"
import { lockClaims, recordSealed, withoutTaken } from "./keyed-items.ts"
import { nextLogTime } from "./log-clock.ts"
import type { AttestationDraft, SealedAttestation } from "./seal-attestation.ts"
import type { Batch, BatchContext, BatchWork, Round, SealedRun } from "./seal-batch.ts"
import { buildBatch } from "./seal-batch.ts"
import { type ExportDraft, type SealedStatement, stateExports } from "./seal-export-statement.ts"
import { type Item, partition } from "./sealing-items.ts"

/** Most runs and attestations in one transaction. */
export const BATCH_MAX_ITEMS = 256
/** Most runs and attestations that may wait; past it sealing answers 503 at once. */
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
  /** Seals the statement of an export, of the chain at the time of sealing. */
  readonly state: (draft: ExportDraft) => Promise<SealedStatement>
  /** Records in the queue. */
  readonly waiting: () => number
  /** Seals the queue and takes nothing more. */
  readonly close: () => Promise<void>
}

type SealerContext = BatchContext &
  SealingHeads & {
    readonly db: Database
    readonly log: LogIdentity
    readonly nowMs: () => number
    /** Queues that a run passes before this one, in their order; absent where runs do not come by requests. */
    readonly upstream?: readonly Upstream[]
    /** The head's epoch when this process started. It is another one once the keys were changed or one of the log's was revoked. */
    readonly epoch: number
    /** The published checkpoint of a head. */
    readonly publicCheckpoint: (size: number, root: Uint8Array) => string
    /** Called when a batch failed, all of whose items are refused. */
    readonly reportFailure: (error: unknown) => void
    /** Called for each acknowledged item, with the seconds since it was submitted. */
    readonly reportSealed: Telemetry["sealed"]
    /** Called for each committed batch. */
    readonly reportCommitted: Telemetry["committed"]
    /** Called for each batch that locked the log's head, committed or not. */
    readonly reportLockHeld: Telemetry["lockHeld"]
  }

const UNREMEMBERED =
  "The batch was committed, but the log's head could not be remembered beside the keys; nothing of it was acknowledged."

const KEYS_CHANGED =
  "The log's signing keys were changed or one was revoked since this process started; start it again."

/** A batch, and the index of an item's document in it: among the runs, the attestations or the statements. */
type Sealed = { readonly batch: Batch; readonly at: number }

export function openSealer(context: SealerContext): Sealer {
  let known: LogFrontier | undefined

  const sealItems = async (items: readonly Item[]): Promise<readonly Sealed[]> => {
    let committed = false
    const faults: Parameters<ReportFault>[] = []
    const reportFault: ReportFault = (...fault) => void faults.push(fault)
    try {
      const { work, indices } = partition(items)
      await context.readyToRemember()
      const batch = await commitBatch(work, known, { ...context, reportFault })
      committed = true
      known = batch.log.frontier()
      await context.rememberHead(batch.log.size(), batch.log.root())
      context.reportCommitted(items.length)
      return indices.map(at => ({ batch, at }))
    } catch (error) {
      // Whatever the outcome of the commit was, the next batch reads the log's head again.
      known = undefined
      context.reportFailure(error)
      if (committed) throw new StoreError("outcome_unknown", { message: UNREMEMBERED })
      throw error instanceof StoreError ? error : new StoreError("unavailable")
    } finally {
      // A run has its number once it is committed.
      for (const [failure, failedFor] of faults) context.reportFault(failure, committed ? failedFor : undefined)
    }
  }
  const weigh = (item: Item): number => ("run" in item ? item.run.texts.size() : 0)
  const long = { isLong: (item: Item) => weigh(item) > LONG_BYTES, weigh, batchWeight: LONG_BATCH_BYTES }
  const bounds = { batch: BATCH_MAX_ITEMS, waiting: QUEUE_MAX_ITEMS, long }
  const { submit, waiting, close } = createGroupCommit<Item, Sealed>(
    items => context.whileSealing(() => sealItems(items)),
    bounds,
    context.upstream,
  )

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
    state: async draft => {
      const { batch, at } = await submit({ export: draft, claim: undefined })
      return sealedAt(batch.statements, at)
    },
    waiting,
    close,
  }
}

const secondsSince = (since: number): number => (performance.now() - since) / 1000

/** @throws StoreError when the batch was sealed without the item, which is then refused alone */
function sealedAt<T>(sealed: readonly (T | undefined)[], at: number): T {
  const found = sealed[at]
  if (found === undefined) throw new StoreError("unavailable")
  return found
}

/**
 * One transaction: lock the log's head, build on it, write everything.
 * @param known the log's last frontier; it is read from the store when the stored head is another one
 */
async function commitBatch(work: BatchWork, known: LogFrontier | undefined, context: SealerContext): Promise<Batch> {
  const { exports = [] } = work
  let lockedSince: number | undefined
  const owners = ownersOf([...work.drafts, ...exports])
  const attesting = [...new Set(work.attestations.map(({ owner }) => owner))]
  const sealing = context.db.transactionFrom(
    // In this order: what is read behind the head's lock is final.
    tx =>
      sentTogether([
        lockHead(tx),
        findTenants(tx, owners),
        countAttestations(tx, attesting),
        lockClaims(tx, work, context.nowMs()),
      ]),
    async (tx, [head, found, attested, keys]) => {
      lockedSince = performance.now()
      await context.checkHead(tx, head)
      if (head.epoch !== context.epoch) throw new StoreError("unavailable", { message: KEYS_CHANGED })
      const time = nextLogTime(head.log_time, context.nowMs())
      if (time === undefined) throw new StoreError("unavailable")
      const frontier = isAt(known, head) ? known : await loadFrontier(tx, head)
      const made = await lockTenants(tx, owners.filter(({ tenant_id }) => !found.has(tenant_id)).map(withSalt))
      const tenants = new Map([...found, ...made])
      const statements = await stateExports(tx, exports, tenants, context.reportFailure)
      const start = { frontier, next_run_id: head.next_run_id, tenants, attested, time }
      const round = withoutTaken(work, keys)
      const batch = await buildBatch({ ...round, statements }, start, context)
      if (batch.entries.length > 0) {
        await sentTogether([
          ...writeBatch(tx, batch, head, time, context),
          recordSealed(tx, work, batch, context.nowMs()),
        ])
      } else if (hasItems(round) || exports.length > 0) throw new StoreError("unavailable")
      return batch
    },
  )
  return sealing.finally(() => {
    if (lockedSince !== undefined) context.reportLockHeld(secondsSince(lockedSince))
  })
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

/** Sends all rows of a batch. */
function writeBatch(
  tx: Tx,
  batch: Batch,
  head: LogHeadRow,
  time: number,
  context: SealerContext,
): readonly Promise<void>[] {
  const root = batch.log.root()
  const size = batch.log.size()
  const runs = batch.runs.filter(run => run !== undefined)
  const attestations = batch.attestations.filter(attestation => attestation !== undefined)
  const entries = batch.entries.map(({ index, body }) => ({ log_index: index, body, integrated_time: time }))
  const next: LogHeadRow = {
    size,
    root,
    log_time: time,
    next_run_id: head.next_run_id + runs.length,
    checkpoint: context.publicCheckpoint(size, root),
    epoch: head.epoch,
  }
  return [
    appendEntries(tx, { entries, tiles: batch.log.tiles(), head: next }),
    insertRuns(tx, runs.map(runRow)),
    insertTerms(tx, runs.map(termsOfRun)),
    insertAttestations(
      tx,
      attestations.map(sealed => attestationRow(sealed, time)),
    ),
    updateTenants(tx, [...batch.tenants.values()]),
  ]
}

const runRow = ({ draft, bundle, text, packed, tenant_ordinal, leaf_digest }: SealedRun): NewRunRow => ({
  run_id: bundle.run.run_id,
  owner: draft.tenant.owner,
  owner_ordinal: tenant_ordinal,
  leaf_digest,
  created_at: Date.parse(bundle.run.created_at),
  outcome_kind: bundle.run.outcome_kind,
  error_stage: bundle.run.error_stage ?? "",
  program_id: bundle.run.program_id,
  route_id: bundle.run.route_id,
  manifest_hash: sealedHash(bundle),
  execution_region: bundle.run.execution_region,
  duration_us: bundle.run.duration_us,
  findings: findingsText(recordFindings(bundle.sections)),
  bundle: packed ?? packBundle(text),
  disclosure_seed: Buffer.from(draft.moment.seed, "hex"),
})

const termsOfRun = ({ draft, bundle, tenant_ordinal }: SealedRun): TermsOfRun => ({
  owner: draft.tenant.owner,
  owner_ordinal: tenant_ordinal,
  terms: indexedTerms(bundle.sections),
})

const attestationRow = ({ owner, owner_ordinal, document, text }: SealedAttestation, time: number): AttestationRow => ({
  attestation_id: document.attestation_id,
  owner,
  owner_ordinal,
  created_at: time * 1000,
  digest: document.digest,
  log_index: Number(document.log_entry_id),
  document: text,
})
