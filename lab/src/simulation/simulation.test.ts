/** A short `npm run simulate` with fixed seeds; and tests that the check can fail. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Defect } from "./database/transactions.ts"
import { openSimulation, type Simulation } from "./simulate.ts"
import { createTally, EVENTS, FAULTS } from "./tally.ts"
import { shown } from "./worker.ts"

/** Fixed, so that a test that fails once fails again with the same code. */
const FIRST_SEED = 1
const SEEDS_A_TEST = 40
const TESTS = 5

describe("the real sealer, ledger and log on a simulated database", () => {
  const tally = createTally()
  let simulation: Simulation
  beforeAll(() => {
    simulation = openSimulation()
  })
  afterAll(() => simulation.close())

  const firsts = Array.from({ length: TESTS }, (_, at) => FIRST_SEED + at * SEEDS_A_TEST)
  test.each(firsts)("seeds from %i: nothing acknowledged is lost, nothing is there twice or half", async first => {
    for (let seed = first; seed < first + SEEDS_A_TEST; seed++) {
      const result = await simulation.run(seed)
      tally.add(result)
      expect(result.failure, `npm run simulate -- --seed ${seed}\n${shown(result.failure)}`).toBeUndefined()
    }
  })

  test("these seeds met every kind of fault, and callers heard everything they can", () => {
    expect([...FAULTS, ...EVENTS].filter(what => tally.of(what) === 0)).toEqual([])
  })

  test("a seed takes the same steps each time", async () => {
    for (const seed of [3, 17]) {
      const [once, again] = [await simulation.run(seed), await simulation.run(seed)]
      expect(once.trace.length).toBeGreaterThan(50)
      expect(again.trace).toEqual(once.trace)
    }
  })
})

/** Defects of a database, alone or together, that the service would not notice. */
const DEFECTS: readonly (readonly Defect[])[] = [
  ["locks nothing"],
  ["locks nothing", "updates without looking"],
  ["loses a write of a commit"],
  ["acknowledges what it rolled back"],
  ["reads what is not committed"],
]
/** Number of seeds within which each defect must be found. */
const SEEDS_TO_FIND = 150

describe("the check after each simulation can fail", () => {
  test.each(DEFECTS.map(defects => ({ name: defects.join(" and "), defects })))(
    "a database that $name is found",
    async ({ defects }) => {
      const simulation = openSimulation(defects)
      let found = false
      for (let seed = 1; seed <= SEEDS_TO_FIND && !found; seed++)
        found = (await simulation.run(seed)).failure !== undefined
      await simulation.close()
      expect(found).toBe(true)
    },
  )
})
