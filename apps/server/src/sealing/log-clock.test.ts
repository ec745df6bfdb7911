import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import "../../spec/database/compiled-pglite.ts"
import { memoryDatabase } from "../../spec/database/reused-databases.ts"
import type { Database } from "../store/driver/database.ts"
import { recordConfirmation } from "../store/tables/clock-confirmations.ts"
import { lockHead } from "../store/tables/log-store.ts"
import { type LogClock, newConfirmation, openLogClock } from "./log-clock.ts"

const NOON = Date.parse("2026-05-04T12:00:00Z")
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

let db: Database
beforeAll(async () => {
  db = await memoryDatabase()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.write(({ sql }) => sql`delete from admin_event`)
  await db.write(({ sql }) => sql`update log_head set size = 1, log_time = ${NOON / 1000}::bigint, clock_event = 0`)
})

/** A machine, whose clock can be set, and a process on it. */
function machine(first = NOON) {
  const clocks = { now: first, uptime: 0 }
  const open = (): LogClock =>
    openLogClock(
      { nowMs: () => clocks.now, uptimeMs: () => clocks.uptime },
      { maxClockStep: 60, maxClockGap: 30 * 86_400 },
    )
  return {
    clocks,
    open,
    /** Time passes. */
    pass: (ms: number): void => {
      clocks.now += ms
      clocks.uptime += ms
    },
  }
}

/** Seals a batch of one entry by a clock, as the sealer does. @returns the log's time in milliseconds, or why nothing was sealed */
async function seal(clock: LogClock): Promise<number | string> {
  try {
    const { size, time } = await db.transaction(async tx => {
      const head = await lockHead(tx)
      await clock.check(tx, head)
      const time = Math.max(head.log_time, Math.floor(clock.nowMs() / 1000))
      await tx.sql`update log_head set size = ${head.size + 1}::bigint, log_time = ${time}::bigint`
      return { size: head.size + 1, time }
    })
    clock.sealed(size)
    return time * 1000
  } catch (error) {
    return error instanceof Error ? error.message : "another error"
  }
}

/** What `clock confirm` does where a clock shows this. */
const confirm = (now: number): Promise<void> =>
  db.transaction(async tx => {
    const head = await lockHead(tx)
    await recordConfirmation(tx, "log.example - 1", {
      ...(await newConfirmation(tx, head, now)),
      logTime: head.log_time * 1000,
    })
  })

/** A process that has sealed at noon. */
async function started() {
  const here = machine()
  const clock = here.open()
  expect(await seal(clock)).toBe(NOON)
  return { ...here, clock }
}

test.each([MINUTE + 1, HOUR, 40 * DAY, -MINUTE - 1001, -HOUR])(
  "a clock stepped by %i ms seals nothing until it is right",
  async step => {
    const { clock, clocks, pass } = await started()
    clocks.now += step
    expect(await seal(clock)).toMatch(/^The clock (was stepped|is behind)/)
    pass(MINUTE)
    expect(await seal(clock)).toMatch(/^The clock (was stepped|is behind)/)
    clocks.now -= step
    expect(await seal(clock)).toBe(NOON + MINUTE)
  },
)

test.each([MINUTE, -MINUTE])(
  "a step of %i ms, or a machine that slept, seals; the log's time does not go back",
  async step => {
    const { clock, clocks, pass } = await started()
    clocks.now += step
    expect(await seal(clock)).toBe(NOON + Math.max(step, 0))
    pass(3 * DAY)
    expect(await seal(clock)).toBe(NOON + step + 3 * DAY)
  },
)

test("a confirmed clock seals on; the confirmation is of no other step, before or after", async () => {
  const { clock, clocks, pass } = await started()
  clocks.now += HOUR
  await confirm(NOON)
  expect(await seal(clock)).toMatch(/stepped/)
  await confirm(clocks.now)
  pass(5000)
  expect(await seal(clock)).toBe(NOON + HOUR + 5000)
  pass(HOUR)
  expect(await seal(clock)).toBe(NOON + 2 * HOUR + 5000)
  // To the time that was confirmed, once more.
  clocks.now = NOON + HOUR
  expect(await seal(clock)).toMatch(/behind/)
})

test("a log that is ahead goes on from its last time at nine tenths, for every process and after a start, until the clock has caught up", async () => {
  const { clock, clocks, pass, open } = await started()
  clocks.now += HOUR
  await confirm(clocks.now)
  expect(await seal(clock)).toBe(NOON + HOUR)
  clocks.now -= HOUR
  const other = open()
  expect(await seal(other)).toMatch(/behind/)
  expect(await seal(clock)).toMatch(/behind/)
  await confirm(clocks.now)
  expect(await seal(clock)).toBe(NOON + HOUR)
  expect(await seal(other)).toBe(NOON + HOUR)
  pass(HOUR)
  for (const each of [clock, other, open()]) expect(await seal(each)).toBe(NOON + HOUR + 0.9 * HOUR)
  pass(10 * HOUR)
  for (const each of [clock, other, open()]) expect(await seal(each)).toBe(NOON + 11 * HOUR)
})

test("one process goes on by a confirmation; another, whose clock is not the one that was confirmed, does not", async () => {
  const { clock, clocks } = await started()
  const right = machine()
  const other = right.open()
  expect(await seal(other)).toBe(NOON)
  clocks.now -= HOUR
  await confirm(clocks.now)
  expect(await seal(clock)).toBe(NOON)
  expect(await seal(other)).toBe(NOON)
  right.pass(MINUTE)
  expect(await seal(other)).toBe(NOON + MINUTE)
})

test("a start after 30 days, or by a clock behind the log, seals nothing until the clock was confirmed, before it or while it runs", async () => {
  await started()
  for (const [step, sentence] of [
    [31 * DAY, /ahead/],
    [-31 * DAY, /behind/],
  ] as const) {
    const now = NOON + step
    const clock = machine(now).open()
    expect(await seal(clock)).toMatch(sentence)
    await confirm(now - HOUR)
    expect(await seal(clock)).toMatch(sentence)
    if (step < 0) continue
    await confirm(now)
    expect(await seal(clock)).toBe(now)
  }
})

test("a confirmation that was made while the service was stopped counts at the start, days later", async () => {
  await started()
  await confirm(NOON + 40 * DAY)
  const early = machine(NOON + 39 * DAY)
  expect(await seal(early.open())).toMatch(/ahead/)
  const late = machine(NOON + 45 * DAY)
  expect(await seal(late.open())).toBe(NOON + 45 * DAY)
})
