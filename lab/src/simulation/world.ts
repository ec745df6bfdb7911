/** One simulated deployment: a database, a few processes on it, callers, and faults. */
import assert from "node:assert/strict"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import type { Prepared } from "@runseal/server/execution"
import type { Config } from "@runseal/server/options/config"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import { type LogHeadRow, log_head } from "@runseal/server/store/tables/log-store"
import type { Seeded } from "../seeded.ts"
import type { Promised } from "./check.ts"
import { type SimulatedServer, simulatedServer } from "./database/server.ts"
import { decoded, emptyDatabase, type Snapshot } from "./database/simulated-rows.ts"
import type { Defect } from "./database/transactions.ts"
import { type Asked, attempt, drawRequest, drawRequests, type Ending, isOpen, TENANTS } from "./drawn-requests.ts"
import { drawClockStep, drawFaults, drawMishap, type Faults, NO_FAULTS } from "./faults.ts"
import { createProcessSlots, type ProcessSlot, type SlotParts } from "./process-slots.ts"
import { createScheduler, type Scheduler } from "./scheduler.ts"

/** The time at which a world starts. */
export const NOON_MS = Date.parse("2026-05-04T12:00:00.000Z")
/** Longer than the largest error of a clock. */
const HEALING_MS = 3_600_000
/** A world with pending steps after so many steps has failed: it has an endless loop. */
const MAX_STEPS = 20_000
/** Steps with faults. */
const STORM_STEPS = 600

export type WorldParts = {
  readonly random: Seeded
  readonly config: Config
  readonly prepared: Prepared
  readonly defects: ReadonlySet<Defect>
  readonly start: Snapshot | undefined
  /** Counts an event. */
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
  /** Runs the steps with faults, then ends all faults and runs until no step is pending. @throws the first failed check or error */
  readonly run: () => Promise<void>
  /** Ends the processes and closes their files. */
  readonly end: () => void
}

export const headOf = (state: Snapshot): LogHeadRow => {
  const [head] = decoded<LogHeadRow>(state, log_head)
  assert.ok(head !== undefined)
  return head
}

/** The callers' keys, none of them revoked. */
const withKeys = (state: Snapshot): Snapshot =>
  new Map([...state, ["api_key", new Map(TENANTS.map(({ owner }) => [`${owner}`, { key_id: owner, revoked_at: 0 }]))]])

/** An answer in the trace and the counts. */
function wordOf(ending: Ending): string {
  switch (ending.kind) {
    case "answered":
      return ending.text === undefined ? "answered again" : "answered"
    case "redeemed":
      return "redeemed"
    case "denied":
      return ending.code
    case "refused":
      return ending.error
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

export function createWorld({ random, config, prepared, defects, start, count }: WorldParts): World {
  const scheduler = createScheduler(random)
  const requests = Array.from({ length: 2 + random.below(5) }, (_, at) =>
    drawRequests(random, `request-${at + 1}`),
  ).flat()
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
    withKeys(start ?? emptyDatabase()),
  )

  const remember: SlotParts["remember"] = async (owner, size, root, write) => {
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
  const slots = createProcessSlots(places, {
    config,
    prepared,
    scheduler,
    server,
    nowMs,
    remember,
    count,
    broken: breakWith,
  })
  const ask = (asked: Asked, slot: ProcessSlot): void => {
    const { running } = slot
    if (running === undefined) return
    scheduler.note(`${asked.name} is sent to ${running.name}${asked.claim === undefined ? "" : " under a key"}`)
    const isAlive = (): boolean => slot.running === running
    attempt(asked, running, isAlive, ending => {
      scheduler.note(`${asked.name} hears ${wordOf(ending)}`)
      count(wordOf(ending))
      if (ending.kind === "answered" && ending.text !== undefined) heldAgainstHeads(ending.text)
    }).catch(breakWith)
  }
  /** Ends the permits that are due by the clock of a process. */
  const sweep = ({ running }: ProcessSlot): void => {
    if (running === undefined) return
    scheduler.note(`${running.name} looks for due permits`)
    running.endDue().catch((error: unknown) => {
      if (error instanceof StoreError) count("permits not ended")
      else breakWith(error)
    })
  }
  /** An acknowledged entry must be covered by a head file. */
  const heldAgainstHeads = (text: string): void => {
    const { anchors, entry } = JSON.parse(text)
    const last = Number((entry ?? anchors.complete_record.entry).logIndex)
    const safe = promised.some(({ size, by }) => size > last && by.endsWith("remembered head"))
    if (!safe) breakWith(new Error(`entry ${last} is acknowledged and no head file covers it`))
  }
  /** A caller does not retry while an earlier attempt may still be answered. */
  const isUnderWay = ({ attempts }: Asked): boolean => {
    const last = attempts.at(-1)
    return (
      last !== undefined && last.ending === undefined && slots.all.some(({ running }) => running?.name === last.process)
    )
  }
  const askOne = (): void => {
    const waiting = requests.filter(asked => isOpen(asked) && !isUnderWay(asked))
    const alive = slots.all.filter(({ running }) => running !== undefined)
    if (waiting.length > 0 && alive.length > 0) ask(random.pick(waiting), random.pick(alive))
  }

  const disturb = (): void => {
    if (crashing || random.chance(faults.crash)) slots.kill(random.pick(slots.all))
    crashing = false
    if (random.chance(faults.database_restart)) {
      count("database restarted")
      scheduler.note("the database restarts")
      server.restart()
    }
    if (random.chance(faults.clock_step)) {
      const slot = random.pick(slots.all)
      slot.offsetMs = drawClockStep(random)
      count("clock set")
      scheduler.note(`${slot.name}'s clock is off by ${slot.offsetMs} ms`)
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
    // Code that was started since the last step runs first.
    await scheduler.settle()
    const happened = await scheduler.step()
    if (broken !== undefined) throw broken.error
    return happened
  }
  const storm = async (): Promise<void> => {
    for (const { name } of slots.all) scheduler.slow(name, random.pick([1, 1, 0.2, 0.05]))
    for (const slot of slots.all) slots.start(slot)
    for (let steps = 0; steps < STORM_STEPS; steps++) {
      if (requests.every(asked => !isOpen(asked) && !isUnderWay(asked)) && scheduler.waiting() === 0) return
      if (random.chance(0.2)) askOne()
      if (random.chance(0.02)) sweep(random.pick(slots.all))
      const ended = slots.all.filter(({ running, starting }) => running === undefined && !starting)
      if (ended.length > 0 && random.chance(0.1)) slots.start(random.pick(ended))
      disturb()
      await step()
    }
  }
  /** Ends all faults: pending requests end, every process runs, every clock is right. */
  const heal = async (): Promise<void> => {
    faults = NO_FAULTS
    crashing = false
    now += HEALING_MS
    for (const slot of slots.all) slot.offsetMs = 0
    scheduler.note("no faults from here on")
    const toRest = async (): Promise<void> => {
      for (let steps = 0; await step(); steps++) if (steps > MAX_STEPS) throw new Error("steps are still pending")
      const stuck = requests.find(isUnderWay)
      if (stuck !== undefined) throw new Error(`${stuck.name} is never answered`)
    }
    await toRest()
    for (const slot of slots.all) if (slot.running === undefined) slots.start(slot)
    await toRest()
    const down = slots.all.find(({ running }) => running === undefined)
    if (down !== undefined) throw new Error(`${down.name} does not start again`)
    // An answer may open further requests: those about the permit that it gives.
    for (let asked = requests.find(isOpen); asked !== undefined; asked = requests.find(isOpen)) {
      ask(asked, random.pick(slots.all))
      await toRest()
      assert.ok(!isOpen(asked), `${asked.name} is answered without faults`)
    }
    for (const slot of slots.all) {
      const probe = { ...drawRequest(random, `probe-${slot.name}`), claim: undefined }
      requests.push(probe)
      ask(probe, slot)
      await toRest()
      assert.equal(probe.attempts.at(-1)?.ending?.kind, "answered", `${slot.name} seals again without faults`)
    }
    now += HEALING_MS
    sweep(random.pick(slots.all))
    await toRest()
  }
  return {
    scheduler,
    server,
    requests,
    promised,
    states,
    trust: slots.trust,
    run: async () => {
      await storm()
      await heal()
    },
    end: slots.killAll,
  }
}
