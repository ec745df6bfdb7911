/** One simulated deployment: a database, a few processes on it, callers, and what goes wrong. */
import assert from "node:assert/strict"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import type { Prepared } from "@runseal/server/boot"
import type { Config } from "@runseal/server/options/config"
import { type LogHeadRow, log_head } from "@runseal/server/store/tables/log-store"
import type { Promised } from "./check.ts"
import { type SimulatedServer, simulatedServer } from "./database/server.ts"
import { decoded, type Snapshot } from "./database/simulated-rows.ts"
import type { Defect } from "./database/transactions.ts"
import { type Asked, attempt, drawRequest, isOpen } from "./drawn-requests.ts"
import { drawClockStep, drawFaults, drawMishap, type Faults, NO_FAULTS } from "./faults.ts"
import { createScheduler, type Scheduler } from "./scheduler.ts"
import { openSeats, type Seat, type SeatParts } from "./seats.ts"
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
  const places = 1 + random.below(3)
  const states: Snapshot[] = []
  const promised: Promised[] = []
  let faults: Faults = drawFaults(random)
  let now = NOON_MS
  let broken: { readonly error: unknown } | undefined
  let crashing = false
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
        crashing ||= random.chance(faults.crash_after_commit)
      },
      count,
      broken: breakWith,
    },
    start,
  )

  const remember: SeatParts["remember"] = async (owner, size, root, write) => {
    const isDurable = headOf(server.committed()).size >= size
    if (!isDurable) breakWith(new Error(`a head of ${size} entries is remembered before they are committed`))
    const fails = random.chance(faults.head_write_fails)
    const before = random.chance(0.5)
    if (fails && before) failHead()
    await write()
    promised.push({ size, root: hex(root), by: `${owner}'s remembered head` })
    if (fails) failHead()
  }
  const failHead = (): never => {
    count("head file not written")
    throw new Error("no space left on device")
  }
  const nowMs = (): number => now
  const seats = openSeats(places, { config, prepared, scheduler, server, nowMs, remember, count, broken: breakWith })
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
      last !== undefined && last.ending === undefined && seats.all.some(({ running }) => running?.name === last.process)
    )
  }
  const askOne = (): void => {
    const waiting = requests.filter(asked => isOpen(asked) && !isUnderWay(asked))
    const alive = seats.all.filter(({ running }) => running !== undefined)
    if (waiting.length > 0 && alive.length > 0) ask(random.pick(waiting), random.pick(alive))
  }

  const disturb = (): void => {
    if (crashing || random.chance(faults.crash)) seats.kill(random.pick(seats.all))
    crashing = false
    if (random.chance(faults.database_restart)) {
      count("database restarted")
      scheduler.note("the database restarts")
      server.restart()
    }
    if (random.chance(faults.clock_step)) {
      const seat = random.pick(seats.all)
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
    for (const { name } of seats.all) scheduler.slow(name, random.pick([1, 1, 0.2, 0.05]))
    for (const seat of seats.all) seats.start(seat)
    for (let steps = 0; steps < STORM_STEPS; steps++) {
      if (requests.every(asked => !isOpen(asked) && !isUnderWay(asked)) && scheduler.waiting() === 0) return
      if (random.chance(0.2)) askOne()
      const ended = seats.all.filter(({ running, starting }) => running === undefined && !starting)
      if (ended.length > 0 && random.chance(0.1)) seats.start(random.pick(ended))
      disturb()
      await step()
    }
  }
  /** Nothing goes wrong any more: what is under way ends, every process runs, every clock is right. */
  const heal = async (): Promise<void> => {
    faults = NO_FAULTS
    crashing = false
    now += HEALING_MS
    for (const seat of seats.all) seat.offsetMs = 0
    scheduler.note("all is well from here on")
    const toRest = async (): Promise<void> => {
      for (let steps = 0; await step(); steps++) if (steps > MAX_STEPS) throw new Error("it does not come to rest")
      const stuck = requests.find(isUnderWay)
      if (stuck !== undefined) throw new Error(`${stuck.name} is never answered`)
    }
    await toRest()
    for (const seat of seats.all) if (seat.running === undefined) seats.start(seat)
    await toRest()
    const down = seats.all.find(({ running }) => running === undefined)
    if (down !== undefined) throw new Error(`${down.name} does not start again`)
    for (const asked of requests.filter(isOpen)) {
      ask(asked, random.pick(seats.all))
      await toRest()
      assert.ok(!isOpen(asked), `${asked.name} is answered when all is well`)
    }
    for (const seat of seats.all) {
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
    trust: seats.trust,
    run: async () => {
      await storm()
      await heal()
    },
    end: seats.killAll,
  }
}
