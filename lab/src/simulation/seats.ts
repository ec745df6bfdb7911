/** Places for processes: one is started there, and another one after it ended. */
import { fdatasyncSync } from "node:fs"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import type { Prepared } from "@runseal/server/boot"
import type { Config } from "@runseal/server/options/config"
import { StartupError } from "@runseal/server/options/startup-error"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import type { SimulatedServer } from "./database/server.ts"
import { type Remember, type SimulatedProcess, startProcess } from "./process.ts"
import type { Scheduler } from "./scheduler.ts"

export type Seat = {
  readonly name: string
  /** Processes started here so far. */
  starts: number
  running: SimulatedProcess | undefined
  starting: boolean
  /** How far its clock is off. */
  offsetMs: number
  /** Closes what the operating system closes when the process ends. */
  close: (() => void) | undefined
}

export type SeatParts = {
  readonly config: Config
  readonly prepared: Prepared
  readonly scheduler: Scheduler
  readonly server: SimulatedServer
  /** The right time. */
  readonly nowMs: () => number
  /** Stands around the writing of a head. @param owner the process that writes it */
  readonly remember: (owner: string, ...head: Parameters<Remember>) => Promise<void>
  readonly count: (what: string) => void
  readonly broken: (error: unknown) => void
}

export type Seats = {
  readonly all: readonly Seat[]
  readonly start: (seat: Seat) => void
  /** The process is gone at once: what it waits for never comes. */
  readonly kill: (seat: Seat) => void
  readonly killAll: () => void
  /** What the processes published last. */
  readonly trust: () => TrustDocument | undefined
}

/** The name under which a process was started last. */
const nameOf = ({ name, starts }: Seat): string => `${name}-${starts}`

export function openSeats(places: number, parts: SeatParts): Seats {
  const { scheduler, server, count } = parts
  const all = Array.from({ length: places }, (_, at): Seat => {
    const name = `p${at + 1}`
    return { name, starts: 0, running: undefined, starting: false, offsetMs: 0, close: undefined }
  })
  let trust: TrustDocument | undefined
  const ended = (seat: Seat): void => {
    seat.close?.()
    seat.close = undefined
    seat.running = undefined
    seat.starting = false
  }
  const start = (seat: Seat): void => {
    seat.starts++
    seat.starting = true
    const name = nameOf(seat)
    const isAlive = (): boolean => nameOf(seat) === name && (seat.starting || seat.running !== undefined)
    count("process started")
    scheduler.note(`${name} starts`)
    startProcess({
      name,
      config: parts.config,
      prepared: parts.prepared,
      server,
      nowMs: () => parts.nowMs() + seat.offsetMs,
      remember: (...head) => parts.remember(name, ...head),
      sync: fd => synced(scheduler, name, isAlive, fd),
      opened: close => {
        seat.close = close
      },
      reportFault: error => scheduler.note(`${name} reports ${toldOf(error)}`),
    }).then(
      running => {
        if (!isAlive()) return
        trust = running.trust
        seat.running = running
        seat.starting = false
      },
      (error: unknown) => {
        if (!isAlive()) return
        ended(seat)
        if (error instanceof StoreError) count(`start failed: ${error.code}`)
        else parts.broken(error instanceof StartupError ? new Error(`a start was refused: ${error.message}`) : error)
      },
    )
  }
  const kill = (seat: Seat): void => {
    if (seat.running === undefined && !seat.starting) return
    count("process killed")
    scheduler.note(`${nameOf(seat)} is killed`)
    server.ownerGone(nameOf(seat))
    ended(seat)
  }
  return { all, start, kill, killAll: () => all.forEach(ended), trust: () => trust }
}

const toldOf = (error: unknown): string => (error instanceof Error ? `${error.message} ${error.cause}` : `${error}`)

/** A sync takes its time, in which its process may end. */
const synced = (scheduler: Scheduler, owner: string, isAlive: () => boolean, fd: number): Promise<void> =>
  new Promise(resolve => {
    const happens = (): void => {
      if (!isAlive()) return
      fdatasyncSync(fd)
      resolve()
    }
    scheduler.add({ owner, what: "syncs its head", happens })
  })
