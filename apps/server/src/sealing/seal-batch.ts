/**
 * Builds one batch of records and attestations in memory: run numbers, log entries, records, complete-record leaves,
 * attestation leaves. Nothing here is stored; the sealer's transaction keeps all of it or none. docs/pipeline.md, "Order of sealing".
 */
import { canonicalUtf8, type WrittenTexts } from "@runseal/canonical"
import type { CompleteRecordLeaf, Leaf } from "@runseal/core/artifacts/anchor"
import type { Bundle, BundleBody } from "@runseal/core/artifacts/bundle-schema"
import { tenantCommitment } from "@runseal/core/formulas/decision"
import { completeRecordLeaf, leafBytes, leafDigest, recordSeal } from "@runseal/core/formulas/leaves"
import { bundleHash } from "@runseal/core/formulas/manifest-sections"
import { VERDICTS } from "@runseal/core/verify/report"
import {
  type AppendedLeaf,
  anchorOf,
  appendLeafEntry,
  type LogIdentity,
  type SignedLeaf,
  signHead,
  signLeaves,
  type WrittenLeaf,
} from "../keys/embedded-log.ts"
import type { LogBuilder, LogFrontier } from "../keys/log-builder.ts"
import { growLog } from "../keys/log-builder.ts"
import type { Draft } from "../run/pipeline/draft.ts"
import type { StageFailure } from "../run/pipeline/stage-failure.ts"
import { type Finished, finishDocuments } from "./finish-documents.ts"
import { type Failed, openTurns } from "./in-turns.ts"
import type { KeyedItem } from "./keyed-items.ts"
import { asStageError, finishRecord, firstLeaf } from "./record.ts"
import { type AttestationDraft, type SealedAttestation, sealAttestation } from "./seal-attestation.ts"
import { type ExportDraft, type SealedStatement, type StatementDraft, sealStatement } from "./seal-export-statement.ts"
import type { VerifyTexts } from "./verification.ts"

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
  /** Asked of every document before the batch is one. */
  readonly verify: VerifyTexts
  /** Told of the cause of every failure of stages 7–9 and of every refusal. */
  readonly reportFault: (failure: StageFailure) => void
}

/** What a batch is made of. */
export type BatchWork = {
  readonly drafts: readonly Draft[]
  readonly attestations: readonly AttestationDraft[]
  readonly exports?: readonly ExportDraft[]
  /** Those that came under an idempotency key. */
  readonly keyed?: readonly KeyedItem[]
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
  /** The UTF-8 bytes of the bundle's canonical text, as served. */
  readonly text: Uint8Array
  /** The text as it is stored; absent when nobody has packed it yet. */
  readonly packed?: Uint8Array
  readonly tenant_ordinal: number
}

export type Batch = {
  /** In the order of the drafts; undefined for one that is refused. */
  readonly runs: readonly (SealedRun | undefined)[]
  /** In the order of the attestations; undefined for one that is refused. */
  readonly attestations: readonly (SealedAttestation | undefined)[]
  /** In the order of the exports; undefined for one that is refused. */
  readonly statements: readonly (SealedStatement | undefined)[]
  /** Every entry appended, in log order. */
  readonly entries: readonly { readonly index: number; readonly body: string }[]
  readonly tenants: ReadonlyMap<string, TenantHead>
  readonly log: LogBuilder
}

/** What is still to be sealed; undefined in the place of what is refused. */
export type Round = {
  readonly drafts: readonly (Draft | undefined)[]
  readonly attestations: readonly (AttestationDraft | undefined)[]
  /** Of exports: each speaks of its tenant's chain as it stands before the batch. */
  readonly statements?: readonly (StatementDraft | undefined)[]
}

/** What could not be sealed in a round, by its place. */
type Failures = Readonly<Record<"runs" | "attestations" | "statements", Failed>>

/**
 * Builds the batch. A run that fails in stages 7–9, or whose record does not verify, makes everything start over from the
 * same Moments with that run as a stage_error; one that fails as a stage_error too, and an attestation or statement that fails, is
 * refused and the others start over without it. So each round has fewer that can fail, and no record spoils its neighbours.
 */
export async function buildBatch(work: Round, start: BatchStart, context: BatchContext): Promise<Batch> {
  const failures: Failures = { runs: new Map(), attestations: new Map(), statements: new Map() }
  const batch = await attempt(work, start, context, failures)
  if (batch !== undefined) return batch
  for (const failed of [failures.runs, failures.attestations, failures.statements])
    for (const failure of failed.values()) context.reportFault(failure)
  const drafts = work.drafts.map((draft, at) => afterFailure(draft, failures.runs.get(at)))
  const attestations = work.attestations.map((draft, at) => (failures.attestations.has(at) ? undefined : draft))
  const statements = work.statements?.map((draft, at) => (failures.statements.has(at) ? undefined : draft)) ?? []
  return buildBatch({ drafts, attestations, statements }, start, context)
}

function afterFailure(draft: Draft | undefined, failure: StageFailure | undefined): Draft | undefined {
  if (draft === undefined || failure === undefined) return draft
  return draft.outcome_kind === "stage_error" ? undefined : asStageError(draft, failure.fault)
}

/** Items that are there, with their places. */
const seated = <Item>(items: readonly (Item | undefined)[]): readonly { readonly at: number; readonly item: Item }[] =>
  items.flatMap((item, at) => (item === undefined ? [] : [{ at, item }]))

/** Items put back into their places. */
const placed = <Item>(
  count: number,
  items: readonly { readonly at: number; readonly item: Item }[],
): (Item | undefined)[] => {
  const byPlace = new Map(items.map(({ at, item }) => [at, item]))
  return Array.from({ length: count }, (_, at) => byPlace.get(at))
}

/** What is wanted of the verifier: records are stored packed, the others as they are. */
const RECORD = { verdict: VERDICTS.complete, pack: true }
const ATTESTATION = { verdict: VERDICTS.attestation, pack: false }
const STATEMENT = { verdict: VERDICTS.export_statement, pack: false }

const withPacked = ({ at, item, packed }: Finished<SealedRun>): { readonly at: number; readonly item: SealedRun } => ({
  at,
  item: { ...item, ...(packed === undefined ? {} : { packed }) },
})

/** Seals everything of a round; undefined when something failed, which is then among the failures. */
async function attempt(
  round: Round,
  start: BatchStart,
  context: BatchContext,
  failed: Failures,
): Promise<Batch | undefined> {
  const inTurns = openTurns()
  const finishing = { inTurns, verify: context.verify }
  const log = growLog(start.frontier)
  const entries: { index: number; body: string }[] = []
  const signed = new Map<Leaf, SignedLeaf>()
  const sign = async (leaves: readonly WrittenLeaf[]): Promise<void> => {
    for (const leaf of await signLeaves(context.log, leaves)) signed.set(leaf.leaf, leaf)
  }
  const append = <L extends Leaf>(leaf: L): AppendedLeaf<L> => {
    const found = signed.get(leaf)
    if (found === undefined) throw new Error("a leaf is signed before it is appended")
    const appended = appendLeafEntry(context.log, log, { ...found, leaf })
    entries.push({ index: appended.index, body: appended.body })
    return appended
  }
  const tenants = new Map(start.tenants)
  const numbered = seated(round.drafts).map(({ at, item }, i) => ({ at, draft: item, run_id: start.next_run_id + i }))

  const named = await inTurns(numbered, failed.runs, "LEDGER", seat => {
    const leaf = firstLeaf(seat.draft, seat.run_id)
    return { ...seat, written: leaf && { leaf, bytes: seat.draft.texts.write(leaf) } }
  })
  const drafted = await inTurns(seated(round.statements ?? []), failed.statements, "LEDGER", ({ at, item }) => {
    return { at, draft: item, leaf: item.leaf, bytes: leafBytes(item.leaf) }
  })
  const asked = await inTurns(seated(round.attestations), failed.attestations, "LEDGER", ({ at, item }) => {
    return { at, owner: item.owner, leaf: item.leaf, bytes: leafBytes(item.leaf) }
  })
  await sign([...drafted, ...asked, ...named.flatMap(({ written }) => written ?? [])])
  // Before the batch's records: what a statement speaks of stands before it in the log, and nothing else does.
  const stated = await inTurns(drafted, failed.statements, "LEDGER", ({ at, draft, leaf }) => {
    return { at, draft, appended: append(leaf) }
  })
  const begun = await inTurns(named, failed.runs, "LEDGER", ({ written, ...seat }) => ({
    ...seat,
    first: written && append(written.leaf),
  }))
  const c1 = signHead(context.log, log, start.time)
  const anchored = await inTurns(begun, failed.runs, "LEDGER", ({ first, ...seat }) => ({
    ...seat,
    anchor: first === undefined ? undefined : anchorOf(context.log, log, first, c1),
  }))
  const finished = await inTurns(anchored, failed.runs, "DLA", ({ anchor, ...seat }) => {
    const place = { run_id: seat.run_id, tenant_salt: tenantOf(tenants, seat.draft).salt }
    return { ...seat, ...chain(seat.draft, finishRecord(seat.draft, place, anchor), tenants) }
  })
  // What failed until now is known before anything further is signed.
  if (failed.runs.size > 0) return undefined
  await sign(finished.map(({ draft, leaf }) => ({ leaf, bytes: draft.texts.write(leaf) })))
  const lasts = finished.map(run => ({ ...run, last: append(run.leaf) }))
  const attested = new Map(start.attested)
  const proposed = await inTurns(asked, failed.attestations, "LEDGER", ({ at, owner, leaf }) => {
    const owner_ordinal = (attested.get(owner) ?? 0) + 1
    attested.set(owner, owner_ordinal)
    return { at, owner, owner_ordinal, appended: append(leaf) }
  })
  const c2 = signHead(context.log, log, start.time)
  const runs = await finishDocuments(finishing, lasts, failed.runs, RECORD, sealed => {
    const { draft, record, bundle_hash, leaf, last } = sealed
    const complete_record = anchorOf(context.log, log, last, c2)
    const bundle: Bundle = { ...record, bundle_hash, anchors: { ...record.anchors, complete_record } }
    return { draft, bundle, text: canonicalUtf8(bundle, draft.texts), tenant_ordinal: leaf.tenant_ordinal }
  })
  const attestations = await finishDocuments(finishing, proposed, failed.attestations, ATTESTATION, proposal =>
    sealAttestation(proposal, context.log, log, c2),
  )
  const statements = await finishDocuments(finishing, stated, failed.statements, STATEMENT, ({ draft, appended }) =>
    sealStatement(draft, appended, context.log, log, c2),
  )
  if (failed.runs.size + failed.attestations.size + failed.statements.size > 0) return undefined
  return {
    runs: placed(round.drafts.length, runs.map(withPacked)),
    attestations: placed(round.attestations.length, attestations),
    statements: placed(round.statements?.length ?? 0, statements),
    entries,
    tenants,
    log,
  }
}

function tenantOf(tenants: ReadonlyMap<string, TenantHead>, draft: Draft): TenantHead {
  const tenant = tenants.get(draft.tenant.tenant_id)
  if (tenant === undefined) throw new Error("every tenant of a batch is locked before it is built")
  return tenant
}

type Chained = {
  readonly record: BundleBody
  readonly bundle_hash: string
  readonly leaf: CompleteRecordLeaf
}

/** Writes what the text of a record holds as the preimage of its hash does: all but its sections. */
function writeShared({ run, allow_token, manifest, anchors }: BundleBody, texts: WrittenTexts): void {
  for (const part of [run, allow_token, manifest, anchors.pre_anchor]) if (part !== undefined) texts.write(part)
}

/** Gives a record its place in the tenant's chain and moves the chain's head. */
function chain(draft: Draft, record: BundleBody, tenants: Map<string, TenantHead>): Chained {
  const { texts } = draft
  const tenant = tenantOf(tenants, draft)
  writeShared(record, texts)
  const bundle_hash = bundleHash(record, texts)
  const leaf = completeRecordLeaf(record.run.run_id, bundle_hash, recordSeal(record), {
    tenant_commitment: tenantCommitment(tenant.tenant_id, tenant.salt),
    tenant_ordinal: tenant.record_count + 1,
    previous_record: tenant.head,
  })
  texts.write(leaf)
  tenants.set(tenant.tenant_id, { ...tenant, record_count: leaf.tenant_ordinal, head: leafDigest(leaf, texts) })
  return { record, bundle_hash, leaf }
}
