/** Commits a batch. Everything that its items depend on is locked first, always in the order of `docs/architecture.md`, "Locks". */
import { randomBytes } from "node:crypto"
import { equalBytes, type JsonObject, type JsonValue } from "@runseal/canonical"
import { receiptOf, sealedHash } from "@runseal/core/artifacts/bundle-schema"
import { type DeclaredSection, isShown } from "@runseal/core/artifacts/declared-sections"
import { explainReceipt } from "@runseal/core/artifacts/explanation"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import type { Sections } from "@runseal/core/artifacts/sections"
import type { Draft } from "@runseal/core/seal/draft"
import { NO_PERMITS, type PermitLocks } from "@runseal/core/seal/permits/settle-permits"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { rootOf } from "@runseal/log/merkle/compact-range"
import type { SealingHeads } from "../heads/heads.ts"
import type { LogIdentity } from "../keys/embedded-log.ts"
import type { LogFrontier } from "../keys/log-builder.ts"
import type { Database } from "../store/driver/database.ts"
import type { Upstream } from "../store/driver/group-commit.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError, storeErrorFrom } from "../store/driver/store-errors.ts"
import { sentTogether } from "../store/driver/transaction.ts"
import { dueEvents, hasDueEvents } from "../store/tables/admin-events.ts"
import { type AttestationRow, countAttestations, insertAttestations } from "../store/tables/attestations-table.ts"
import { packBundle } from "../store/tables/bundle-text.ts"
import { appendEntries, type LogHeadRow, loadFrontier, lockHead } from "../store/tables/log-store.ts"
import { countOutcomes } from "../store/tables/outcome-counts.ts"
import { insertTerms, type RunTerm, type TermField, type TermsOfRun } from "../store/tables/run-terms.ts"
import { findingsText, insertRuns, type NewRunRow, refusalText } from "../store/tables/runs-table.ts"
import { findTenants, lockTenants, type TenantClaim, type TenantOwner, updateTenants } from "../store/tables/tenants.ts"
import type { Telemetry } from "../telemetry.ts"
import type { Batch, BatchContext, BatchWork, Round, SealedRun } from "./batch.ts"
import { lockClaims, recordSealed, withoutTaken } from "./keyed-items.ts"
import { type LogClock, nextLogTime } from "./log-clock.ts"
import { lockPermitItems, lockPermitWindows, permitItems, writePermits } from "./permit-rows.ts"
import type { SealedAttestation } from "./seal-attestation.ts"
import { buildBatch } from "./seal-batch.ts"
import { DEPLOYMENT, writeEvents } from "./seal-events.ts"
import { stateExports } from "./seal-export-statement.ts"

export type SealerContext = BatchContext & {
  readonly heads: SealingHeads
  readonly db: Database
  readonly log: LogIdentity
  /** Milliseconds since the epoch, by the log's clock. */
  readonly nowMs: () => number
  readonly clock: Pick<LogClock, "check" | "sealed">
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
      await context.heads.contains(tx, head)
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
  work: BatchWork,
  batch: Batch,
  { head, time, publicCheckpoint, permits }: BatchPlace,
): readonly Promise<void>[] {
  const root = batch.log.root()
  const size = batch.log.size()
  const runs = batch.runs.filter(run => run !== undefined)
  const attestations = batch.attestations.filter(attestation => attestation !== undefined)
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
    insertRuns(tx, runs.map(runRow)),
    insertTerms(tx, runs.map(termsOfRun)),
    insertAttestations(
      tx,
      attestations.map(sealed => attestationRow(sealed, time)),
    ),
    updateTenants(tx, [...batch.tenants.values()]),
    countOutcomes(
      tx,
      runs.map(({ draft, bundle }) => ({ owner: draft.tenant.owner, outcome_kind: bundle.run.outcome_kind })),
    ),
    writeEvents(tx, batch.events),
    ...writePermits(tx, work, batch, permits),
  ]
}

const runRow = (sealed: SealedRun): NewRunRow => {
  const { draft, bundle, text, packed, tenant_ordinal, owner_ordinal, leaf_digest } = sealed
  const refused = receiptOf(bundle)
  return {
    run_id: bundle.run.run_id,
    owner: draft.tenant.owner,
    owner_ordinal,
    chain_ordinal: tenant_ordinal,
    leaf_digest,
    created_at: Date.parse(bundle.run.created_at),
    outcome_kind: bundle.run.outcome_kind,
    error_stage: bundle.run.error_stage ?? "",
    program_id: bundle.run.program_id,
    route_id: bundle.run.route_id,
    manifest_hash: sealedHash(bundle),
    execution_region: bundle.run.execution_region,
    enforcement: bundle.sections.envelope?.enforcement ?? "",
    duration_us: bundle.run.duration_us,
    findings: findingsText(recordFindings(bundle.sections)),
    refusal: refused === undefined ? "" : refusalText(explainReceipt(refused.receipt)),
    permit_id: bundle.sections.permit?.permit_id ?? "",
    closing_outcome: bundle.sections.permit?.outcome ?? "",
    bundle: packed ?? packBundle(text),
    disclosure_seed: Buffer.from(draft.moment.seed, "hex"),
  }
}

const termsOfRun = ({ draft, bundle, owner_ordinal }: SealedRun): TermsOfRun => ({
  owner: draft.tenant.owner,
  owner_ordinal,
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

// The values of a record that `GET /runs/search` finds it by, beside the columns of its row. Decision 0124.

/** Most approvers of one run that are indexed: the first ones. */
const MAX_APPROVERS = 64

function indexedTerms(sections: Sections): readonly RunTerm[] {
  const attested = declaredOf(sections.attested_context)
  return [
    ...[...rulesOf(sections)].flatMap(id => term("rule_id", id)),
    ...term("payload_hash", sections.payload?.payload_hash),
    ...term("envelope_id", sections.envelope?.envelope_id),
    ...term("actor_id", textMember(attested, "actor_id")),
    ...term("model_name", textMember(attested, "model_name")),
    ...approversOf(declaredOf(sections.authorization_chain)).flatMap(id => term("approver", id)),
  ]
}

/** What decided, and a signature whose match was observed only. */
const rulesOf = ({ policy_evaluation, mcd_finding }: Sections): ReadonlySet<string | undefined> =>
  new Set([policy_evaluation?.fired_rule_id, mcd_finding?.matched_signature_id])

const term = (field: TermField, value: string | undefined): readonly RunTerm[] =>
  value === undefined || value === "" ? [] : [{ field, value }]

const declaredOf = (section: DeclaredSection | undefined): JsonObject | undefined =>
  section !== undefined && isShown(section) ? section.declared : undefined

function approversOf(chain: JsonValue | undefined): readonly (string | undefined)[] {
  const approvers = member(chain, "approvers")
  return Array.isArray(approvers) ? approvers.slice(0, MAX_APPROVERS).map(item => textMember(item, "actor_id")) : []
}
