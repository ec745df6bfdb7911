/**
 * The log's clock. Log time never goes back, so one batch that was sealed by a clock that is ahead binds the log for ever. Therefore nothing
 * is sealed by a clock that was stepped, until it is set right or an operator confirms it. docs/when-it-is-down.md, "The clock"; decision 0260.
 *
 * Where a clock is confirmed that is behind the log, the log's clock goes on from the log's last time, slower than the machine's, until
 * the machine's has caught up. All that the service makes and judges has that time: a record must be logged within 600 s of its own clock.
 */
import { uptime } from "node:os"
import type { Session, Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { type ClockConfirmation, findConfirmation, goOnBy } from "../store/tables/clock-confirmations.ts"
import type { LogHeadRow } from "../store/tables/log-store.ts"

/** The clocks of a machine, in milliseconds. */
export type MachineClock = {
  /** Since the epoch: may be set at any time. */
  readonly nowMs: () => number
  /** Since the machine started: nobody sets it, and it counts on while the machine sleeps. */
  readonly uptimeMs: () => number
}

export const MACHINE_CLOCK: MachineClock = { nowMs: Date.now, uptimeMs: () => uptime() * 1000 }

/** How much a clock may differ, in seconds. */
export type ClockBounds = {
  /** From what the machine's uptime says, since the last batch; and behind the log's last time. */
  readonly maxClockStep: number
  /** Ahead of the log's last time, at a start. */
  readonly maxClockGap: number
}

/** What the log's clock needs of the log's head. */
type ClockHead = Pick<LogHeadRow, "size" | "log_time" | "clock_event">

export type LogClock = {
  /** Milliseconds since the epoch, of all that the service makes and judges. */
  readonly nowMs: () => number
  /** Why nothing is sealed by this clock, for the operator; undefined when something would be: then the clock goes by what was confirmed. */
  readonly trouble: (session: Session, head: ClockHead) => Promise<string | undefined>
  /** Resolves when a batch may be sealed on the locked head. @throws StoreError "unavailable" */
  readonly check: (tx: Tx, head: ClockHead) => Promise<void>
  /** A batch was sealed by this clock. @param size of the log with it */
  readonly sealed: (size: number) => void
}

/** Of ten seconds of the machine's clock, the log's counts nine while it is ahead: an hour ahead takes ten hours. */
const RATE_AHEAD = 0.9
const NEVER: ClockConfirmation = { ordinal: 0, machine: 0, log: 0, logSize: 0 }

const CONFIRM = "nothing is sealed until the clock is right, or was confirmed with runseal-server clock confirm."
const CALLER_MESSAGE =
  "The clock of the service was stepped or is behind the log: nothing is sealed until its operator has set it right or confirmed it. Nothing was acknowledged."

/** Milliseconds since the epoch by the log's clock, when the machine's shows `machine`. */
const logClockAt = (machine: number, confirmed: ClockConfirmation): number =>
  Math.max(machine, Math.floor(confirmed.log + (machine - confirmed.machine) * RATE_AHEAD))

/** Unix seconds of the next batch. */
export const nextLogTime = (lastLogTime: number, nowMs: number): number =>
  Math.max(lastLogTime, Math.floor(nowMs / 1000))

/** What a confirmation says that is made now. */
export async function newConfirmation(
  session: Session,
  head: ClockHead,
  machine: number,
): Promise<Omit<ClockConfirmation, "ordinal">> {
  const before = head.clock_event === 0 ? undefined : await findConfirmation(session, head.clock_event)
  const log = Math.max(head.log_time * 1000, logClockAt(machine, before ?? NEVER))
  return { machine, log, logSize: head.size }
}

/** What the clocks of a machine showed at one moment. */
type Reading = { readonly now: number; readonly uptime: number }

/**
 * @param aheadMs how far the log's clock is ahead of the log's last time
 * @param trusted the clocks when they were last trusted; undefined before the first time
 */
function troubleOf(
  aheadMs: number,
  clocks: Reading,
  trusted: Reading | undefined,
  { maxClockStep, maxClockGap }: ClockBounds,
): string | undefined {
  if (aheadMs < -maxClockStep * 1000)
    return `The clock is behind the log's time by more than ${maxClockStep} s; ${CONFIRM}`
  if (trusted === undefined)
    return aheadMs > maxClockGap * 1000
      ? `The clock is ahead of the log's time by more than ${maxClockGap} s; ${CONFIRM}`
      : undefined
  const stepped = clocks.now - trusted.now - (clocks.uptime - trusted.uptime)
  return Math.abs(stepped) > maxClockStep * 1000
    ? `The clock was stepped by more than ${maxClockStep} s since the last batch; ${CONFIRM}`
    : undefined
}

/** @param machine the clocks of this process's machine */
export function openLogClock(machine: MachineClock, bounds: ClockBounds): LogClock {
  const [stepMs, gapMs] = [bounds.maxClockStep * 1000, bounds.maxClockGap * 1000]
  let confirmed = NEVER
  /** The clocks when they were last trusted; undefined before the first time. */
  let trusted: Reading | undefined
  /** The clocks of the batch under way. */
  let read: Reading = { now: 0, uptime: 0 }
  /** Entries of the log at that batch, or at the start: a confirmation counts that was made since. */
  let sizeThen = 0
  /** Ordinal of the newest confirmation at the start; undefined before the first look. */
  let madeBefore: number | undefined

  const readClocks = (): Reading => ({ now: machine.nowMs(), uptime: machine.uptimeMs() })

  const take = async (session: Session, { clock_event }: ClockHead): Promise<void> => {
    if (clock_event <= confirmed.ordinal) return
    const found = await findConfirmation(session, clock_event)
    if (found === undefined) throw new StoreError("corrupt")
    const clocks = readClocks()
    // Another process goes on by a clock that is not this one's: this one is compared with the log alone.
    if (trusted !== undefined && Math.abs(clocks.now - found.machine) > stepMs) return
    confirmed = found
    if (trusted !== undefined) trusted = clocks
  }

  /** The confirmation of the clock as it is now, made since the last batch: of no other step. */
  const findOwn = async (session: Session, { now }: Reading): Promise<ClockConfirmation | undefined> => {
    const found = await findConfirmation(session)
    if (found === undefined || found.ordinal <= confirmed.ordinal || found.logSize < sizeThen) return undefined
    const since = now - found.machine
    // A service that was stopped when it was confirmed may start much later.
    const most = trusted === undefined && found.ordinal === madeBefore ? gapMs : stepMs
    return since >= -stepMs && since <= most ? found : undefined
  }
  const trouble: LogClock["trouble"] = async (session, head) => {
    if (madeBefore === undefined) {
      madeBefore = (await findConfirmation(session))?.ordinal ?? 0
      sizeThen = head.size
    }
    await take(session, head)
    const clocks = readClocks()
    const found = troubleOf(logClockAt(clocks.now, confirmed) - head.log_time * 1000, clocks, trusted, bounds)
    if (found === undefined) trusted ??= clocks
    else {
      const own = await findOwn(session, clocks)
      if (own === undefined) return found
      confirmed = own
      trusted = clocks
    }
    read = clocks
    return undefined
  }
  return {
    nowMs: () => logClockAt(machine.nowMs(), confirmed),
    trouble,
    check: async (tx, head) => {
      const found = await trouble(tx, head)
      if (found !== undefined) throw new StoreError("unavailable", { message: found, callerMessage: CALLER_MESSAGE })
      if (confirmed.ordinal > head.clock_event) await goOnBy(tx, confirmed)
    },
    sealed: size => {
      trusted = read
      sizeThen = size
    },
  }
}
