import { expect, test } from "vitest"
import { createClock, type Process, start } from "./clock.ts"
import { DATA_CENTRE } from "./parameters.ts"
import { createHost, createLock, createWriteAheadLog } from "./resources.ts"
import { tablesOnScalePage } from "./scale-page.ts"
import { type Experiment, simulate } from "./simulate.ts"
import { STRATEGIES, TODAY } from "./strategies.ts"
import { grounds, SERVERS, USUAL } from "./tables.ts"

const never = (): boolean => false

test("work shares the cores of its machine", () => {
  const ended = (cores: number, crowding?: number): readonly number[] => {
    const clock = createClock()
    const host = createHost(clock, cores, crowding)
    const at: number[] = []
    for (const us of [10, 30]) host.work(us)(() => at.push(clock.now()))
    clock.runUntil(never)
    expect(host.busyUs()).toBeGreaterThanOrEqual(40)
    return at
  }
  expect(ended(2)).toEqual([10, 30])
  expect(ended(1)).toEqual([20, 40])
  expect(ended(2, 2)).toEqual([20, 40])
})

test("a lock goes to whoever has waited longest, and is busy while it is held", () => {
  const clock = createClock()
  const lock = createLock(clock)
  const order: string[] = []
  function* holder(name: string): Process {
    yield lock.take
    order.push(name)
    yield resume => clock.after(5, resume)
    lock.release()
  }
  for (const name of ["a", "b", "c"]) start(holder(name))
  clock.runUntil(never)
  expect(order).toEqual(["a", "b", "c"])
  expect([clock.now(), lock.busyUs()]).toEqual([15, 15])
})

test("a flush takes along what was written before it began", () => {
  const clock = createClock()
  const wal = createWriteAheadLog(clock, () => 100, 1)
  const at: number[] = []
  const write = (): void => wal.flush(10)(() => at.push(clock.now()))
  write()
  clock.after(1, write)
  clock.after(2, write)
  clock.runUntil(never)
  expect(at).toEqual([110, 230, 230])
})

const experiment = (changes: Partial<Experiment> = {}): Experiment => ({
  parameters: DATA_CENTRE,
  strategy: TODAY,
  servers: 2,
  load: { kind: "closed", connections: 128 },
  seed: 1,
  runs: 2000,
  ...changes,
})

test("a seed gives the same simulation each time, another seed another one", () => {
  expect(simulate(experiment())).toEqual(simulate(experiment()))
  expect(simulate(experiment({ seed: 2 }))).not.toEqual(simulate(experiment()))
})

test("under one lock no number of servers passes what is built under it", () => {
  const most = 1e6 / DATA_CENTRE.seal_us
  for (const servers of SERVERS) {
    const load = { kind: "closed", connections: servers * 64 } as const
    const found = simulate(experiment({ servers, load }))
    expect(found.a_second).toBeLessThan(most)
    expect(found.busy.lock).toBeLessThanOrEqual(1.001)
  }
})

test("nothing is busier than always, whatever the strategy", () => {
  for (const strategy of STRATEGIES) {
    const { busy } = simulate(experiment({ strategy, servers: 4, load: { kind: "closed", connections: 256 } }))
    for (const [bound, share] of Object.entries(busy)) expect(share, `${strategy.name}: ${bound}`).toBeLessThan(1.001)
  }
})

test("an open load is answered as fast as it comes while nothing is at its bound", () => {
  const { a_second } = simulate(experiment({ load: { kind: "open", a_second: 60 } }))
  expect(a_second).toBeGreaterThan(50)
  expect(a_second).toBeLessThan(70)
})

test("docs/scale.md holds what parameters.ts says now (npm run scale -- --write)", () => {
  expect(tablesOnScalePage().startsWith(grounds(USUAL))).toBe(true)
})
