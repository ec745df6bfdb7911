/** One simulation: so many servers under one strategy and one load, until enough runs were answered. */
import { createClock, type Process, pause, start } from "./clock.ts"
import type { Parameters } from "./parameters.ts"
import { createRandom } from "./random.ts"
import { createHost, createLock, createWriteAheadLog, type Resource } from "./resources.ts"
import { createServer, type Database, type Log, type Server, type World } from "./server.ts"
import type { Strategy } from "./strategies.ts"

/** Closed: each connection has one request under way. Open: requests fall due at random instants, answered or not. */
export type Load =
  | { readonly kind: "closed"; readonly connections: number }
  | { readonly kind: "open"; readonly a_second: number }

export type Simulated = {
  readonly a_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** Runs of one sealing transaction, on average. */
  readonly batch: number
  /** Shares of the time that each was busy, of several of a kind on average. */
  readonly busy: Readonly<Record<Bound, number>>
}

export const BOUNDS = ["lock", "loop", "verifiers", "database", "disk"] as const
/** What can bound the rate: the locks of the logs' heads, event loops, threads that verify, the databases' cores, the disks of their logs. */
export type Bound = (typeof BOUNDS)[number]

export type Experiment = {
  readonly parameters: Parameters
  readonly strategy: Strategy
  readonly servers: number
  readonly load: Load
  readonly seed: number
  /** Runs that are counted; a tenth as many are answered before. */
  readonly runs: number
}

export function simulate(experiment: Experiment): Simulated {
  const clock = createClock()
  const random = createRandom(experiment.seed)
  const batches: number[] = []
  const { parameters, strategy } = experiment
  const world: World = { clock, random, parameters, strategy, batchSealed: items => batches.push(items) }
  const { servers, resources } = build(world, experiment.servers)
  const latencies: number[] = []
  function* request(server: Server): Process {
    const since = clock.now()
    yield* server.execute()
    latencies.push((clock.now() - since) / 1000)
  }
  startLoad(world, experiment.load, servers, request)
  clock.runUntil(() => latencies.length >= experiment.runs / 10)
  const began = clock.now()
  const before = BOUNDS.map(bound => busyUs(resources[bound]))
  latencies.length = 0
  batches.length = 0
  clock.runUntil(() => latencies.length >= experiment.runs)
  const passed = clock.now() - began
  const sorted = latencies.toSorted((a, b) => a - b)
  const share = (bound: Bound): number => {
    const { of, capacity } = resources[bound]
    return (busyUs({ of }) - (before[BOUNDS.indexOf(bound)] ?? 0)) / (passed * capacity)
  }
  return {
    a_second: (latencies.length / passed) * 1e6,
    p50_ms: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    batch: batches.reduce((sum, items) => sum + items, 0) / batches.length,
    busy: {
      lock: share("lock"),
      loop: share("loop"),
      verifiers: share("verifiers"),
      database: share("database"),
      disk: share("disk"),
    },
  }
}

type Group = { readonly of: readonly Resource[]; readonly capacity: number }

const busyUs = ({ of }: Pick<Group, "of">): number => of.reduce((sum, resource) => sum + resource.busyUs(), 0)

function build(
  world: World,
  count: number,
): { readonly servers: readonly Server[]; readonly resources: Readonly<Record<Bound, Group>> } {
  const { clock, random, parameters: cost, strategy } = world
  const ours = createHost(clock, cost.database_cores)
  const newHost = (cores: number): typeof ours => (cost.own_machines ? createHost(clock, cores) : ours)
  const many = <T>(length: number, make: (at: number) => T): readonly T[] => Array.from({ length }, (_, at) => make(at))
  const databases = many(
    strategy.databases,
    (): Database => ({
      host: newHost(cost.database_cores),
      wal: createWriteAheadLog(clock, () => random.about(cost.sync_us), cost.disk_bytes_a_second / 1e6),
    }),
  )
  const logs = many(strategy.logs, (at): Log => {
    const database = databases[at % databases.length]
    if (database === undefined) throw new RangeError("a log needs a database")
    return { database, head: createLock(clock), moves: 0 }
  })
  const ofServer = (at: number): readonly Log[] =>
    count >= logs.length ? logs.filter((_, i) => i === at % logs.length) : logs.filter((_, i) => i % count === at)
  const servers = many(count, at => createServer(world, newHost(cost.server_cores), ofServer(at)))
  const of = (all: readonly Resource[], capacity: number): Group => ({ of: all, capacity })
  const hosts = [...new Set(databases.map(({ host }) => host))]
  return {
    servers,
    resources: {
      lock: of(
        logs.map(({ head }) => head),
        logs.length,
      ),
      loop: of(
        servers.map(({ loop }) => loop),
        count,
      ),
      verifiers: of(
        servers.flatMap(({ verifiers }) => verifiers),
        count * cost.verifiers,
      ),
      database: of(hosts, hosts.length * cost.database_cores),
      disk: of(
        databases.map(({ wal }) => wal),
        databases.length,
      ),
    },
  }
}

function startLoad(
  { clock, random }: World,
  load: Load,
  servers: readonly Server[],
  request: (server: Server) => Process,
): void {
  function* connection(server: Server): Process {
    for (;;) yield* request(server)
  }
  function* arrivals(server: Server, aSecond: number): Process {
    for (;;) {
      yield pause(clock, random.gap(1e6 / aSecond))
      start(request(server))
    }
  }
  for (const [at, server] of servers.entries()) {
    if (load.kind === "open") start(arrivals(server, load.a_second / servers.length))
    else {
      const own = Math.floor((load.connections + servers.length - 1 - at) / servers.length)
      for (let i = 0; i < own; i++) start(connection(server))
    }
  }
}
