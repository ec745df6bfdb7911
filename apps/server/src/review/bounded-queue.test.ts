import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { boundedQueue } from "./create-reviewer.ts"

const never = new AbortController().signal
const ended = async (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

function closedGate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open: () => open() }
}

describe("the queue", () => {
  test("runs at most so many tasks at a time, each once and in the order of arrival", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.nat({ max: 3 }), { maxLength: 20 }),
        async (running, ticks) => {
          const queue = boundedQueue({ running, waiting: 100 })
          const started: number[] = []
          let now = 0
          let most = 0
          await Promise.all(
            ticks.map((count, i) =>
              queue.run(async () => {
                started.push(i)
                now += 1
                most = Math.max(most, now)
                for (let tick = 0; tick < count; tick += 1) await Promise.resolve()
                now -= 1
              }, never),
            ),
          )
          expect(started).toEqual(ticks.map((_, i) => i))
          expect(most).toBeLessThanOrEqual(running)
        },
      ),
    )
  })

  test("refuses at once when it is full, and accepts tasks again when others are done", async () => {
    const queue = boundedQueue({ running: 1, waiting: 1 })
    const gate = closedGate()
    const first = queue.run(() => gate.passed, never)
    const second = queue.run(async () => "second", never)
    expect(await ended(queue.run(async () => "third", never))).toMatchObject({ code: "overloaded" })
    gate.open()
    expect(await second).toBe("second")
    await first
    expect(await queue.run(async () => "fourth", never)).toBe("fourth")
  })

  test("a task that is aborted in the queue frees its slot and never runs", async () => {
    const queue = boundedQueue({ running: 1, waiting: 1 })
    const gate = closedGate()
    const first = queue.run(() => gate.passed, never)
    const controller = new AbortController()
    let ran = false
    const waiting = ended(
      queue.run(async () => {
        ran = true
      }, controller.signal),
    )
    controller.abort()
    expect(await waiting).toMatchObject({ code: "timeout" })
    const next = queue.run(async () => "next", never)
    gate.open()
    await first
    expect(await next).toBe("next")
    expect(ran).toBe(false)
    expect(await ended(queue.run(async () => 1, controller.signal))).toMatchObject({ code: "timeout" })
  })

  test("a task that fails frees its slot", async () => {
    const queue = boundedQueue({ running: 1, waiting: 0 })
    expect(await ended(queue.run(() => Promise.reject(new Error("x")), never))).toBeInstanceOf(Error)
    expect(await queue.run(async () => 1, never)).toBe(1)
  })
})
