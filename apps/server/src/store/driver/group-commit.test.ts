import { setImmediate, setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { until } from "../../../spec/harness/until.ts"
import { createGroupCommit, type GroupCommit, type Upstream } from "./group-commit.ts"
import { withWaitLimit } from "./wait-limit.ts"

const BOUNDS = { batch: 8, waiting: 4 }

/** A group that notes its batches and gives every item back; each batch is written when the test says so. */
function notingGroup(upstream: readonly Upstream[] = []) {
  const batches: (readonly string[])[] = []
  const releases: (() => void)[] = []
  const group: GroupCommit<string, string> = createGroupCommit(
    batch => {
      batches.push(batch)
      return new Promise(resolve => releases.push(() => resolve(batch)))
    },
    BOUNDS,
    upstream,
  )
  return { ...group, batches, release: () => releases.shift()?.() }
}

describe("group commit", () => {
  test("what waits while a batch is written is the next one", async () => {
    const group = notingGroup()
    const items = [group.submit("a"), group.submit("b")]
    await setImmediate()
    items.push(group.submit("c"), group.submit("d"))
    group.release()
    await setImmediate()
    group.release()
    expect(await Promise.all(items)).toEqual(["a", "b", "c", "d"])
    expect(group.batches).toEqual([
      ["a", "b"],
      ["c", "d"],
    ])
  })

  test("a batch is under way until it is settled", async () => {
    const group = notingGroup()
    expect(group.underWay()).toBeUndefined()
    const item = group.submit("a")
    await setImmediate()
    const underWay = group.underWay()
    group.release()
    await underWay
    expect(await item).toBe("a")
    await group.close()
    expect(group.underWay()).toBeUndefined()
  })

  test("items that come out of one group are in the other's next batch, although it could begin before", async () => {
    const first = notingGroup()
    const second = notingGroup([first])
    const through = ["a", "b"].map(async item => second.submit(await first.submit(item)))
    await setImmediate()
    const direct = second.submit("c")
    await setImmediate()
    expect(second.batches).toEqual([])
    first.release()
    await setImmediate()
    await setImmediate()
    second.release()
    await Promise.all([...through, direct])
    expect(second.batches).toEqual([["c", "a", "b"]])
  })

  test("each group on the way is waited for in its order, and once", async () => {
    const first = notingGroup()
    const second = notingGroup()
    const third = notingGroup([first, second])
    const through = first.submit("a").then(second.submit).then(third.submit)
    await setImmediate()
    const direct = third.submit("b")
    first.release()
    await setImmediate()
    // Another batch of the first is not waited for.
    const behind = first.submit("c").then(second.submit).then(third.submit)
    await setImmediate()
    second.release()
    await setImmediate()
    await setImmediate()
    expect(third.batches).toEqual([["b", "a"]])
    third.release()
    await Promise.all([through, direct])
    for (const group of [first, second, third]) {
      group.release()
      await setImmediate()
      await setImmediate()
    }
    expect(await behind).toBe("c")
  })

  test("a group that does not settle is not waited for without end", async () => {
    const stuck = notingGroup()
    const group = notingGroup([stuck])
    const never = stuck.submit("a")
    await setImmediate()
    const item = group.submit("b")
    await until("the group goes on without it", () => group.batches.length > 0)
    expect(group.batches).toEqual([["b"]])
    group.release()
    expect(await item).toBe("b")
    stuck.release()
    await never
  })

  test("a request waits so long in all: one that waits for its batch may be in it, one in the queue is not", async () => {
    const look = notingGroup()
    const group = notingGroup()
    const since = performance.now()
    const stages = withWaitLimit(async () => {
      await look.submit("a")
      return group.submit("a")
    }, 2_000)
    await sleep(1_000)
    look.release()
    await setImmediate()
    const next = withWaitLimit(() => group.submit("b"), 50)
    await expect(next).rejects.toMatchObject({ code: "unavailable" })
    await expect(stages).rejects.toMatchObject({ code: "outcome_unknown" })
    // Its second wait alone would end a second later.
    expect(performance.now() - since).toBeLessThan(3_000)
    expect(group.batches).toEqual([["a"]])
    group.release()
    await group.close()
    expect(group.batches, "what gave up in the queue is not written").toEqual([["a"]])
  })

  test("a queue that moves is waited for, however long it is", async () => {
    const group: GroupCommit<number, number> = createGroupCommit(async batch => sleep(150, batch), {
      batch: 1,
      waiting: 8,
    })
    // Each step is shorter than the limit, and all of them together are longer.
    const items = [1, 2, 3, 4, 5, 6].map(item => withWaitLimit(() => group.submit(item), 800))
    expect(await Promise.all(items)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test("items beyond the bound are refused at once, and those of a failed batch together", async () => {
    const group = createGroupCommit<string, string>(() => Promise.reject(new Error("not written")), BOUNDS)
    const items = ["a", "b", "c", "d", "e"].map(item => group.submit(item))
    const settled = await Promise.allSettled(items)
    const reasons = settled.map(one => (one.status === "rejected" ? one.reason : undefined))
    expect(reasons.slice(0, 4).map(String)).toEqual(Array(4).fill("Error: not written"))
    expect(reasons[4]).toMatchObject({ code: "unavailable" })
  })
})
