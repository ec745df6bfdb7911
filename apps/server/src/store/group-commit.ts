/** Group commit: whatever waits while the last batch is written goes into the next one, without a timer. */
import { StoreError } from "./errors.ts"

export type GroupBounds = {
  /** Most items of one batch. */
  readonly batch: number
  /** Most items that may wait; one more is refused at once. */
  readonly waiting: number
}

export type GroupCommit<Item, Result> = {
  /**
   * Resolves with the item's result when its batch is written.
   * @throws StoreError "unavailable" when too many wait or the group is closed; otherwise what its batch met
   */
  readonly submit: (item: Item) => Promise<Result>
  /** Items that wait for a batch to begin. */
  readonly waiting: () => number
  /** Refuses new items and resolves when those that wait are settled. */
  readonly close: () => Promise<void>
}

type Waiting<Item, Result> = {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** @param write writes a batch and gives one result an item, in the same order; when it rejects, so does every item */
export function createGroupCommit<Item, Result>(
  write: (batch: readonly Item[]) => Promise<readonly Result[]>,
  bounds: GroupBounds,
): GroupCommit<Item, Result> {
  const queue: Waiting<Item, Result>[] = []
  let closed = false
  let writing: Promise<void> | undefined
  const writeAll = async (): Promise<void> => {
    while (queue.length > 0) await settle(write, queue.splice(0, bounds.batch))
    writing = undefined
  }
  return {
    submit: item =>
      new Promise((resolve, reject) => {
        if (closed || queue.length >= bounds.waiting) return reject(new StoreError("unavailable"))
        queue.push({ item, resolve, reject })
        // Not at once: whoever is released by the same event is to be in the first batch too.
        writing ??= Promise.resolve().then(writeAll)
      }),
    waiting: () => queue.length,
    close: async () => {
      closed = true
      await writing
    },
  }
}

async function settle<Item, Result>(
  write: (batch: readonly Item[]) => Promise<readonly Result[]>,
  batch: readonly Waiting<Item, Result>[],
): Promise<void> {
  try {
    const results = await write(batch.map(({ item }) => item))
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = results[at]
      if (result === undefined) reject(new StoreError("corrupt"))
      else resolve(result)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
