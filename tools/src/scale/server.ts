/**
 * A server as the model has it: one event loop, one group that charges budgets, one group a log that seals. The steps and
 * their order are those of `apps/server/src/sealing/sealer.ts` and `store/budget-ledger.ts`.
 */
import type { Clock, Process, Step } from "./clock.ts"
import { pause } from "./clock.ts"
import type { Parameters } from "./parameters.ts"
import type { Random } from "./random.ts"
import { createGroup, createThread, type Host, type Lock, type Thread, type WriteAheadLog } from "./resources.ts"
import type { Strategy } from "./strategies.ts"

export type Database = { readonly host: Host; readonly wal: WriteAheadLog }

/** A log: its head's lock, and how often somebody moved it. */
export type Log = { readonly database: Database; readonly head: Lock; moves: number }

export type World = {
  readonly clock: Clock
  readonly random: Random
  readonly parameters: Parameters
  readonly strategy: Strategy
  readonly batchSealed: (items: number) => void
}

export type Server = {
  readonly loop: Thread
  /** A run from its arrival to its answer. */
  readonly execute: () => Process
}

/** Statements of a sealing transaction: up to the lock, under it before the batch is built, and after. */
const STATEMENTS = { lock: 2, read: 2, write: 4, charge: 4 } as const
const ALL_STATEMENTS = STATEMENTS.lock + STATEMENTS.read + STATEMENTS.write

/** @param logs those whose owners' requests come to this server */
export function createServer(world: World, host: Host, logs: readonly Log[]): Server {
  const { random, parameters: cost } = world
  const loop = createThread(world.clock)
  const compute = (us: number): Step => loop.turn(host.work(us))
  const charging = logs.map(({ database }) => createGroup(cost.batch_max, n => charge(world, compute, database, n)))
  const sealing = logs.map(log => createGroup(cost.batch_max, n => seal(world, compute, log, n)))
  return {
    loop,
    execute: function* () {
      yield compute(random.about(cost.request_us))
      const at = Math.floor(random.unit() * logs.length)
      for (const group of [charging[at], sealing[at]]) if (group !== undefined) yield group.submit
    },
  }
}

type Compute = (us: number) => Step

/** Statements of one transaction, one after the other; each is a round trip and a share of the database's work. */
function* statements({ clock, parameters: cost }: World, { host }: Database, count: number, us: number): Process {
  for (let sent = 0; sent < count; sent++) {
    yield pause(clock, cost.round_trip_us)
    yield host.work(us / count)
  }
}

/** The commit, on disk and known to the server. @param committed at the instant others may see it */
function* commit(world: World, { wal }: Database, bytes: number, committed: () => void): Process {
  const { clock, parameters: cost } = world
  yield pause(clock, cost.round_trip_us / 2)
  yield wal.flush(bytes)
  committed()
  yield pause(clock, cost.round_trip_us / 2)
}

/** Bytes of a commit that changes little. */
const CHARGE_BYTES = 500

function* charge(world: World, compute: Compute, database: Database, items: number): Process {
  const { parameters: cost } = world
  yield compute(cost.transaction_us)
  yield* statements(world, database, STATEMENTS.charge, cost.database_transaction_us)
  yield* commit(world, database, CHARGE_BYTES * items, () => {})
}

/** Builds records, letting others have their turn on the event loop. */
function* build({ random, parameters: cost }: World, compute: Compute, items: number, share: number): Process {
  let left = random.about(items * cost.seal_us * share)
  while (left > 0) {
    yield compute(Math.min(left, cost.turn_us))
    left -= cost.turn_us
  }
}

function* seal(world: World, compute: Compute, log: Log, items: number): Process {
  const { parameters: cost, strategy } = world
  const { database, head } = log
  const before = strategy.build === "before the lock"
  const perStatement = cost.database_transaction_us / ALL_STATEMENTS
  const seen = log.moves
  if (before) yield* build(world, compute, items, 1)
  yield compute(cost.transaction_us / 2)
  yield* statements(world, database, STATEMENTS.lock, perStatement * STATEMENTS.lock)
  yield head.take
  yield* statements(world, database, STATEMENTS.read, perStatement * STATEMENTS.read)
  // Built before the lock, a batch stands only if nobody moved the head meanwhile; otherwise it is moved to its place.
  if (!before) yield* build(world, compute, items, 1)
  else if (seen !== log.moves) yield* build(world, compute, items, cost.moved_share)
  yield compute(cost.transaction_us / 2)
  const writing = perStatement * STATEMENTS.write + cost.database_run_us * items
  yield* statements(world, database, STATEMENTS.write, writing)
  yield* commit(world, database, cost.wal_run_bytes * items, () => {
    log.moves++
    head.release()
  })
  world.batchSealed(items)
}
