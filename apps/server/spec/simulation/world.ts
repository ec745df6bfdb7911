/** One simulated deployment: a database, a few processes on it, callers, and what goes wrong. */
import assert from "node:assert/strict"
import { fdatasyncSync } from "node:fs"
import type { TrustDocument } from "@runseal/core/transparency-log/trust-document"
import type { Prepared } from "../../src/boot.ts"
import type { Config } from "../../src/config.ts"
import { StartupError } from "../../src/startup-error.ts"
import { StoreError } from "../../src/store/errors.ts"
import { type LogHeadRow, log_head } from "../../src/store/schema.ts"
import type { Promised } from "./check.ts"
import { decoded, type Snapshot } from "./database/rows.ts"
import { type SimulatedServer, simulatedServer } from "./database/server.ts"
import type { Defect } from "./database/transactions.ts"
import { drawClockStep, drawFaults, drawMishap, type Faults, NO_FAULTS } from "./faults.ts"
import { type Remember, type SimulatedProcess, startProcess } from "./process.ts"
import { type Asked, attempt, drawRequest, isOpen } from "./requests.ts"
import { createScheduler, type Scheduler } from "./scheduler.ts"
import type { Seeded } from "./seeded.ts"

/** When a world begins. */
export const NOON_MS = Date.parse("2026-05-04T12:00:00.000Z")
/** Longer than any clock is ever off. */
const HEALING_MS = 3_600_000
/** A world that is not at rest after so many steps is a failure: something goes round for ever. */
const MAX_STEPS = 20_000
/** Steps in which things go wrong. */
const STORM_STEPS = 600

export type WorldParts = {
  readonly random: Seeded
  readonly config: Config
  readonly prepared: Prepared
  readonly defects: ReadonlySet<Defect>
  readonly start: Snapshot | undefined
  /** Counts what happened. */
  readonly count: (what: string) => void
}

/** A place for a process: it may be started there, and again after it ended. */
type Seat = {
  readonly name: string
  starts: number
  running: SimulatedProcess | undefined
  starting: boolean
  offsetMs: number
}

export type World = {
  readonly scheduler: Scheduler
  readonly server: SimulatedServer
  readonly requests: readonly Asked[]
  readonly promised: readonly Promised[]
  /** Every committed state, oldest first. */
  readonly states: readonly Snapshot[]
  readonly trust: () => TrustDocument | undefined
  /** Lets everything happen, good and bad, then heals it and waits until all is at rest. @throws whatever was not as it must be */
  readonly run: () => Promise<void>
  /** Processes end; nothing of them is left open. */
  readonly end: () => void
}

export const headOf = (state: Snapshot): LogHeadRow => {
  const [head] = decoded<LogHeadRow>(state, log_head)
  assert.ok(head !== undefined)
  return head
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

export function createWorld({ random, config, prepared, defects, start, count }: WorldParts): World {
  const scheduler = createScheduler(random)
  const requests = Array.from({ length: 2 + random.below(5) }, (_, at) => drawRequest(random, `request-${at + 1}`))
  const seats = Array.from({ length: 1 + random.below(3) }, (_, at): Seat => {
    const name = `p${at + 1}`
    return { name, starts: 0, running: undefined, starting: false, offsetMs: 0 }
  })
  const states: Snapshot[] = []
  const promised: Promised[] = []
  let faults: Faults = drawFaults(random)
  let now = NOON_MS
  let broken: { readonly error: unknown } | undefined
  let trust: TrustDocument | undefined
  let crashing: Seat | undefined
  const breakWith = (error: unknown): void => {
    broken ??= { error }
  }

  const server = simulatedServer(
    {
      scheduler,
      defects,
      mishap: kind => drawMishap(random, faults, kind),
      lateCommit: () => random.chance(faults.commit_late),
      onCommit: state => {
        states.push(state)
        const { size, root } = headOf(state)
        promised.push({ size, root: hex(root), by: `commit ${states.length}` })
        if (random.chance(faults.crash_after_commit)) crashing = random.pick(seats)
      },
      count,
      broken: breakWith,
    },
    start,
  )

  const crash = (seat: Seat): void => {
    if (seat.running === undefined && !seat.starting) return
    count("process killed")
    scheduler.note(`${nameOf(seat)} is killed`)
    server.ownerGone(nameOf(seat))
    seat.running?.ended()
    seat.running = undefined
    seat.starting = false
  }
  const remember = async (seat: Seat, ...[size, root, write]: Parameters<Remember>): Promise<void> => {
    const isDurable = headOf(server.committed()).size >= size
    if (!isDurable) breakWith(new Error(`a head of ${size} entries is remembered before they are committed`))
    const fails = random.chance(faults.head_write_fails)
    const before = random.chance(0.5)
    if (fails && before) failHead()
    await write()
    promised.push({ size, root: hex(root), by: `${nameOf(seat)}'s remembered head` })
    if (fails) failHead()
  }
  /** A sync takes its time, in which its process may end. */
  const synced = (owner: string, isAlive: () => boolean, fd: number): Promise<void> =>
    new Promise(resolve => {
      const happens = (): void => {
        if (!isAlive()) return
        fdatasyncSync(fd)
        resolve()
      }
      scheduler.add({ owner, what: "syncs its head", happens })
    })
  const failHead = (): never => {
    count("head file not written")
    throw new Error("no space left on device")
  }
  const begin = (seat: Seat): void => {
    seat.starts++
    seat.starting = true
    const name = nameOf(seat)
    const mine = (): boolean => nameOf(seat) === name && (seat.starting || seat.running !== undefined)
    count("process started")
    scheduler.note(`${name} starts`)
    startProcess({
      name,
      config,
      prepared,
      server,
      nowMs: () => now + seat.offsetMs,
      remember: (size, root, write) => remember(seat, size, root, write),
      sync: fd => synced(name, mine, fd),
      reportFault: error =>
        void scheduler.note(`${name} reports ${error instanceof Error ? `${error.message} ${error.cause}` : error}`),
    }).then(
      running => {
        if (!mine()) return running.ended()
        trust = running.trust
        seat.running = running
        seat.starting = false
      },
      (error: unknown) => {
        if (!mine()) return
        seat.starting = false
        if (error instanceof StoreError) return count(`start failed: ${error.code}`)
        breakWith(error instanceof StartupError ? new Error(`a start was refused: ${error.message}`) : error)
      },
    )
  }
  const ask = (asked: Asked, seat: Seat): void => {
    const { running } = seat
    if (running === undefined) return
    scheduler.note(`${asked.name} is sent to ${running.name}${asked.claim === undefined ? "" : " under a key"}`)
    const isAlive = (): boolean => seat.running === running
    attempt(asked, running, isAlive, ending => {
      scheduler.note(`${asked.name} hears ${ending.kind === "answered" ? "its record" : ending.error}`)
      count(ending.kind === "answered" ? (ending.text === undefined ? "answered again" : "answered") : ending.error)
      if (ending.kind === "answered" && ending.text !== undefined) heldAgainstHeads(ending.text)
    }).catch(breakWith)
  }
  /** What is answered must be in a tree that some process remembers. */
  const heldAgainstHeads = (text: string): void => {
    const { anchors, entry } = JSON.parse(text)
    const last = Number((entry ?? anchors.complete_record.entry).logIndex)
    const safe = promised.some(({ size, by }) => size > last && by.endsWith("remembered head"))
    if (!safe) breakWith(new Error(`entry ${last} is acknowledged and no head beside the keys holds it`))
  }
  /** Nobody asks again while an earlier attempt may still be answered. */
  const isUnderWay = ({ attempts }: Asked): boolean => {
    const last = attempts.at(-1)
    return (
      last !== undefined && last.ending === undefined && seats.some(({ running }) => running?.name === last.process)
    )
  }
  const askOne = (): void => {
    const waiting = requests.filter(asked => isOpen(asked) && !isUnderWay(asked))
    const alive = seats.filter(({ running }) => running !== undefined)
    if (waiting.length > 0 && alive.length > 0) ask(random.pick(waiting), random.pick(alive))
  }

  const disturb = (): void => {
    if (crashing !== undefined) crash(crashing)
    crashing = undefined
    if (random.chance(faults.crash)) crash(random.pick(seats))
    if (random.chance(faults.database_restart)) {
      count("database restarted")
      scheduler.note("the database restarts")
      server.restart()
    }
    if (random.chance(faults.clock_step)) {
      const seat = random.pick(seats)
      seat.offsetMs = drawClockStep(random)
      count("clock set")
      scheduler.note(`${seat.name}'s clock is off by ${seat.offsetMs} ms`)
    }
    endOne(faults.idle_transaction_ended, "idle transaction ended", server.idleInTransaction)
    endOne(faults.lock_wait_ended, "lock wait ended", server.waitingForLock)
  }
  const endOne = (chance: number, what: string, candidates: SimulatedServer["idleInTransaction"]): void => {
    if (!random.chance(chance)) return
    const found = candidates()
    if (found.length === 0) return
    const { name, disturb: end } = random.pick(found)
    count(what)
    scheduler.note(`${name}: ${what}`)
    end()
  }
  const step = async (): Promise<boolean> => {
    now += random.below(random.chance(0.1) ? 3000 : 40)
    // What was begun since the last step first gets as far as it can.
    await scheduler.settle()
    const happened = await scheduler.step()
    if (broken !== undefined) throw broken.error
    return happened
  }
  const storm = async (): Promise<void> => {
    for (const { name } of seats) scheduler.slow(name, random.pick([1, 1, 0.2, 0.05]))
    for (const seat of seats) begin(seat)
    for (let steps = 0; steps < STORM_STEPS; steps++) {
      if (requests.every(asked => !isOpen(asked) && !isUnderWay(asked)) && scheduler.waiting() === 0) return
      if (random.chance(0.2)) askOne()
      const ended = seats.filter(({ running, starting }) => running === undefined && !starting)
      if (ended.length > 0 && random.chance(0.1)) begin(random.pick(ended))
      disturb()
      await step()
    }
  }
  /** Nothing goes wrong any more: what is under way ends, every process runs, every clock is right. */
  const heal = async (): Promise<void> => {
    faults = NO_FAULTS
    crashing = undefined
    now += HEALING_MS
    for (const seat of seats) seat.offsetMs = 0
    scheduler.note("all is well from here on")
    const toRest = async (): Promise<void> => {
      for (let steps = 0; await step(); steps++) if (steps > MAX_STEPS) throw new Error("it does not come to rest")
      const stuck = requests.find(isUnderWay)
      if (stuck !== undefined) throw new Error(`${stuck.name} is never answered`)
    }
    await toRest()
    for (const seat of seats) if (seat.running === undefined) begin(seat)
    await toRest()
    const down = seats.find(({ running }) => running === undefined)
    if (down !== undefined) throw new Error(`${down.name} does not start again`)
    for (const asked of requests.filter(isOpen)) {
      ask(asked, random.pick(seats))
      await toRest()
      assert.ok(!isOpen(asked), `${asked.name} is answered when all is well`)
    }
    for (const seat of seats) {
      const probe = { ...drawRequest(random, `probe-${seat.name}`), claim: undefined }
      requests.push(probe)
      ask(probe, seat)
      await toRest()
      assert.equal(probe.attempts.at(-1)?.ending?.kind, "answered", `${seat.name} seals again when all is well`)
    }
  }
  return {
    scheduler,
    server,
    requests,
    promised,
    states,
    trust: () => trust,
    run: async () => {
      await storm()
      await heal()
    },
    end: () => {
      for (const seat of seats) seat.running?.ended()
    },
  }
}

/** The name under which it was started last. */
const nameOf = ({ name, starts }: Seat): string => `${name}-${starts}`
