/** Group commit: items that arrive while a batch is written go into the next batch. */
import { setImmediate, setTimeout } from "node:timers/promises"
import { StoreError } from "./store-errors.ts"
import { waitWithin, withoutWaitLimit } from "./wait-limit.ts"

type GroupBounds<Item = never> = {
  /** Most items of one batch. */
  readonly batch: number
  /** Most items in the queue; one more is refused at once. */
  readonly waiting: number
  /** A batch has no effect that a caller could see: an item that gave up was refused, whatever becomes of its batch. */
  readonly readsOnly?: true
  /** Items that take long get a queue and batches of their own, which alternate with the others: those wait for one of them at most. */
  readonly long?: {
    readonly isLong: (item: Item) => boolean
    /** What such items may weigh in one batch, whatever one alone weighs. */
    readonly weigh: (item: Item) => number
    readonly batchWeight: number
  }
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
  readonly underWay: () => Promise<void> | undefined
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

/**
 * @param write writes a batch and gives one result an item, in the same order; when it rejects, so does every item
 * @param upstream groups that items come through, in their order. A batch waits for the items that are being written there, so
 *   that few concurrent items share a batch. Decision 0116.
 */
export function createGroupCommit<Item, Result>(
  write: (batch: readonly Item[]) => Promise<readonly Result[]>,
  bounds: GroupBounds<Item>,
  upstream: readonly Upstream[] = [],
): GroupCommit<Item, Result> {
  const queue: Waiting<Item, Result>[] = []
  const longQueue: Waiting<Item, Result>[] = []
  const { long } = bounds
  let closed = false
  let writing: Promise<void> | undefined
  let batch: Promise<void> | undefined
  let hasFailed = false
  /** When the first batch began that was not written since another was. */
  let goingOnSince = 0
  const writeBatch = async (items: readonly Waiting<Item, Result>[]): Promise<void> => {
    if (!hasFailed) goingOnSince = performance.now()
    const settling = settle(write, items)
    batch = settling.then(() => undefined)
    // After a timeout the queue is refused: nothing of it was written, and the next batch would take as long again.
    const result = await settling
    hasFailed = result !== "written"
    if (result === "late")
      for (const { reject } of [...queue.splice(0), ...longQueue.splice(0)]) reject(new StoreError("unavailable"))
    batch = undefined
  }
  const writeAll = async (): Promise<void> => {
    while (queue.length + longQueue.length > 0) {
      for (const group of upstream) await letArrive(group)
      if (queue.length > 0) await writeBatch(queue.splice(0, bounds.batch))
      if (long !== undefined && longQueue.length > 0) {
        const weight = ({ item }: Waiting<Item, Result>): number => long.weigh(item)
        await writeBatch(longQueue.splice(0, countWithin(longQueue.map(weight), long.batchWeight)))
      }
    }
    writing = undefined
  }
  return {
    submit: item => {
      const into = long?.isLong(item) ? longQueue : queue
      let own: Waiting<Item, Result> | undefined
      const result = new Promise<Result>((resolve, reject) => {
        if (closed || queue.length + longQueue.length >= bounds.waiting) return reject(new StoreError("unavailable"))
        own = { item, resolve, reject }
        into.push(own)
        // Not at once: other callers that the same event releases are in the first batch too.
        writing ??= withoutWaitLimit(() => Promise.resolve().then(writeAll))
      })
      const giveUp = (): StoreError => {
        const at = own === undefined ? -1 : into.indexOf(own)
        if (at !== -1) into.splice(at, 1)
        const isOpen = at === -1 && bounds.readsOnly !== true
        return new StoreError(isOpen ? "outcome_unknown" : "unavailable")
      }
      return waitWithin(result, giveUp, () => goingOnSince)
    },
    waiting: () => queue.length + longQueue.length,
    underWay: () => batch,
    close: async () => {
      closed = true
      await writing
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

/** @returns "late" when a time limit ended it */
async function settle<Item, Result>(
  write: (batch: readonly Item[]) => Promise<readonly Result[]>,
  batch: readonly Waiting<Item, Result>[],
): Promise<"written" | "failed" | "late"> {
  try {
    const results = await write(batch.map(({ item }) => item))
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
