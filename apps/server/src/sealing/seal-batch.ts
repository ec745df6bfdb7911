/**
 * Builds one batch of records and attestations in memory: run numbers, log entries, records, complete-record leaves,
 * attestation leaves. Nothing is stored here; the sealer's transaction commits all of it or none. docs/pipeline.md, "Order of sealing".
 */
import { canonicalUtf8, type WrittenTexts } from "@runseal/canonical"
import type { CompleteRecordLeaf, Leaf } from "@runseal/core/artifacts/anchor"
import type { Bundle, BundleBody, SealedBody } from "@runseal/core/artifacts/bundle-schema"
import { finishSealed, reduceBody } from "@runseal/core/derivation/derive"
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
import type { ReportFault, StageFailure } from "../run/pipeline/stage-failure.ts"
import { createStepRunner, type Failed, type Slot } from "./batch-steps.ts"
import { type Finished, finishDocuments } from "./finish-documents.ts"
import type { KeyedItem } from "./keyed-items.ts"
import { asStageError, finishRecord, firstLeaf } from "./record.ts"
import { type AttestationDraft, type SealedAttestation, sealAttestation } from "./seal-attestation.ts"
import { type ExportDraft, type SealedStatement, type StatementDraft, sealStatement } from "./seal-export-statement.ts"
import type { VerifyTexts } from "./verification.ts"

/** The head of a tenant's chain. */
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
  /** Verifies every document before the batch is committed. */
  readonly verify: VerifyTexts
  /** Called with the cause of every failure of stages 7–9 and of every refusal. */
  readonly reportFault: ReportFault
}

/** The items of a batch. */
export type BatchWork = {
  readonly drafts: readonly Draft[]
  readonly attestations: readonly AttestationDraft[]
  readonly exports?: readonly ExportDraft[]
  /** Items that came under an idempotency key. */
  readonly keyed?: readonly KeyedItem[]
}

export type BatchStart = {
  readonly frontier: LogFrontier
  readonly next_run_id: number
  readonly tenants: ReadonlyMap<string, TenantHead>
  /** How many attestations each owner in the batch has already. */
  readonly attested: ReadonlyMap<number, number>
  /** Unix seconds: the log time of every entry of the batch. */
  readonly time: number
}

export type SealedRun = {
  readonly draft: Draft
  readonly bundle: Bundle
  /** The UTF-8 bytes of the bundle's canonical text, as served. */
  readonly text: Uint8Array
  /** The text as it is stored; absent when it is not packed yet. */
  readonly packed?: Uint8Array
  readonly tenant_ordinal: number
  /** Of its complete-record leaf. */
  readonly leaf_digest: string
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

/** The items still to be sealed; undefined at the index of an item that is refused. */
export type Round = {
  readonly drafts: readonly (Draft | undefined)[]
  readonly attestations: readonly (AttestationDraft | undefined)[]
  /** Of exports: each describes its tenant's chain before the batch. */
  readonly statements?: readonly (StatementDraft | undefined)[]
}

/** Why items of a round could not be sealed, by index. */
type Failures = Readonly<Record<"runs" | "attestations" | "statements", Failed>>

/**
 * Builds the batch, in rounds. A run that fails in stages 7–9, or whose record does not verify, is a stage_error in the next
 * round, which starts from the same Moments. A run that fails as a stage_error too, and an attestation or statement that fails, is
 * refused, and the next round is without it. So each round has fewer items that can fail, and no item fails because of another.
 */
export async function buildBatch(work: Round, start: BatchStart, context: BatchContext): Promise<Batch> {
  const failures: Failures = { runs: new Map(), attestations: new Map(), statements: new Map() }
  const batch = await attempt(work, start, context, failures)
  if (batch !== undefined) return batch
  for (const failed of [failures.attestations, failures.statements])
    for (const failure of failed.values()) context.reportFault(failure)
  const drafts = work.drafts.map((draft, at) => afterFailure(draft, failures.runs.get(at)))
  const attestations = work.attestations.map((draft, at) => (failures.attestations.has(at) ? undefined : draft))
  const statements = work.statements?.map((draft, at) => (failures.statements.has(at) ? undefined : draft)) ?? []
  const rebuilt = await buildBatch({ drafts, attestations, statements }, start, context)
  for (const [at, failure] of failures.runs)
    context.reportFault(failure, { run_id: rebuilt.runs[at]?.bundle.run.run_id })
  return rebuilt
}

function afterFailure(draft: Draft | undefined, failure: StageFailure | undefined): Draft | undefined {
  if (draft === undefined || failure === undefined) return draft
  return draft.outcome_kind === "stage_error" ? undefined : asStageError(draft, failure.fault)
}

/** The items that are there, each with its index. */
const indexed = <Item>(items: readonly (Item | undefined)[]): readonly (Slot & { readonly item: Item })[] =>
  items.flatMap((item, at) => (item === undefined ? [] : [{ at, item }]))

/** The items at their indices. */
const inOrder = <Item>(count: number, items: readonly (Slot & { readonly item: Item })[]): (Item | undefined)[] => {
  const byIndex = new Map(items.map(({ at, item }) => [at, item]))
  return Array.from({ length: count }, (_, at) => byIndex.get(at))
}

/** What is wanted of the verifier: records are stored packed, the others as they are. */
const RECORD = { verdict: VERDICTS.complete, pack: true }
const ATTESTATION = { verdict: VERDICTS.attestation, pack: false }
const STATEMENT = { verdict: VERDICTS.export_statement, pack: false }

const withPacked = ({ at, item, packed }: Finished<SealedRun>): Slot & { readonly item: SealedRun } => ({
  at,
  item: { ...item, ...(packed === undefined ? {} : { packed }) },
})

type LeafWriter = {
  /** The entries that were appended, in log order. */
  readonly entries: Batch["entries"]
  /** Signs leaves together: a remote signer gets one request for all of them. */
  readonly sign: (leaves: readonly WrittenLeaf[]) => Promise<void>
  /** Appends a leaf that was signed. */
  readonly append: <L extends Leaf>(leaf: L) => AppendedLeaf<L>
}

function createLeafWriter(identity: LogIdentity, log: LogBuilder): LeafWriter {
  const entries: { index: number; body: string }[] = []
  const signed = new Map<Leaf, SignedLeaf>()
  return {
    entries,
    sign: async leaves => {
      for (const leaf of await signLeaves(identity, leaves)) signed.set(leaf.leaf, leaf)
    },
    append: leaf => {
      const found = signed.get(leaf)
      if (found === undefined) throw new Error("a leaf is signed before it is appended")
      const appended = appendLeafEntry(identity, log, { ...found, leaf })
      entries.push({ index: appended.index, body: appended.body })
      return appended
    },
  }
}

/** Seals all items of a round; undefined when one failed, which is then in `failed`. */
async function attempt(
  round: Round,
  start: BatchStart,
  context: BatchContext,
  failed: Failures,
): Promise<Batch | undefined> {
  const runSteps = createStepRunner()
  const finishing = { runSteps, verify: context.verify }
  const log = growLog(start.frontier)
  const { entries, sign, append } = createLeafWriter(context.log, log)
  const tenants = new Map(start.tenants)
  const numbered = indexed(round.drafts).map(({ at, item }, i) => ({ at, draft: item, run_id: start.next_run_id + i }))

  const runsWithLeaf = await runSteps(numbered, failed.runs, "LEDGER", run => {
    const leaf = firstLeaf(run.draft, run.run_id)
    return { ...run, written: leaf && { leaf, bytes: run.draft.texts.write(leaf) } }
  })
  const statementLeaves = await runSteps(indexed(round.statements ?? []), failed.statements, "LEDGER", slot => {
    return { at: slot.at, draft: slot.item, leaf: slot.item.leaf, bytes: leafBytes(slot.item.leaf) }
  })
  const attestationLeaves = await runSteps(indexed(round.attestations), failed.attestations, "LEDGER", slot => {
    return { at: slot.at, owner: slot.item.owner, leaf: slot.item.leaf, bytes: leafBytes(slot.item.leaf) }
  })
  await sign([...statementLeaves, ...attestationLeaves, ...runsWithLeaf.flatMap(({ written }) => written ?? [])])
  // Before the batch's records: exactly the records that a statement describes come before it in the log.
  const appendedStatements = await runSteps(statementLeaves, failed.statements, "LEDGER", ({ at, draft, leaf }) => {
    return { at, draft, appended: append(leaf) }
  })
  const appendedRuns = await runSteps(runsWithLeaf, failed.runs, "LEDGER", ({ written, ...run }) => ({
    ...run,
    first: written && append(written.leaf),
  }))
  const c1 = signHead(context.log, log, start.time)
  const anchoredRuns = await runSteps(appendedRuns, failed.runs, "LEDGER", ({ first, ...run }) => ({
    ...run,
    anchor: first === undefined ? undefined : anchorOf(context.log, log, first, c1),
  }))
  const finishedRuns = await runSteps(anchoredRuns, failed.runs, "DLA", ({ anchor, ...run }) => {
    const place = { run_id: run.run_id, tenant_salt: tenantOf(tenants, run.draft).salt }
    return { ...run, ...chain(run.draft, finishRecord(run.draft, place, anchor), tenants) }
  })
  // The round ends here if a run has failed: nothing more is signed for it.
  if (failed.runs.size > 0) return undefined
  await sign(finishedRuns.map(({ draft, leaf }) => ({ leaf, bytes: draft.texts.write(leaf) })))
  const chainedRuns = finishedRuns.map(run => ({ ...run, last: append(run.leaf) }))
  const attested = new Map(start.attested)
  const appendedAttestations = await runSteps(attestationLeaves, failed.attestations, "LEDGER", slot => {
    const owner_ordinal = (attested.get(slot.owner) ?? 0) + 1
    attested.set(slot.owner, owner_ordinal)
    return { at: slot.at, owner: slot.owner, owner_ordinal, appended: append(slot.leaf) }
  })
  const c2 = signHead(context.log, log, start.time)
  const runs = await finishDocuments(finishing, chainedRuns, failed.runs, RECORD, run => {
    const { draft, record, sealed, bundle_hash, leaf, leaf_digest, last } = run
    const complete_record = anchorOf(context.log, log, last, c2)
    const bundle: Bundle = { ...record, bundle_hash, anchors: { ...record.anchors, complete_record } }
    const text = canonicalUtf8(finishSealed(sealed, bundle_hash, complete_record), draft.texts)
    return { draft, bundle, text, tenant_ordinal: leaf.tenant_ordinal, leaf_digest }
  })
  const attestations = await finishDocuments(
    finishing,
    appendedAttestations,
    failed.attestations,
    ATTESTATION,
    attestation => sealAttestation(attestation, context.log, log, c2),
  )
  const statements = await finishDocuments(
    finishing,
    appendedStatements,
    failed.statements,
    STATEMENT,
    ({ draft, appended }) => sealStatement(draft, appended, context.log, log, c2),
  )
  if (failed.runs.size + failed.attestations.size + failed.statements.size > 0) return undefined
  return {
    runs: inOrder(round.drafts.length, runs.map(withPacked)),
    attestations: inOrder(round.attestations.length, attestations),
    statements: inOrder(round.statements?.length ?? 0, statements),
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
  readonly sealed: SealedBody
  readonly bundle_hash: string
  readonly leaf: CompleteRecordLeaf
  readonly leaf_digest: string
}

/** Writes into the cache of texts the parts that a record's text and the preimage of its hash share: all but the sections. */
function writeShared({ run, allow_token, manifest, anchors }: SealedBody, texts: WrittenTexts): void {
  for (const part of [run, allow_token, manifest, anchors.pre_anchor]) if (part !== undefined) texts.write(part)
}

/** Gives a record its place in the tenant's chain and moves the chain's head. */
function chain(draft: Draft, record: BundleBody, tenants: Map<string, TenantHead>): Chained {
  const { texts } = draft
  const tenant = tenantOf(tenants, draft)
  const sealed = reduceBody(record)
  writeShared(sealed, texts)
  const bundle_hash = bundleHash(sealed, texts)
  const leaf = completeRecordLeaf(record.run.run_id, bundle_hash, recordSeal(record), {
    tenant_commitment: tenantCommitment(tenant.tenant_id, tenant.salt),
    tenant_ordinal: tenant.record_count + 1,
    previous_record: tenant.head,
  })
  texts.write(leaf)
  const leaf_digest = leafDigest(leaf, texts)
  tenants.set(tenant.tenant_id, { ...tenant, record_count: leaf.tenant_ordinal, head: leaf_digest })
  return { record, sealed, bundle_hash, leaf, leaf_digest }
}
