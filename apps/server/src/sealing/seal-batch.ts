/**
 * Builds a batch in memory, in the order of the log. Every item takes the same steps: the leaf that comes before the records, where it has one;
 * the leaf of its document, in the order of the chains; the document under the last head; its verification.
 */
import { randomInt } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import type { Leaf } from "@runseal/core/artifacts/anchor"
import { NOTHING_LOCKED, openBook } from "@runseal/core/seal/permits/settle-permits"
import { unverified } from "@runseal/core/seal/record"
import { inStage, StageFailure } from "@runseal/core/seal/stage-failure"
import { anchorOf, appendLeafEntry, growLog, type SignedLeaf, signHead, signLeaves } from "../keys/embedded-log.ts"
import {
  type Attempt,
  type Batch,
  type BatchContext,
  type BatchStart,
  ITEM_KINDS,
  type Item,
  type ItemPart,
  type Leafed,
  LOG_PLACES,
  type Made,
  type Make,
  type Outcome,
  type Round,
} from "./batch.ts"

/**
 * Builds the batch, in rounds. A run that fails in stages 7–9, or whose record does not verify, is a stage_error in the next
 * round, which starts from the same Moments. A run that fails as a stage_error too, and any other item that fails, is refused, and
 * the next round is without it. So each round has fewer items that can fail, and no item fails because of another.
 */
export async function buildBatch(
  attempts: readonly Attempt[],
  start: BatchStart,
  context: BatchContext,
): Promise<Batch> {
  const made = await sealRound(attempts, start, context)
  if ("batch" in made) return made.batch
  const { failed } = made
  for (const { part, failure } of failed.values()) if (part.draft === undefined) context.reportFault(failure)
  const rebuilt = await buildBatch(nextAttempts(attempts, failed), start, context)
  for (const [{ item }, { part, failure }] of failed) {
    if (part.draft === undefined) continue
    const outcome = rebuilt.outcomes.get(item)
    const run = outcome !== undefined && "rows" in outcome ? outcome.rows.run : undefined
    context.reportFault(failure, { run_id: run?.row.run_id })
  }
  return rebuilt
}

/** Why attempts could not be sealed, and what they were. */
type Failed = Map<Attempt, { readonly part: ItemPart; readonly failure: StageFailure }>

function nextAttempts(attempts: readonly Attempt[], failed: Failed): readonly Attempt[] {
  let isOrderBroken = false
  return attempts.flatMap(attempt => {
    const found = failed.get(attempt)
    if (attempt.item.waitsForEarlier) isOrderBroken ||= found !== undefined
    if (found === undefined) return attempt.item.waitsForEarlier && isOrderBroken ? [] : [attempt]
    const { part, failure } = found
    const isLost = part.draft === undefined || part.draft.outcome_kind === "stage_error"
    return isLost ? [] : [{ ...attempt, fault: failure.fault }]
  })
}

/** A part before its next step. */
type Under<Step> = { readonly attempt: Attempt; readonly part: ItemPart; readonly step: Step }

/**
 * Seals all items of a round. The round ends at the step in which an item fails: nothing more is signed for it.
 * @returns the batch, or what failed
 */
async function sealRound(
  attempts: readonly Attempt[],
  start: BatchStart,
  context: BatchContext,
): Promise<{ readonly batch: Batch } | { readonly failed: Failed }> {
  const failed: Failed = new Map()
  const run = createStepRunner(failed)
  const { round, sign, log, entries } = openRound(start, context)
  const { parts, refusals } = openParts(attempts, round)
  const before = await run(parts, "LEDGER", part => part.before())
  if (failed.size > 0) return { failed }
  await sign(before)
  const chains = await run(before, "LEDGER", ({ append }) => append())
  const chained = await run(chains, "DLA", chain => chain())
  if (failed.size > 0) return { failed }
  await sign(chained)
  const makes = await run(chained, "LEDGER", ({ append }) => append())
  const sealed = await finishDocuments(makes, run, context, failed)
  if (failed.size > 0) return { failed }
  const outcomes = new Map<Item, Outcome>([...refusals, ...sealed.map(one => [one.item, one] as const)])
  return { batch: { sealed, outcomes, book: round.book, entries, tenants: round.tenants, log } }
}

/** What the items of a round become, in the order of the log. One that throws is refused alone, and moves nothing. */
function openParts(attempts: readonly Attempt[], round: Round) {
  const refusals: [Item, Outcome][] = []
  const opened = inOrder(attempts, ITEM_KINDS, ({ item }) => item.kind).flatMap(attempt => {
    try {
      const part = attempt.open(round, attempt.fault)
      return [{ attempt, part, step: part }]
    } catch (refusal) {
      refusals.push([attempt.item, { refusal }])
      return []
    }
  })
  return { refusals, parts: inOrder(opened, LOG_PLACES, ({ part }) => part.place) }
}

const inOrder = <One, Key>(all: readonly One[], order: readonly Key[], keyOf: (one: One) => Key): readonly One[] =>
  all.toSorted((one, other) => order.indexOf(keyOf(one)) - order.indexOf(keyOf(other)))

/** What is made at the first call, if there is one. */
function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function openRound(start: BatchStart, context: BatchContext) {
  const { log: identity } = context
  const log = growLog(start.frontier)
  const entries: { index: number; body: string }[] = []
  const signed = new Map<Leaf, SignedLeaf>()
  const attested = new Map(start.attested)
  let next_run_id = start.next_run_id
  // Each head is signed where an entry is proven under it: a round that appends nothing has that of the batch before, and no head gets a second
  // signature, so that every signature in a text is the one that was returned for its message (decision 0155).
  const firstHead = once(() => signHead(identity, log, start.time))
  const lastHead = once(() => signHead(identity, log, start.time))
  const round: Round = {
    start,
    context,
    book: openBook(start.permits ?? NOTHING_LOCKED),
    ended: new Set(),
    asked: new Set(),
    asking: new Map(),
    tenants: new Map(start.tenants),
    nextRunId: () => next_run_id++,
    nextAttestation: owner => {
      const ordinal = (attested.get(owner) ?? 0) + 1
      attested.set(owner, ordinal)
      return ordinal
    },
    append: leaf => {
      const found = signed.get(leaf)
      if (found === undefined) throw new Error("a leaf is signed before it is appended")
      const appended = appendLeafEntry(identity, log, { ...found, leaf })
      entries.push({ index: appended.index, body: appended.body })
      return appended
    },
    firstAnchor: appended => anchorOf(identity, log, appended, firstHead()),
    anchor: appended => anchorOf(identity, log, appended, lastHead()),
  }
  /** Signs leaves together: a remote signer gets one request for all of them. */
  const sign = async (steps: readonly Under<Leafed<unknown>>[]): Promise<void> => {
    const leaves = steps.flatMap(({ step }) => step.written ?? [])
    for (const leaf of await signLeaves(identity, leaves)) signed.set(leaf.leaf, leaf)
  }
  return { round, sign, log, entries }
}

// Steps are taken item by item. Other work of the event loop runs in between, and an item that fails is left out alone.

/** Longest that a batch runs without a break for the event loop, in milliseconds; a single step may take longer. */
const SLICE_MS = 2

/** Takes a step for each part, in order. When it fails, its failure is recorded and the part left out of what is returned. */
type RunSteps = <Step, Next>(
  parts: readonly Under<Step>[],
  stage: "LEDGER" | "DLA",
  take: (step: Step) => Next,
) => Promise<readonly Under<Next>[]>

/** For one round: its time slices are counted over all its steps. */
function createStepRunner(failed: Failed): RunSteps {
  let sliceEnd = performance.now() + SLICE_MS
  const yieldToOthers = async (): Promise<void> => {
    await setImmediate()
    sliceEnd = performance.now() + SLICE_MS
  }
  return async (parts, stage, take) => {
    const taken = []
    for (const { attempt, part, step } of parts) {
      if (performance.now() >= sliceEnd) await yieldToOthers()
      try {
        taken.push({ attempt, part, step: inStage(stage, () => take(step)) })
      } catch (failure) {
        if (!(failure instanceof StageFailure)) throw failure
        failed.set(attempt, { part, failure })
      }
    }
    return taken
  }
}

// The last step of a round: makes the documents, and verifies their texts while the next ones are made.

/** Most documents in one call of the verifier: a call costs little for each of them, and the verifier can start early. */
const CALL_MAX_DOCUMENTS = 8
/** A batch is verified in at least so many calls, so that a small one keeps every thread of the verifier busy as well. */
const MIN_CALLS = 4

/**
 * Makes documents and has each verified. An item for which either fails is added to `failed` and is not returned.
 * Rejects when the verifier could not be asked.
 */
async function finishDocuments(
  parts: readonly Under<Make>[],
  run: RunSteps,
  { verify }: Pick<BatchContext, "verify">,
  failed: Failed,
): Promise<Batch["sealed"]> {
  const sampled = sampledOf(parts)
  const judgeAll = async (made: readonly Under<Made>[]): Promise<Batch["sealed"]> => {
    const texts = made.flatMap(one =>
      one.step.document === undefined ? [] : [{ ...one, document: one.step.document }],
    )
    const judgements =
      texts.length === 0
        ? []
        : await verify(texts.map(({ part, document }) => ({ ...document, sampled: sampled.has(part) })))
    const judged = new Map(texts.map(({ part }, at) => [part, judgements[at]]))
    return made.flatMap(({ attempt, part, step: { document, seal } }) => {
      const found = document === undefined ? { packed: undefined } : judged.get(part)
      if (found !== undefined && "packed" in found) return [{ ...seal(found.packed), item: attempt.item }]
      failed.set(attempt, { part, failure: unverified(found?.objection ?? "the verifier did not answer") })
      return []
    })
  }
  const calls: Promise<Batch["sealed"]>[] = []
  const perCall = Math.min(CALL_MAX_DOCUMENTS, Math.ceil(parts.length / MIN_CALLS))
  for (let first = 0; first < parts.length; first += perCall) {
    const made = await run(parts.slice(first, first + perCall), "DLA", make => make())
    const call = judgeAll(made)
    // Awaited below. Without this, a call that rejects before that would count as an unhandled rejection.
    call.catch(() => {})
    calls.push(call)
  }
  return (await Promise.all(calls)).flat()
}

/** One part of each place in the log, chosen at random: ECDSA is run for it before the batch is committed. Decision 0155. */
function sampledOf(parts: readonly Under<Make>[]): ReadonlySet<ItemPart> {
  const sampled = LOG_PLACES.flatMap(place => {
    const there = parts.filter(({ part }) => part.place === place)
    return there.length === 0 ? [] : (there[randomInt(there.length)]?.part ?? [])
  })
  return new Set(sampled)
}
