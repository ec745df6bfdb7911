/** Work in the background: a sweep that is asked for is made, whatever becomes of the step under way. */
import { expect, test } from "vitest"
import { openSweeping } from "./sweeping.ts"

/** Longer than a test: the timer asks for nothing. */
const NEVER_MS = 2 ** 31 - 1

test("a sweep that is asked for during a step that fails is made", async () => {
  const steps: PromiseWithResolvers<boolean>[] = []
  const failures: unknown[] = []
  const step = (): Promise<boolean> => {
    const made = Promise.withResolvers<boolean>()
    steps.push(made)
    return made.promise
  }
  const { sweep, close } = openSweeping(step, NEVER_MS, error => failures.push(error))
  const first = sweep()
  const asked = sweep()
  steps[0]?.reject(new Error("the database refuses"))
  await expect.poll(() => steps.length).toBe(2)
  steps[1]?.resolve(false)
  await Promise.all([first, asked])
  expect(failures).toHaveLength(1)
  expect(steps).toHaveLength(2)
  await close()
})
