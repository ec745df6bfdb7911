/**
 * One round of a batch: seals all of its items in memory, in the order of the log. A run's first leaf comes before its record, and the
 * documents of a tenant's chain are appended in the order of the chain.
 */

import { randomInt } from "node:crypto"
import { canonicalUtf8, type WrittenTexts } from "@runseal/canonical"
import type { CompleteRecordLeaf, Leaf, RedemptionLeaf } from "@runseal/core/artifacts/anchor"
import type { Bundle, BundleBody, SealedBody } from "@runseal/core/artifacts/bundle-schema"
import { finishSealed, reduceBody } from "@runseal/core/derivation/derive"
import { completeRecordLeaf, leafBytes, leafDigest, recordSeal } from "@runseal/core/formulas/leaves"
import { bundleHash } from "@runseal/core/formulas/manifest-sections"
import type { Draft } from "@runseal/core/seal/draft"
import {
  NO_PERMITS,
  NOTHING_LOCKED,
  type PermitWork,
  type SettledPermits,
  settlePermitWork,
} from "@runseal/core/seal/permits/settle-permits"
import { asStageError, finishRecord, firstLeaf, unverified } from "@runseal/core/seal/record"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { VERDICTS } from "@runseal/core/verify/report"
import {
  type AppendedLeaf,
  anchorOf,
  appendLeafEntry,
  type EntryCheckpoint,
  type LogIdentity,
  type SignedLeaf,
  signHead,
  signLeaves,
  type WrittenLeaf,
} from "../keys/embedded-log.ts"
import { growLog, type LogBuilder } from "../keys/log-builder.ts"
import type { Batch, BatchContext, BatchStart, Failures, Round } from "./batch.ts"
import { createStepRunner, type Failed, type RunSteps, type Slot } from "./batch-steps.ts"
import { sealAttestation } from "./seal-attestation.ts"
import { chainEvent, sealEvent } from "./seal-events.ts"
import { sealStatement } from "./seal-export-statement.ts"
import { chainEnd, chainOpening, sealEnd, sealOpening, sealRedemption } from "./seal-permits.ts"
import type { FinishedText, VerifyTexts } from "./verification.ts"

/** The items that are there, each with its index. */
const indexed = <Item>(items: readonly (Item | undefined)[]): readonly (Slot & { readonly item: Item })[] =>
  items.flatMap((item, at) => (item === undefined ? [] : [{ at, item }]))

/** The items at their indices. */
const inOrder = <Item>(count: number, items: readonly (Slot & { readonly item: Item })[]): (Item | undefined)[] => {
  const byIndex = new Map(items.map(({ at, item }) => [at, item]))
  return Array.from({ length: count }, (_, at) => byIndex.get(at))
}

/** What is wanted of the verifier: the documents of chains are stored packed, the others as they are. */
const RECORD = { verdict: VERDICTS.complete, pack: true }
const OPENING = { verdict: VERDICTS.opening, pack: true }
const END = { verdict: VERDICTS.permit_end, pack: true }
const EVENT = { verdict: VERDICTS.admin_event, pack: true }
const ATTESTATION = { verdict: VERDICTS.attestation, pack: false }
const STATEMENT = { verdict: VERDICTS.export_statement, pack: false }

const withPacked = <Document>({ at, item, packed }: Finished<Document>) => ({
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

/** The runs of a round: its drafts, then what the closes and the openings of its permits became. */
function runsOf({ drafts, faults }: Round, { closes, openings }: SettledPermits): readonly (Draft | undefined)[] {
  const runs = [...drafts, ...[...closes, ...openings].map(item => (item && "run" in item ? item.run : undefined))]
  return runs.map((draft, at) => {
    const fault = faults?.get(at)
    return draft === undefined || fault === undefined ? draft : asStageError(draft, fault)
  })
}

const refusalsOf = (items: SettledPermits[keyof PermitWork]): ReadonlyMap<number, unknown> =>
  new Map(items.flatMap((item, at) => (item && "refusal" in item ? [[at, item.refusal] as const] : [])))

/** A settled item that is sealed as a document of its own, with what it came of. */
const documentsOf = <Pending, Made extends object>(
  pending: readonly (Pending | undefined)[],
  settled: readonly (Made | { readonly refusal: unknown } | { readonly run: Draft } | undefined)[],
): readonly (Slot & { readonly pending: Pending; readonly made: Made })[] =>
  settled.flatMap((made, at) => {
    const of = pending[at]
    return made === undefined || "refusal" in made || "run" in made || of === undefined
      ? []
      : [{ at, pending: of, made }]
  })

/** What the steps of a round share. */
function openRound(start: BatchStart, context: BatchContext, failed: Failures) {
  const log = growLog(start.frontier)
  const runSteps = createStepRunner()
  const tenants = new Map(start.tenants)
  const writer = createLeafWriter(context.log, log)
  return { start, context, failed, log, runSteps, tenants, ...writer, finishing: { runSteps, verify: context.verify } }
}
type OpenRound = ReturnType<typeof openRound>

/**
 * Seals all items of a round.
 * @returns the batch; or, when an item failed, which is then in `failed`, the runs that there were
 */
export async function sealRound(
  round: Round,
  start: BatchStart,
  context: BatchContext,
  failed: Failures,
): Promise<{ readonly batch: Batch } | { readonly runs: readonly (Draft | undefined)[] }> {
  const open = openRound(start, context, failed)
  const { permits = NO_PERMITS } = round
  const settled = settlePermitWork(permits, start.permits ?? NOTHING_LOCKED, open.tenants, context.watch)
  const runs = runsOf(round, settled)
  const redemptions = settled.redemptions.flatMap((item, at) =>
    item && "redeemed" in item ? [{ at, leaf: item.redeemed, bytes: leafBytes(item.redeemed) }] : [],
  )
  const first = await appendFirstLeaves({ ...round, drafts: runs }, open)
  const finishedRuns = await open.runSteps(first.runs, failed.runs, "DLA", ({ anchor, ...run }) => {
    const place = { run_id: run.run_id, tenant_salt: tenantOf(open.tenants, run.draft.tenant.tenant_id).salt }
    return { ...run, ...chain(run.draft, finishRecord(run.draft, place, anchor, context.watch), open.tenants) }
  })
  // The round ends here if a run has failed: nothing more is signed for it.
  if (failed.runs.size > 0) return { runs }
  const openings = documentsOf(permits.openings, settled.openings)
  const ends = documentsOf(permits.ends, settled.ends)
  const chainedOpenings = await open.runSteps(openings, failed.openings, "DLA", slot => {
    return { at: slot.at, pending: slot.pending, ...chainOpening(slot.made.opening, open.tenants) }
  })
  const chainedEnds = await open.runSteps(ends, failed.ends, "DLA", slot => {
    return { at: slot.at, pending: slot.pending, ...chainEnd(slot.made.end, open.tenants) }
  })
  const chainedEvents = await open.runSteps(indexed(round.due ?? []), failed.events, "DLA", slot => {
    return { at: slot.at, ...chainEvent(slot.item, start.now, open.tenants) }
  })
  if (failed.openings.size + failed.ends.size + failed.events.size > 0) return { runs }
  const written = finishedRuns.map(({ draft, leaf }) => ({ leaf, bytes: draft.texts.write(leaf) }))
  await open.sign([...written, ...redemptions, ...chainedOpenings, ...chainedEnds, ...chainedEvents])
  const documents = await finishRound(open, {
    runs: finishedRuns.map(run => ({ ...run, last: open.append(run.leaf) })),
    openings: chainedOpenings.map(slot => ({ ...slot, appended: open.append(slot.leaf) })),
    ends: chainedEnds.map(slot => ({ ...slot, appended: open.append(slot.leaf) })),
    events: chainedEvents.map(slot => ({ ...slot, appended: open.append(slot.leaf) })),
    statements: first.statements,
    attestations: first.attestations,
    redemptions: redemptions.map(({ at, leaf }) => ({ at, appended: open.append(leaf) })),
  })
  if (Object.values(failed).some(({ size }) => size > 0)) return { runs }
  return {
    batch: {
      runs: inOrder(runs.length, documents.runs.map(withPacked)),
      openings: inOrder(permits.openings.length, documents.openings.map(withPacked)),
      ends: inOrder(permits.ends.length, documents.ends.map(withPacked)),
      events: documents.events.map(withPacked).map(({ item }) => item),
      redemptions: inOrder(permits.redemptions.length, documents.redemptions),
      refusals: {
        redemptions: refusalsOf(settled.redemptions),
        closes: refusalsOf(settled.closes),
        ends: refusalsOf(settled.ends),
        openings: refusalsOf(settled.openings),
      },
      movements: settled.movements,
      windows: settled.windows,
      attestations: inOrder(round.attestations.length, documents.attestations),
      statements: inOrder(round.statements?.length ?? 0, documents.statements),
      entries: open.entries,
      tenants: open.tenants,
      log: open.log,
    },
  }
}

/** Appends what comes before the records, and proves the runs' first leaves. */
async function appendFirstLeaves(
  { drafts, statements = [], attestations }: Round,
  { start, context, failed, log, runSteps, sign, append }: OpenRound,
) {
  const numbered = indexed(drafts).map(({ at, item }, i) => ({ at, draft: item, run_id: start.next_run_id + i }))
  const runsWithLeaf = await runSteps(numbered, failed.runs, "LEDGER", run => {
    const leaf = firstLeaf(run.draft, run.run_id)
    return { ...run, written: leaf && { leaf, bytes: run.draft.texts.write(leaf) } }
  })
  const statementLeaves = await runSteps(indexed(statements), failed.statements, "LEDGER", slot => {
    return { at: slot.at, draft: slot.item, leaf: slot.item.leaf, bytes: leafBytes(slot.item.leaf) }
  })
  const attestationLeaves = await runSteps(indexed(attestations), failed.attestations, "LEDGER", slot => {
    return { at: slot.at, owner: slot.item.owner, leaf: slot.item.leaf, bytes: leafBytes(slot.item.leaf) }
  })
  await sign([...statementLeaves, ...attestationLeaves, ...runsWithLeaf.flatMap(({ written }) => written ?? [])])
  // Before the batch's documents: exactly those that a statement describes come before it in the log.
  const appendedStatements = await runSteps(statementLeaves, failed.statements, "LEDGER", ({ at, draft, leaf }) => {
    return { at, draft, appended: append(leaf) }
  })
  const appendedRuns = await runSteps(runsWithLeaf, failed.runs, "LEDGER", ({ written, ...run }) => ({
    ...run,
    first: written && append(written.leaf),
  }))
  // Only where a run has a first leaf. Otherwise the head is that of the batch before, under which a redemption may be proven: no head gets
  // a second signature, so that every signature in a text is the one that was returned for its message (decision 0155).
  let c1: EntryCheckpoint | undefined
  const firstHead = (): EntryCheckpoint => (c1 ??= signHead(context.log, log, start.time))
  const anchored = await runSteps(appendedRuns, failed.runs, "LEDGER", ({ first, ...run }) => ({
    ...run,
    anchor: first === undefined ? undefined : anchorOf(context.log, log, first, firstHead()),
  }))
  return { runs: anchored, statements: appendedStatements, attestations: attestationLeaves }
}

type FirstLeaves = Awaited<ReturnType<typeof appendFirstLeaves>>

/** Everything of a round that is in the log but for its attestations. */
type Appended = Pick<FirstLeaves, "statements" | "attestations"> & {
  readonly runs: readonly (Omit<FirstLeaves["runs"][number], "anchor"> &
    Chained & { readonly last: AppendedLeaf<CompleteRecordLeaf> })[]
  readonly openings: readonly (Slot & Parameters<typeof sealOpening>[0])[]
  readonly ends: readonly (Slot & Parameters<typeof sealEnd>[0])[]
  readonly events: readonly (Slot & Parameters<typeof sealEvent>[0])[]
  readonly redemptions: readonly (Slot & { readonly appended: AppendedLeaf<RedemptionLeaf> })[]
}

/** Appends the attestations, makes every document under the last head, and has each verified. */
async function finishRound(round: OpenRound, appendedBefore: Appended) {
  const { runs, openings, ends, events, statements, attestations, redemptions } = appendedBefore
  const { start, context, failed, log, runSteps, append, finishing } = round
  const attested = new Map(start.attested)
  const appended = await runSteps(attestations, failed.attestations, "LEDGER", slot => {
    const owner_ordinal = (attested.get(slot.owner) ?? 0) + 1
    attested.set(slot.owner, owner_ordinal)
    return { at: slot.at, owner: slot.owner, owner_ordinal, appended: append(slot.leaf) }
  })
  // A round whose items are all refused appends nothing: its head is that of the batch before, and gets no second signature.
  let c2: EntryCheckpoint | undefined
  const lastHead = (): EntryCheckpoint => (c2 ??= signHead(context.log, log, start.time))
  return {
    runs: await finishDocuments(finishing, runs, failed.runs, RECORD, run => {
      const { draft, record, sealed, bundle_hash, leaf, owner_ordinal, leaf_digest, last } = run
      const complete_record = anchorOf(context.log, log, last, lastHead())
      const bundle: Bundle = { ...record, bundle_hash, anchors: { ...record.anchors, complete_record } }
      const text = canonicalUtf8(finishSealed(sealed, bundle_hash, complete_record), draft.texts)
      return { draft, bundle, text, tenant_ordinal: leaf.tenant_ordinal, owner_ordinal, leaf_digest }
    }),
    openings: await finishDocuments(finishing, openings, failed.openings, OPENING, slot =>
      sealOpening(slot, context.log, log, lastHead()),
    ),
    ends: await finishDocuments(finishing, ends, failed.ends, END, slot => sealEnd(slot, context.log, log, lastHead())),
    events: await finishDocuments(finishing, events, failed.events, EVENT, slot =>
      sealEvent(slot, context.log, log, lastHead()),
    ),
    attestations: await finishDocuments(finishing, appended, failed.attestations, ATTESTATION, slot =>
      sealAttestation(slot, context.log, log, lastHead()),
    ),
    redemptions: await runSteps(redemptions, failed.redemptions, "LEDGER", ({ at, appended }) => ({
      at,
      item: sealRedemption(appended, context, log, lastHead()),
    })),
    statements: await finishDocuments(finishing, statements, failed.statements, STATEMENT, slot =>
      sealStatement(slot.draft, slot.appended, context.log, log, lastHead()),
    ),
  }
}

type Chained = {
  readonly record: BundleBody
  readonly sealed: SealedBody
  readonly bundle_hash: string
  readonly leaf: CompleteRecordLeaf
  readonly leaf_digest: string
  readonly owner_ordinal: number
}

/** Writes into the cache of texts the parts that a record's text and the preimage of its hash share: all but the sections. */
function writeShared({ run, allow_token, manifest, anchors }: SealedBody, texts: WrittenTexts): void {
  for (const part of [run, allow_token, manifest, anchors.pre_anchor]) if (part !== undefined) texts.write(part)
}

/** Gives a record its place in the tenant's chain and moves the chain's head. */
function chain(draft: Draft, record: BundleBody, tenants: Map<string, TenantHead>): Chained {
  const { texts } = draft
  const tenant = tenantOf(tenants, draft.tenant.tenant_id)
  const sealed = reduceBody(record)
  writeShared(sealed, texts)
  const bundle_hash = bundleHash(sealed, texts)
  const leaf = completeRecordLeaf(record.run.run_id, bundle_hash, recordSeal(record), nextPlace(tenant))
  texts.write(leaf)
  const leaf_digest = leafDigest(leaf, texts)
  moveHead(tenants, tenant, leaf_digest, 1)
  return { record, sealed, bundle_hash, leaf, leaf_digest, owner_ordinal: tenant.run_count + 1 }
}

// The last step of a batch: makes the documents, and verifies their texts while the next ones are made.

/** Most documents in one call of the verifier: a call costs little for each of them, and the verifier can start early. */
const CALL_MAX_DOCUMENTS = 8
/** A batch is verified in at least so many calls, so that a small one keeps every thread of the verifier busy as well. */
const MIN_CALLS = 4

type Finishing = {
  readonly runSteps: RunSteps
  readonly verify: VerifyTexts
}

/** A document of the batch, with its packed form where that was asked for. */
type Finished<Document> = Slot & { readonly item: Document; readonly packed: Uint8Array | undefined }

/**
 * Makes documents and has each verified. An item for which either fails is added to `failed` and is not returned.
 * Rejects when the verifier could not be asked.
 * @param wanted of the verifier, for each
 */
async function finishDocuments<Item extends Slot, Document extends Pick<FinishedText, "text">>(
  { runSteps, verify }: Finishing,
  items: readonly Item[],
  failed: Failed,
  wanted: Pick<FinishedText, "verdict" | "pack">,
  make: (item: Item) => Document,
): Promise<readonly Finished<Document>[]> {
  const sampled = items.length === 0 ? undefined : items[randomInt(items.length)]?.at
  const judgeAll = async (made: readonly (Slot & { readonly item: Document })[]): Promise<Finished<Document>[]> => {
    const judgements = await verify(
      made.map(({ at, item }) => ({ ...wanted, text: item.text, sampled: at === sampled })),
    )
    return made.flatMap(({ at, item }, i) => {
      const judged = judgements[i]
      if (judged !== undefined && "packed" in judged) return [{ at, item, packed: judged.packed }]
      failed.set(at, unverified(judged?.objection ?? "the verifier did not answer"))
      return []
    })
  }
  const calls: Promise<readonly Finished<Document>[]>[] = []
  const perCall = Math.min(CALL_MAX_DOCUMENTS, Math.ceil(items.length / MIN_CALLS))
  for (let first = 0; first < items.length; first += perCall) {
    const some = items.slice(first, first + perCall)
    const made = await runSteps(some, failed, "DLA", item => ({ at: item.at, item: make(item) }))
    const call = judgeAll(made)
    // Awaited below. Without this, a call that rejects before that would count as an unhandled rejection.
    call.catch(() => {})
    calls.push(call)
  }
  return (await Promise.all(calls)).flat()
}
