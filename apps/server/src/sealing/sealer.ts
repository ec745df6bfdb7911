/**
 * Group commit: everything that waits while the last transaction commits goes into the next one, without a timer.
 * One batch is one transaction; a run is acknowledged only after it is durable. FORMATS §6, ENGINE §3.
 */
import { randomBytes } from "node:crypto"
import { equalBytes } from "@runseal/canonical"
import { sealedHash } from "@runseal/core/artifacts/bundle"
import { rootOf } from "@runseal/core/transparency-log/compact-range"
import type { LogIdentity } from "../anchor/embedded-log.ts"
import type { LogFrontier } from "../anchor/log-builder.ts"
import type { Draft } from "../pipeline/draft.ts"
import type { Database } from "../store/database.ts"
import { StoreError } from "../store/errors.ts"
import { appendEntries, loadFrontier, lockHead } from "../store/log-store.ts"
import { insertRuns } from "../store/runs.ts"
import type { LogHeadRow, RunRow } from "../store/schema.ts"
import type { Tx } from "../store/session.ts"
import { lockTenants, updateTenants } from "../store/tenants.ts"
import { nextLogTime } from "./log-clock.ts"
import type { Batch, BatchContext, SealedRun } from "./seal-batch.ts"
import { buildBatch } from "./seal-batch.ts"

/** Most runs in one transaction. */
export const BATCH_MAX_RUNS = 256
/** Most runs that may wait; past it sealing answers 503 at once. */
export const QUEUE_MAX_RUNS = 4096

export type Sealer = {
  /** Seals a draft; resolves once its record is durable. Rejects with StoreError when nothing was acknowledged. */
  readonly seal: (draft: Draft) => Promise<SealedRun>
  /** Seals what waits and takes nothing more. */
  readonly close: () => Promise<void>
}

export type SealerContext = BatchContext & {
  readonly db: Database
  readonly log: LogIdentity
  readonly nowMs: () => number
  /** The published checkpoint of a head. */
  readonly publicCheckpoint: (size: number, root: Uint8Array) => string
  /** Makes the head durable beside the keys, after commit and before any answer. */
  readonly rememberHead: (size: number, root: Uint8Array) => void
  /** Told why a batch failed; every run of it is refused. */
  readonly reportFailure: (error: unknown) => void
}

type Waiting = {
  readonly draft: Draft
  readonly resolve: (run: SealedRun) => void
  readonly reject: (error: unknown) => void
}

export function openSealer(context: SealerContext): Sealer {
  const queue: Waiting[] = []
  let known: LogFrontier | undefined
  let running: Promise<void> | undefined
  let closed = false

  const sealWaiting = async (): Promise<void> => {
    while (queue.length > 0) {
      const waiting = queue.splice(0, BATCH_MAX_RUNS)
      try {
        const batch = await commitBatch(
          waiting.map(item => item.draft),
          known,
          context,
        )
        known = batch.log.frontier()
        context.rememberHead(batch.log.size(), batch.log.root())
        waiting.forEach((item, i) => {
          const run = batch.runs[i]
          if (run === undefined) item.reject(new Error("a sealed batch holds every run"))
          else item.resolve(run)
        })
      } catch (error) {
        // Whatever the outcome of the commit was, the next batch reads the log's head again.
        known = undefined
        context.reportFailure(error)
        for (const item of waiting) item.reject(error instanceof StoreError ? error : new StoreError("unavailable"))
      }
    }
    running = undefined
  }

  return {
    seal: draft =>
      new Promise((resolve, reject) => {
        if (closed || queue.length >= QUEUE_MAX_RUNS) {
          reject(new StoreError("unavailable"))
          return
        }
        queue.push({ draft, resolve, reject })
        running ??= Promise.resolve().then(sealWaiting)
      }),
    close: async () => {
      closed = true
      await running
    },
  }
}

/** One transaction: lock the log's head, build on it, write everything. */
const commitBatch = (
  drafts: readonly Draft[],
  known: LogFrontier | undefined,
  context: SealerContext,
): Promise<Batch> =>
  context.db.transaction(async tx => {
    const head = await lockHead(tx)
    const time = nextLogTime(head.log_time, context.nowMs())
    if (time === undefined) throw new StoreError("unavailable")
    const frontier = isAt(known, head) ? known : await loadFrontier(tx, head)
    const tenants = await lockTenants(tx, newTenants(drafts))
    const batch = buildBatch(drafts, { frontier, next_run_id: head.next_run_id, tenants, time }, context)
    await writeBatch(tx, batch, head, time, context)
    return batch
  })

const isAt = (known: LogFrontier | undefined, head: LogHeadRow): known is LogFrontier =>
  known !== undefined && known.range.size === head.size && equalBytes(rootOf(known.range), head.root)

/** The batch's tenants in sorted order, each with the salt it gets if it is new. */
function newTenants(drafts: readonly Draft[]): readonly { tenant_id: string; owner: number; salt: string }[] {
  const owners = new Map(drafts.map(({ tenant }) => [tenant.tenant_id, tenant.owner]))
  return [...owners.keys()].sort().map(tenant_id => ({
    tenant_id,
    owner: owners.get(tenant_id) ?? 0,
    salt: randomBytes(32).toString("hex"),
  }))
}

async function writeBatch(tx: Tx, batch: Batch, head: LogHeadRow, time: number, context: SealerContext): Promise<void> {
  const root = batch.log.root()
  const size = batch.log.size()
  await insertRuns(tx, batch.runs.map(runRow))
  await appendEntries(tx, {
    entries: batch.entries.map(({ index, body }) => ({ log_index: index, body, integrated_time: time })),
    tiles: batch.log.tiles(),
    head: {
      size,
      root,
      log_time: time,
      next_run_id: head.next_run_id + batch.runs.length,
      checkpoint: context.publicCheckpoint(size, root),
      epoch: head.epoch,
    },
  })
  await updateTenants(tx, [...batch.tenants.values()])
}

const runRow = ({ draft, bundle, text, tenant_ordinal }: SealedRun): RunRow => ({
  run_id: bundle.run.run_id,
  owner: draft.tenant.owner,
  owner_ordinal: tenant_ordinal,
  created_at: Date.parse(bundle.run.created_at),
  outcome_kind: bundle.run.outcome_kind,
  error_stage: bundle.run.error_stage ?? "",
  program_id: bundle.run.program_id,
  route_id: bundle.run.route_id,
  manifest_hash: sealedHash(bundle),
  execution_region: bundle.run.execution_region,
  duration_us: bundle.run.duration_us,
  bundle: text,
  disclosure_seed: Buffer.from(draft.moment.seed, "hex"),
})
