/**
 * The batches of one process, one after the other: the next one is built while the one before is written.
 *
 * At most two batches are in flight: one that is written, and one that is built or waits for that write. Leaves that are never published are in
 * memory alone: nothing of a batch leaves the process before the log's head behind it is remembered.
 */
import { followed } from "../followed-steps.ts"
import { SIGNER_AWAY, SignerFailure } from "../keys/remote-signer.ts"
import type { WriteBatch } from "../store/driver/group-commit.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import type { ReportFault } from "../telemetry.ts"
import type { Item, OpenItem } from "./batch.ts"
import { type Base, baseAfter, buildAhead, isBuiltAhead, readBase } from "./build-ahead.ts"
import { ActRefused, type Answer, commitBatch, type Known, type SealerContext } from "./commit-batch.ts"
import { PROBE } from "./readiness.ts"
import { openSealingLock } from "./sealing-lock.ts"

/** What the batches of a process leave to each other. */
type State = {
  /** Behind all batches that were built; undefined while nobody knows, and while a batch is built behind the lock. */
  base: Base | undefined
  /** Whether a batch is built and not being written yet. */
  isBuilt: boolean
  /** Size of the log as this process left it last; undefined while nobody knows whether it did. */
  ownSize: number | undefined
  /** The batch that is being written, or was last; never rejects. */
  writing: Promise<unknown>
  /** Whether the last batch got no signature. The next asks for one before its transaction, which holds the log's head and keeps reads waiting. */
  isUnsigned: boolean
}

/** @returns makes a batch ready, and gives the function that writes it */
export function createBatches(
  context: Omit<SealerContext, "reportHead">,
): (items: readonly Item[]) => Promise<WriteBatch<Answer>> {
  const state: State = {
    base: undefined,
    isBuilt: false,
    ownSize: undefined,
    writing: Promise.resolve(),
    isUnsigned: false,
  }
  const lock = openSealingLock(context.db)
  /** Another server has sealed, where the log is another one than this one left. */
  const note = (size: number): void => {
    if (state.ownSize !== undefined && size !== state.ownSize) lock.saw()
  }
  const writer =
    (items: readonly Item[], known: ReadyBatch["known"], found: readonly Fault[] = []): WriteBatch<Answer> =>
    () => {
      state.isBuilt = false
      const batch = { name: "batch", facts: { items: items.length }, apart: items }
      const write = () => writeReady({ items, known, found }, state, { ...context, reportHead: note })
      const written = context.heads.whileSealing(() => followed(batch, write)).finally(lock.leave)
      state.writing = written.catch(ignore)
      return written
    }
  /** A batch that is built behind the lock, on what all batches before it leave. */
  const behindLock = async (items: readonly Item[]): Promise<WriteBatch<Answer>> => {
    await state.writing
    const { base } = state
    state.base = undefined
    return writer(items, { base })
  }
  const beforeLock = async (items: readonly OpenItem[]): Promise<WriteBatch<Answer>> => {
    if (state.base === undefined) await state.writing
    const { base } = state
    if (base === undefined) return behindLock(items)
    const { faults, reportFault } = collectFaults()
    const step = { name: "build", facts: { items: items.length }, apart: items }
    const built = await followed(step, () =>
      buildAhead(items, base, { ...context, reportFault }).then(ahead => ({ ahead }), failed),
    )
    if ("failure" in built) return writer(items, built, faults)
    const { ahead } = built
    // The batch before it failed, or was not written as it was built.
    if (state.base !== base) return behindLock(items)
    state.base = baseAfter(base, ahead)
    state.isBuilt = true
    return writer(items, { ahead }, faults)
  }
  return async items => {
    state.isBuilt = false
    if (await lock.enter(state.writing)) {
      // What cannot be read is read again behind the lock.
      state.base = await readBase(state.base, context.db).catch(() => undefined)
      if (state.base !== undefined) note(state.base.frontier.range.size)
    }
    // Of a batch that is thrown away, a signer elsewhere would have seen leaves that are in no log.
    const isHere = !context.log.keys.service.isElsewhere
    return isHere && items.every(isBuiltAhead) ? beforeLock(items) : behindLock(items)
  }
}

const UNREMEMBERED =
  "The batch was committed, but the log's head could not be remembered beside the keys; nothing of it was acknowledged."

type ReadyBatch = {
  readonly items: readonly Item[]
  readonly known: Known | { readonly failure: unknown }
  /** Faults of its build ahead. Those of a batch that is built again are found again. */
  readonly found: readonly Fault[]
}

/** Writes a batch and remembers the log's head behind it. */
async function writeReady(
  { items, known, found }: ReadyBatch,
  state: State,
  context: SealerContext,
): Promise<readonly Answer[]> {
  let [committed, isAgain] = [false, false]
  const { faults, reportFault } = collectFaults()
  const reportBuilt: SealerContext["reportBuilt"] = place => {
    isAgain = place === "again"
    if (isAgain) state.base = undefined
    context.reportBuilt(place)
  }
  try {
    if ("failure" in known) throw known.failure
    await context.heads.readyToRemember()
    if (state.isUnsigned) await context.log.keys.service.signAll([PROBE])
    state.isUnsigned = false
    const { batch, answers, base } = await commitBatch(items, known, { ...context, reportFault, reportBuilt })
    committed = true
    state.ownSize = batch.log.size()
    // What was built meanwhile was built on something else, and is built again.
    if (base !== undefined) state.base = state.isBuilt ? undefined : base
    await context.heads.remember({ size: batch.log.size(), root: batch.log.root() })
    context.clock.sealed(batch.log.size())
    context.reportCommitted(items.length)
    // The batch was sealed without an item that has no answer.
    return items.map(item => answers.get(item) ?? { refusal: new StoreError("unavailable") })
  } catch (error) {
    if (error instanceof ActRefused) throw error.reason
    // Whatever the outcome of the commit was, the next batch reads the log's head again.
    state.base = undefined
    state.ownSize = undefined
    context.reportFailure(error, items.length)
    const isOfSigner = error instanceof SignerFailure
    state.isUnsigned ||= isOfSigner
    if (committed) throw new StoreError("outcome_unknown", { message: UNREMEMBERED })
    if (error instanceof StoreError) throw error
    throw new StoreError("unavailable", isOfSigner ? { callerMessage: SIGNER_AWAY } : {})
  } finally {
    // A run has its number once it is committed.
    for (const [failure, failedFor] of isAgain ? faults : [...found, ...faults])
      context.reportFault(failure, committed ? failedFor : undefined)
  }
}

/** A batch that could not be built is refused in its place in the order, as one is that cannot be written. */
const failed = (failure: unknown): { readonly failure: unknown } => ({ failure })

type Fault = Parameters<ReportFault>

function collectFaults(): { readonly faults: Fault[]; readonly reportFault: ReportFault } {
  const faults: Fault[] = []
  return { faults, reportFault: (...fault) => void faults.push(fault) }
}

const ignore = (): void => undefined
