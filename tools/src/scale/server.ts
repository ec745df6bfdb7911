/**
 * A server as the model has it: one event loop, threads that verify, one group that charges budgets, one group a log
 * that seals. The steps and their order are those of `apps/server/src/sealing/sealer.ts` and `store/budget-ledger.ts`.
 */
import type { Clock, Process, Step } from "./clock.ts"
import { beside, pause } from "./clock.ts"
import type { Parameters } from "./parameters.ts"
import type { Random } from "./random.ts"
import {
  createGroup,
  createThread,
  createTwofoldGroup,
  type Host,
  type Lock,
  type Thread,
  type WriteAheadLog,
} from "./resources.ts"
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
  readonly verifiers: readonly Thread[]
  /** A run from its arrival to its answer. */
  readonly execute: () => Process
}

/** @param logs those whose owners' requests come to this server */
export function createServer(world: World, host: Host, logs: readonly Log[]): Server {
  const { clock, random, parameters: cost } = world
  const loop = createThread(clock)
  const verifiers = Array.from({ length: cost.verifiers }, () => createThread(clock))
  const work = { compute: (us: number): Step => loop.turn(host.work(us)), verify: inTurn(verifiers, host, cost) }
  const charging = logs.map(({ database }) =>
    createGroup(cost.batch_max, n => charge(world, work.compute, database, n)),
  )
  const sealing = logs.map(log => createSealing(world, work, log))
  return {
    loop,
    verifiers,
    execute: function* () {
      beside(host.work(random.about(cost.engine_us)))
      yield work.compute(random.about(cost.request_us))
      const at = Math.floor(random.unit() * logs.length)
      for (const group of [charging[at], sealing[at]]) if (group !== undefined) yield group.submit
    },
  }
}

type Compute = (us: number) => Step
/** What a server has to work with: its event loop, and threads that verify so many records. */
type Work = { readonly compute: Compute; readonly verify: (items: number) => Step }

/** Threads that take what is handed over one after the other. */
function inTurn(threads: readonly Thread[], host: Host, { verify_us }: Parameters): Work["verify"] {
  let turn = 0
  return items => {
    const work = host.work(items * verify_us)
    return threads[turn++ % threads.length]?.turn(work) ?? work
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
  // One statement, which the server commits before it answers.
  yield database.host.work(cost.database_transaction_us)
  yield* commit(world, database, CHARGE_BYTES * items, () => {})
}

/** `HANDED_TOGETHER` and `PARTS` of sealing/finish-documents.ts. */
const HANDED_TOGETHER = 8
const PARTS = 4

/**
 * Builds records, letting others have their turn on the event loop; the last documents are verified while the next ones are
 * finished. Gives what waits until all are verified.
 */
function* build(
  { random, parameters: cost }: World,
  work: Work,
  items: number,
  share: number,
): Process<readonly Step[]> {
  const us = random.about(items * cost.seal_us * share)
  for (let left = us * (1 - cost.finish_share); left > 0; left -= cost.turn_us)
    yield work.compute(Math.min(left, cost.turn_us))
  const verified: Step[] = []
  const together = Math.min(HANDED_TOGETHER, Math.ceil(items / PARTS))
  for (let left = items; left > 0; left -= together) {
    const some = Math.min(left, together)
    yield work.compute((us * cost.finish_share * some) / items)
    verified.push(beside(work.verify(some)))
  }
  return verified
}

function* buildAndVerify(world: World, work: Work, items: number, share: number): Process {
  for (const verified of yield* build(world, work, items, share)) yield verified
}

/** Batches in a row that found the log as this server had left it, before one is made ahead. */
const UNDISTURBED_BATCHES = 3

/** Groups of one server for one log, built where the strategy says. */
function createSealing(world: World, work: Work, log: Log): { readonly submit: Step } {
  const { batch_max, moved_share } = world.parameters
  if (world.strategy.build === "ahead while alone") return createSealingAhead(world, work, log)
  const before = world.strategy.build === "before the lock"
  return createGroup(batch_max, function* (items) {
    const seen = log.moves
    if (before) yield* buildAndVerify(world, work, items, 1)
    yield* seal(world, work.compute, log, items, function* () {
      // Built before the lock, a batch stands only if nobody moved the head meanwhile; otherwise it is moved to its place.
      if (!before) yield* buildAndVerify(world, work, items, 1)
      else if (seen !== log.moves) yield* buildAndVerify(world, work, items, moved_share)
    })
  })
}

/** A batch is built while the one before it is verified and written, as in sealing/lookahead.ts; what was built on a head that moved is lost. */
function createSealingAhead(world: World, work: Work, log: Log): { readonly submit: Step } {
  let left = log.moves
  let quiet = 0
  return createTwofoldGroup(
    world.parameters.batch_max,
    function* (items) {
      return quiet >= UNDISTURBED_BATCHES ? yield* build(world, work, items, 1) : undefined
    },
    function* (items, ahead) {
      yield* seal(world, work.compute, log, items, function* () {
        const undisturbed = left === log.moves
        quiet = undisturbed ? quiet + 1 : 0
        if (ahead === undefined || !undisturbed) yield* buildAndVerify(world, work, items, 1)
        else for (const verified of ahead) yield verified
      })
      left = log.moves
    },
  )
}

/**
 * One sealing transaction: BEGIN, the head's lock and what is read under it are sent together, and so are the writes.
 * @param underLock what is done of the batch once the log's head is locked
 */
function* seal(world: World, compute: Compute, log: Log, items: number, underLock: () => Process): Process {
  const { clock, parameters: cost } = world
  const { database, head } = log
  const half = cost.database_transaction_us / 2
  yield compute(cost.transaction_us / 2)
  yield pause(clock, cost.round_trip_us / 2)
  yield head.take
  yield database.host.work(half)
  yield pause(clock, cost.round_trip_us / 2)
  yield* underLock()
  yield compute(cost.transaction_us / 2)
  yield pause(clock, cost.round_trip_us)
  yield database.host.work(half + cost.database_run_us * items)
  yield* commit(world, database, cost.wal_run_bytes * items, () => {
    log.moves++
    head.release()
  })
  world.batchSealed(items)
}
