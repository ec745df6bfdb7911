/**
 * Builds one batch of records and attestations in memory: run numbers, log entries, records, complete-record leaves,
 * attestation leaves. Nothing here is stored; the sealer's transaction keeps all of it or none. FORMATS §6.
 */
import { canonicalize } from "@runseal/canonical"
import type { CompleteRecordLeaf } from "@runseal/core/artifacts/anchor"
import type { AttestationAnswer } from "@runseal/core/artifacts/attestation"
import type { Bundle, BundleBody } from "@runseal/core/artifacts/bundle"
import { tenantCommitment } from "@runseal/core/formulas/decision"
import { completeRecordLeaf, leafDigest } from "@runseal/core/formulas/leaves"
import { bundleHash } from "@runseal/core/formulas/manifest"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import { VERDICTS, type Verdict } from "@runseal/core/verify/report"
import type { AppendedLeaf, LogIdentity } from "../anchor/embedded-log.ts"
import { anchorOf, appendLeafEntry, signHead } from "../anchor/embedded-log.ts"
import type { LogBuilder, LogFrontier } from "../anchor/log-builder.ts"
import { growLog } from "../anchor/log-builder.ts"
import type { Draft } from "../pipeline/draft.ts"
import { inStage, StageFailure } from "../pipeline/stage-failure.ts"
import {
  type AttestationDraft,
  type PlacedAttestation,
  type SealedAttestation,
  sealAttestation,
} from "./attestation.ts"
import { asStageError, finishRecord, firstLeaf, recordSeal } from "./record.ts"

/** Where a tenant's chain stands. */
export type TenantHead = {
  readonly tenant_id: string
  readonly salt: string
  /** Records so far; the next one's ordinal is one more. */
  readonly record_count: number
  /** Digest of the last complete-record leaf; 64 zeros before the first. */
  readonly head: string
}

export type BatchContext = {
  readonly log: LogIdentity
  readonly trust: TrustedKeys
  /** Told of the cause of every failure of stages 7–9. */
  readonly reportFault: (failure: StageFailure) => void
}

/** What a batch is made of. */
export type BatchWork = {
  readonly drafts: readonly Draft[]
  readonly attestations: readonly AttestationDraft[]
}

export type BatchStart = {
  readonly frontier: LogFrontier
  readonly next_run_id: number
  readonly tenants: ReadonlyMap<string, TenantHead>
  /** Attestations that each owner of one in the batch has already. */
  readonly attested: ReadonlyMap<number, number>
  /** Unix seconds: the log time of every entry of the batch. */
  readonly time: number
}

export type SealedRun = {
  readonly draft: Draft
  readonly bundle: Bundle
  /** The bundle's canonical text, as stored and served. */
  readonly text: string
  readonly tenant_ordinal: number
}

export type Batch = {
  readonly runs: readonly SealedRun[]
  readonly attestations: readonly SealedAttestation[]
  /** Every entry appended, in log order. */
  readonly entries: readonly { readonly index: number; readonly body: string }[]
  readonly tenants: ReadonlyMap<string, TenantHead>
  readonly log: LogBuilder
}

/**
 * Builds the batch. A run that fails in stages 7–9 makes everything start over from the same Moments with that run as a
 * stage_error, so each round has one failing run fewer.
 */
export function buildBatch(work: BatchWork, start: BatchStart, context: BatchContext): Batch {
  const failed = new Map<number, StageFailure>()
  const batch = attempt(work, start, context, failed)
  if (failed.size === 0) return batch
  for (const failure of failed.values()) context.reportFault(failure)
  const drafts = work.drafts.map((draft, i) => {
    const failure = failed.get(i)
    return failure === undefined ? draft : asStageError(draft, failure.fault)
  })
  return buildBatch({ ...work, drafts }, start, context)
}

function attempt(
  { drafts, attestations }: BatchWork,
  start: BatchStart,
  context: BatchContext,
  failed: Map<number, StageFailure>,
): Batch {
  const log = growLog(start.frontier)
  const entries: { index: number; body: string }[] = []
  const keep = <L extends AppendedLeaf>(appended: L): L => {
    entries.push({ index: appended.index, body: appended.body })
    return appended
  }
  const runId = (i: number): number => start.next_run_id + i
  const firsts = drafts.map((draft, i) => {
    const leaf = firstLeaf(draft, runId(i))
    return leaf === undefined ? undefined : keep(appendLeafEntry(context.log, log, leaf))
  })
  const c1 = signHead(context.log, log, start.time)
  const tenants = new Map(start.tenants)
  const records = drafts.flatMap((draft, i) => {
    const place = { run_id: runId(i), tenant_salt: tenantOf(tenants, draft).salt }
    const first = firsts[i]
    try {
      const anchor = first === undefined ? undefined : inStage("LEDGER", () => anchorOf(context.log, log, first, c1))
      return [{ draft, record: inStage("DLA", () => finishRecord(draft, place, anchor, context.trust)) }]
    } catch (error) {
      if (!(error instanceof StageFailure) || draft.outcome_kind === "stage_error") throw error
      failed.set(i, error)
      return []
    }
  })
  if (failed.size > 0) return { runs: [], attestations: [], entries, tenants, log }
  const chained = records.map(({ draft, record }) => chain(draft, record, tenants))
  const lasts = chained.map(({ leaf }) => keep(appendLeafEntry(context.log, log, leaf)))
  const attested = new Map(start.attested)
  const placed = attestations.map(({ owner, leaf }): PlacedAttestation => {
    const owner_ordinal = (attested.get(owner) ?? 0) + 1
    attested.set(owner, owner_ordinal)
    return { owner, owner_ordinal, appended: keep(appendLeafEntry(context.log, log, leaf)) }
  })
  const c2 = signHead(context.log, log, start.time)
  const runs = chained.flatMap(({ draft, record, bundle_hash, leaf }, i) => {
    const last = lasts[i]
    if (last === undefined) return []
    const complete_record = anchorOf(context.log, log, last, c2)
    const bundle: Bundle = { ...record, bundle_hash, anchors: { ...record.anchors, complete_record } }
    assertVerified(bundle, VERDICTS.complete, `run ${record.run.run_id}`, context.trust)
    return [{ draft, bundle, text: canonicalize(bundle), tenant_ordinal: leaf.tenant_ordinal }]
  })
  const sealed = placed.map(item => sealAttestation(item, context.log, log, c2))
  for (const { document } of sealed)
    assertVerified(document, VERDICTS.attestation, document.attestation_id, context.trust)
  return { runs, attestations: sealed, entries, tenants, log }
}

function tenantOf(tenants: ReadonlyMap<string, TenantHead>, draft: Draft): TenantHead {
  const tenant = tenants.get(draft.tenant.tenant_id)
  if (tenant === undefined) throw new Error("every tenant of a batch is locked before it is built")
  return tenant
}

type Chained = {
  readonly draft: Draft
  readonly record: BundleBody
  readonly bundle_hash: string
  readonly leaf: CompleteRecordLeaf
}

/** Gives a record its place in the tenant's chain and moves the chain's head. */
function chain(draft: Draft, record: BundleBody, tenants: Map<string, TenantHead>): Chained {
  const tenant = tenantOf(tenants, draft)
  const bundle_hash = bundleHash(record)
  const leaf = completeRecordLeaf(record.run.run_id, bundle_hash, recordSeal(record, draft.receipt), {
    tenant_commitment: tenantCommitment(tenant.tenant_id, tenant.salt),
    tenant_ordinal: tenant.record_count + 1,
    previous_record: tenant.head,
  })
  tenants.set(tenant.tenant_id, { ...tenant, record_count: leaf.tenant_ordinal, head: leafDigest(leaf) })
  return { draft, record, bundle_hash, leaf }
}

/** The auditor's own verifier has the last word before anything is committed. */
function assertVerified(
  document: Bundle | AttestationAnswer,
  verdict: Verdict,
  name: string,
  trust: TrustedKeys,
): void {
  const report = verifyDocument(document, [trust])
  if (isUnreadable(report)) throw new Error(`${name} is not readable: ${report.unreadable}`)
  if (report.verdict === verdict) return
  const failure = report.checks.find(check => check.result === "fail")
  throw new Error(`${name} does not verify: ${failure?.id} ${failure?.message}`)
}
