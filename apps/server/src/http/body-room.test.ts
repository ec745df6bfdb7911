import { describe, expect, test } from "vitest"
import { HttpError } from "../http-error.ts"
import { type BodyHold, createBodyRoom, type RoomBounds } from "./body-room.ts"

const MIB = 1_048_576
const BOUNDS: RoomBounds = {
  smallBytes: MIB,
  receivedBytes: 4 * MIB,
  readBytes: 16 * MIB,
  answerBytes: 16 * MIB,
  waitMs: 60_000,
}
/** A room of which every request is another caller's, unless it says whose it is. */
function open(bounds: Partial<RoomBounds> = {}) {
  const room = createBodyRoom({ ...BOUNDS, ...bounds })
  let callers = 0
  return {
    open: (outer?: BodyHold, caller = `caller ${callers++}`): BodyHold => room.open(() => caller, outer),
    of: (caller: string): BodyHold => room.open(() => caller),
  }
}

/** The status of a request that does this work. */
const outcomeOf = (work: () => unknown): Promise<number> =>
  Promise.resolve()
    .then(work)
    .then(
      () => 200,
      (error: unknown) => {
        if (error instanceof HttpError) return error.status
        throw error
      },
    )

/** Receives and parses a body of so many bytes and nodes. */
async function take(hold: BodyHold, bytes: number, nodes: number): Promise<boolean> {
  hold.receive(bytes)
  return hold.admit(bytes, nodes)
}

/** Whether work is still pending some milliseconds later. */
async function waits(work: Promise<unknown>): Promise<boolean> {
  let done = false
  void work.finally(() => {
    done = true
  })
  await new Promise(resolve => setTimeout(resolve, 5))
  return !done
}

describe("the memory budget for bodies", () => {
  test("a body is large by the memory that it will take, not by its bytes alone", async () => {
    expect(await take(open().open(), 1000, 100)).toBe(false)
    expect(await take(open().open(), 60_000, 0)).toBe(false)
    expect(await take(open().open(), 60_000, 20_000)).toBe(true)
    expect(await take(open().open(), 1_000_000, 0)).toBe(true)
  })

  test("small bodies have a budget of their own, which large ones do not use up", async () => {
    const room = open()
    for (let i = 0; i < 4; i++) room.open().receive(MIB)
    expect(await outcomeOf(() => room.open().receive(MIB))).toBe(503)
    expect(await outcomeOf(() => take(room.open(), 1000, 100))).toBe(200)
  })

  test("refuses small bodies beyond that budget", async () => {
    const room = open()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(() => take(room.open(), 1000, 100))))
    expect(outcomes.filter(status => status === 503).length).toBeGreaterThan(0)
    expect(outcomes.filter(status => status === 200).length).toBeGreaterThan(10)
  })

  test("counts bytes as they arrive, and a body that stops arriving holds no more than has arrived", async () => {
    const room = open()
    const slow = room.open()
    for (let i = 0; i < 40; i++) slow.receive(100_000)
    expect(await outcomeOf(() => slow.receive(300_000))).toBe(503)
    slow.release()
    expect(await outcomeOf(() => room.open().receive(4 * MIB))).toBe(200)
  })

  test("large bodies are parsed in the order of their arrival, each when the budget allows it", async () => {
    const room = open()
    const [first, second, third] = [room.open(), room.open(), room.open()]
    await take(first, MIB, 80_000)
    const waiting = take(second, MIB, 80_000)
    const behind = take(third, 10_000, 10_000)
    expect(await waits(waiting)).toBe(true)
    expect(await waits(behind)).toBe(true)
    first.release()
    await waiting
    second.release()
    await behind
  })

  test("one body alone may take more than the budget", async () => {
    const room = open()
    const huge = room.open()
    expect(await take(huge, MIB, 390_000)).toBe(true)
    const waiting = take(room.open(), MIB, 0)
    expect(await waits(waiting)).toBe(true)
    huge.release()
    await waiting
  })

  test("a request that is made for a large one does not wait behind others: it would wait for itself", async () => {
    const room = open({ waitMs: 50 })
    const outer = room.open()
    await take(outer, MIB, 390_000)
    const other = room.open()
    const behind = outcomeOf(() => take(other, MIB, 0))
    const inner = room.open(outer)
    expect(await take(inner, MIB, 10_000)).toBe(true)
    inner.release()
    expect(await behind).toBe(503)
    for (const hold of [other, outer]) hold.release()
    const all = room.open()
    expect(await take(all, 4 * MIB, 0)).toBe(true)
  })

  test("refuses a body after its timeout, and the next in the queue goes on", async () => {
    const room = open({ waitMs: 50 })
    await take(room.open(), MIB, 60_000)
    const late = room.open()
    const [refused, small] = [outcomeOf(() => take(late, MIB, 390_000)), take(room.open(), 10_000, 10_000)]
    expect(await refused).toBe(503)
    expect(await small).toBe(true)
  })

  test("is unused again when every request is answered, with whatever status", async () => {
    const room = open()
    for (let i = 0; i < 50; i++) {
      const holds = Array.from({ length: 3 }, () => room.open())
      await Promise.all(holds.map((hold, at) => outcomeOf(() => take(hold, at * 30_000, at * 10_000))))
      for (const hold of holds) hold.release()
    }
    const all = room.open()
    expect(await take(all, 4 * MIB, 0)).toBe(true)
  })
})

describe("a caller's part of a budget", () => {
  test("is a quarter of what large bodies may take that are received; the rest is for others", async () => {
    const room = open()
    room.of("A").receive(500_000)
    expect(await outcomeOf(() => room.of("A").receive(500_000))).toBe(200)
    expect(await outcomeOf(() => room.of("A").receive(500_000))).toBe(503)
    expect(await outcomeOf(() => room.of("B").receive(500_000))).toBe(200)
  })

  test("is a quarter of what small bodies may take", async () => {
    const room = open()
    const ofA = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(() => take(room.of("A"), 1000, 100))))
    expect(ofA.filter(status => status === 200)).toHaveLength(3)
    expect(await outcomeOf(() => take(room.of("B"), 1000, 100))).toBe(200)
  })

  test("is a quarter of what answers may take", async () => {
    const room = open()
    await room.of("A").answer(200_000)
    expect(await outcomeOf(() => room.of("A").answer(200_000))).toBe(503)
    expect(await outcomeOf(() => room.of("B").answer(200_000))).toBe(200)
  })

  test("is exceeded by one body alone, never by a second one beside it", async () => {
    const room = open()
    const alone = room.of("A")
    alone.receive(3 * MIB)
    expect(await outcomeOf(() => room.of("A").receive(100_000))).toBe(503)
    alone.release()
    expect(await outcomeOf(() => room.of("A").receive(100_000))).toBe(200)
  })

  test("lets its further large bodies wait to be parsed, and nobody else's behind them", async () => {
    const room = open()
    const first = room.of("A")
    await take(first, 500_000, 0)
    const second = take(room.of("A"), 500_000, 20_000)
    expect(await waits(second)).toBe(true)
    expect(await take(room.of("B"), 500_000, 0)).toBe(true)
    expect(await waits(second)).toBe(true)
    first.release()
    expect(await second).toBe(true)
  })
})

describe("the memory budget for answers", () => {
  test("is used by large records until they are sent, and not by others", async () => {
    const room = open()
    const holds = Array.from({ length: 4 }, () => room.open())
    for (const hold of holds) await hold.answer(262_144)
    expect(await outcomeOf(() => room.open().answer(262_144))).toBe(503)
    expect(await outcomeOf(() => room.open().answer(30_000))).toBe(200)
    for (const hold of holds) hold.release()
    expect(await outcomeOf(() => room.open().answer(262_144))).toBe(503)
    holds[0]?.sent()
    expect(await outcomeOf(() => room.open().answer(262_144))).toBe(200)
  })
})

describe("work on large bodies", () => {
  test("is queued, and each piece is followed by a pause as long as the piece took", async () => {
    const room = open()
    const holds = Array.from({ length: 3 }, () => room.open())
    for (const hold of holds) await take(hold, 100_000, 100)
    let others = 0
    const ticking = setInterval(() => (others += 1), 1)
    const since: number[] = []
    await Promise.all(
      holds.map(async hold => {
        await hold.queueWork()
        since.push(others)
        const end = performance.now() + 100
        while (performance.now() < end);
      }),
    )
    clearInterval(ticking)
    expect(since[1]).toBeGreaterThan((since[0] ?? 0) + 3)
    expect(since[2]).toBeGreaterThan((since[1] ?? 0) + 3)
  })
})
