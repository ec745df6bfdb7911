/** Group commit: items that arrive while a batch is written go into the next batch. */
import { setImmediate, setTimeout } from "node:timers/promises"
import { StoreError } from "./store-errors.ts"
import { waitWithin, withoutWaitLimit } from "./wait-limit.ts"

type GroupBounds<Item = never> = {
  /** Most items of one batch. */
  readonly batch: number
  /** Most items in the queues; one more is refused at once. */
  readonly waiting: number
  /** A batch has no effect that a caller could see: an item that gave up was refused, whatever becomes of its batch. */
  readonly readsOnly?: true
  /** Items that would hold up others get queues and batches of their own, which alternate with theirs: those wait for one batch of each at most. */
  readonly lanes?: readonly Lane<Item>[]
  /** From so many items in a queue on, a batch is made ready while the one before is written; absent: never. */
  readonly aheadFrom?: number
}

/** A queue of its own. */
export type Lane<Item> = {
  /** Which items go into it; those of an earlier lane do not. */
  readonly takes: (item: Item) => boolean
  /** What an item weighs, and what the items of one batch may weigh together, whatever one alone weighs. */
  readonly weigh: (item: Item) => number
  readonly batchWeight: number
}

export type GroupCommit<Item, Result> = {
  /**
   * Resolves with the item's result when its batch is written.
   * @throws StoreError "unavailable" when the queue is full, the group is closed or the batch before timed out, and when the request
   *   may not wait any longer in the queue; "outcome_unknown" when it may not wait for its batch; otherwise the error of its batch
   */
  readonly submit: (item: Item) => Promise<Result>
  /** Items in the queue. */
  readonly waiting: () => number
  /** Resolves when the batch that is being written is settled; undefined when none is. */
  readonly underWay: () => Promise<unknown> | undefined
  /** Refuses new items and resolves when those in the queue are settled. */
  readonly close: () => Promise<void>
}

/** A group whose items go on into another group. */
export type Upstream = Pick<GroupCommit<never, never>, "underWay">

/** Longest that a batch waits for the items of an upstream group, in milliseconds. */
const UPSTREAM_TIMEOUT_MS = 25

type Waiting<Item, Result> = {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Writes a batch that was made ready, and gives one result an item, in the same order; when it rejects, so does every item. */
export type WriteBatch<Result> = () => Promise<readonly Result[]>

/** @param write writes a batch, once the one before is settled */
export const createGroupCommit = <Item, Result>(
  write: (batch: readonly Item[]) => Promise<readonly Result[]>,
  bounds: GroupBounds<Item>,
  upstream: readonly Upstream[] = [],
): GroupCommit<Item, Result> => createPipelinedCommit(async batch => () => write(batch), bounds, upstream)

/**
 * Batches in two steps: the next one is made ready while the one before is written. One at a time is made ready, and one at a time written, in
 * their order; so at most two are in flight.
 * @param ready makes a batch ready; when it rejects, so does every item, in its place in the order
 * @param upstream groups that items come through, in their order. A batch waits for the items that are being written there, so
 *   that few concurrent items share a batch. Decision 0116.
 */
export function createPipelinedCommit<Item, Result>(
  ready: (batch: readonly Item[]) => Promise<WriteBatch<Result>>,
  bounds: GroupBounds<Item>,
  upstream: readonly Upstream[] = [],
): GroupCommit<Item, Result> {
  const lanes = [...(bounds.lanes ?? []), { takes: () => true, weigh: () => 1, batchWeight: bounds.batch }].map(
    lane => ({ ...lane, queue: [] as Waiting<Item, Result>[] }),
  )
  const waiting = (): number => lanes.reduce((sum, { queue }) => sum + queue.length, 0)
  let closed = false
  let working: Promise<void> | undefined
  let batch: Promise<Settled> | undefined
  let hasFailed = false
  /** When the first batch began that was not written since another was. */
  let goingOnSince = 0
  /** After a timeout what waits is refused: nothing of it was written, and the next batch would take as long again. */
  const refuse = (items: readonly Waiting<Item, Result>[]): void => {
    for (const { reject } of items) reject(new StoreError("unavailable"))
  }
  const goOn = (): void => {
    if (!hasFailed) goingOnSince = performance.now()
  }
  const writeBatch = async (write: WriteBatch<Result>, items: readonly Waiting<Item, Result>[]): Promise<Settled> => {
    const result = await settle(write, items)
    hasFailed = result !== "written"
    if (result === "late") refuse(lanes.flatMap(({ queue }) => queue.splice(0)))
    batch = undefined
    return result
  }
  const takeBatch = async ({ queue, weigh, batchWeight }: (typeof lanes)[number]): Promise<void> => {
    const count = countWithin(
      queue.slice(0, bounds.batch).map(({ item }) => weigh(item)),
      batchWeight,
    )
    const items = queue.splice(0, count)
    const before = batch
    if (before === undefined) goOn()
    const write = await ready(items.map(({ item }) => item)).catch((error: unknown) => () => Promise.reject(error))
    const was = await before
    // A request may wait on from where the batch before it was written, and not from where this one was taken.
    if (was === "written") goOn()
    if (was === "late") refuse(items)
    else batch = writeBatch(write, items)
  }
  const work = async (): Promise<void> => {
    while (waiting() > 0) {
      for (const group of upstream) await letArrive(group)
      for (const lane of lanes) {
        if (lane.queue.length === 0) continue
        if (lane.queue.length < (bounds.aheadFrom ?? Number.POSITIVE_INFINITY)) await batch
        if (lane.queue.length > 0) await takeBatch(lane)
      }
      if (waiting() === 0) await batch
    }
    working = undefined
  }
  return {
    submit: item => {
      const into = lanes.find(({ takes }) => takes(item))?.queue
      let own: Waiting<Item, Result> | undefined
      const result = new Promise<Result>((resolve, reject) => {
        if (closed || into === undefined || waiting() >= bounds.waiting) return reject(new StoreError("unavailable"))
        own = { item, resolve, reject }
        into.push(own)
        // Not at once: other callers that the same event releases are in the first batch too.
        working ??= withoutWaitLimit(() => Promise.resolve().then(work))
      })
      const giveUp = (): StoreError => {
        const at = own === undefined || into === undefined ? -1 : into.indexOf(own)
        if (at !== -1) into?.splice(at, 1)
        const isOpen = at === -1 && bounds.readsOnly !== true
        return new StoreError(isOpen ? "outcome_unknown" : "unavailable")
      }
      return waitWithin(result, giveUp, () => goingOnSince)
    },
    waiting,
    underWay: () => batch,
    close: async () => {
      closed = true
      await working
    },
  }
}

/** How many of the first weights add up to `most` or less; at least one. */
function countWithin(weights: readonly number[], most: number): number {
  let sum = 0
  const beyond = weights.findIndex(weight => {
    sum += weight
    return sum > most
  })
  return beyond === -1 ? weights.length : Math.max(beyond, 1)
}

/** Waits for the batch that a group is writing, and until its items had the chance to be submitted here. */
async function letArrive({ underWay }: Upstream): Promise<void> {
  const written = underWay()
  if (written === undefined) return
  await Promise.race([written, setTimeout(UPSTREAM_TIMEOUT_MS, undefined, { ref: false })])
  await setImmediate()
}

/** What became of a batch; "late" when a time limit ended it. */
type Settled = "written" | "failed" | "late"

async function settle<Item, Result>(
  write: WriteBatch<Result>,
  batch: readonly Waiting<Item, Result>[],
): Promise<Settled> {
  try {
    const results = await write()
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = results[at]
      if (result === undefined) reject(new StoreError("corrupt"))
      else resolve(result)
    }
    return "written"
  } catch (error) {
    for (const { reject } of batch) reject(error)
    return error instanceof StoreError && error.late ? "late" : "failed"
  }
}
