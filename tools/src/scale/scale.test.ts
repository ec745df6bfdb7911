import { expect, test } from "vitest"
import { measuredOn } from "./bench-tables.ts"
import { beside, createClock, type Process, type Step, start } from "./clock.ts"
import { DATA_CENTRE } from "./parameters.ts"
import { createHost, createLock, createTwofoldGroup, createWriteAheadLog } from "./resources.ts"
import { tablesOnScalePage } from "./scale-page.ts"
import { type Experiment, simulate } from "./simulate.ts"
import { type Build, STRATEGIES, TODAY } from "./strategies.ts"
import { grounds, SERVERS, USUAL } from "./tables.ts"

const never = (): boolean => false

test("work shares the cores of its machine", () => {
  const ended = (cores: number): readonly number[] => {
    const clock = createClock()
    const host = createHost(clock, cores)
    const at: number[] = []
    for (const us of [10, 30]) host.work(us)(() => at.push(clock.now()))
    clock.runUntil(never)
    expect(host.busyUs()).toBeGreaterThanOrEqual(40)
    return at
  }
  expect(ended(2)).toEqual([10, 30])
  expect(ended(1)).toEqual([20, 40])
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

test("a step beside goes on while others do, and is waited for once", () => {
  const clock = createClock()
  const at: number[] = []
  function* process(): Process {
    const long = beside(resume => clock.after(30, resume))
    yield resume => clock.after(10, resume)
    at.push(clock.now())
    yield long
    at.push(clock.now())
    yield long
    at.push(clock.now())
  }
  start(process())
  clock.runUntil(never)
  expect(at).toEqual([10, 30, 30])
})

test("a batch is prepared while the one before it is written, and written after it", () => {
  const clock = createClock()
  const order: string[] = []
  const step = (name: string, us: number): Step => {
    order.push(`${name} at ${clock.now()}`)
    return resume => clock.after(us, resume)
  }
  const group = createTwofoldGroup(
    2,
    function* (items) {
      yield step(`prepare ${items}`, 10)
      return items
    },
    function* (_, ahead) {
      yield step(`write ${ahead}`, 25)
    },
  )
  let answered = 0
  for (let item = 0; item < 5; item++) group.submit(() => answered++)
  clock.runUntil(never)
  expect(order).toEqual([
    "prepare 1 at 0",
    "write 1 at 10",
    "prepare 2 at 10",
    "write 2 at 35",
    "prepare 2 at 35",
    "write 2 at 60",
  ])
  expect(answered).toBe(5)
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

test("a batch made ahead gains while a server is alone and kept busy, and nothing beside others", () => {
  const rate = (build: Build, servers: number): number => {
    const load = { kind: "closed", connections: servers * 1024 } as const
    return simulate(experiment({ strategy: { ...TODAY, build }, servers, load, runs: 8000 })).a_second
  }
  expect(rate("ahead while alone", 1)).toBeGreaterThan(1.1 * rate("under its lock", 1))
  const several = rate("ahead while alone", 4) / rate("under its lock", 4)
  expect(several).toBeGreaterThan(0.9)
  expect(several).toBeLessThan(1.1)
})

test("an open load is answered as fast as it comes while nothing is at its bound", () => {
  const { a_second } = simulate(experiment({ load: { kind: "open", a_second: 60 } }))
  expect(a_second).toBeGreaterThan(50)
  expect(a_second).toBeLessThan(70)
})

const BENCH_PAGE = `
### POST /execute on PostgreSQL, bodies of 3369 bytes

| the service | 1,448 | 140 | 204 | 3,125 | 238 | a note |
| the service, 1 connection | 136 | 6.84 | 15.3 | 5,838 | 1,546 |  |
| the service, 8 connections | 280 | 28.1 | 42.5 | 3,589 | 746 |  |
| the service, 256 connections | 577 | 442 | 475 | 2,582 | 123 |  |

### What one run costs, at 64 connections on PostgreSQL

| … of its main thread | 1,300 µs |  |
| … of its worker threads | 1,400 µs | which verify |
| … of the engine's own threads | 425 µs |  |
| write-ahead log | 11,614 bytes | pg_stat_wal |
| syncs of the write-ahead log | 0.13 | one in 7.74 runs |

### Processes on one PostgreSQL

| one process | 487 | 131 | 180 | 2,892 | 207 |  |
| two processes | 474 | 134 | 173 | 3,178 | 308 |  |
`

test("costs are read from the lines of the bench's tables", () => {
  const { many, threads, wal_run_bytes, processes } = measuredOn(BENCH_PAGE)
  expect(many).toEqual({ connections: 64, a_second: 1448, p50_ms: 140, service_us: 3125, database_us: 238 })
  expect(threads).toEqual({ main: 1300, workers: 1400, engine: 425 })
  expect([wal_run_bytes, processes[1].service_us]).toEqual([11_614, 3178])
})

test("threads that the bench could not tell apart are not known", () => {
  expect(measuredOn(BENCH_PAGE.replace("1,400 µs", "– µs")).threads).toBeUndefined()
  expect(measuredOn(BENCH_PAGE.replace(/.*main thread.*\n/, "")).threads).toBeUndefined()
})

test("a line that is not there is named", () => {
  expect(() => measuredOn(BENCH_PAGE.replace("8 connections", "9 connections"))).toThrow("the service, 8 connections")
})

test("docs/scale.md holds what docs/performance.md and parameters.ts say now (npm run scale -- --write)", () => {
  expect(tablesOnScalePage().startsWith(grounds(USUAL))).toBe(true)
})
