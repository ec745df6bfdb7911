/** Slots for processes: in each a process runs, and after its end another one. */
import { fdatasyncSync } from "node:fs"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import type { Prepared } from "@runseal/server/execution"
import type { Config } from "@runseal/server/options/config"
import { StartupError } from "@runseal/server/options/startup-error"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import type { SimulatedServer } from "./database/server.ts"
import { type Remember, type SimulatedProcess, startProcess } from "./process.ts"
import type { Scheduler } from "./scheduler.ts"

export type ProcessSlot = {
  readonly name: string
  /** Processes started here so far. */
  starts: number
  running: SimulatedProcess | undefined
  starting: boolean
  /** Error of its clock. */
  offsetMs: number
  /** Closes the files that the operating system closes when a process ends. */
  close: (() => void) | undefined
}

export type SlotParts = {
  readonly config: Config
  readonly prepared: Prepared
  readonly scheduler: Scheduler
  readonly server: SimulatedServer
  /** The right time. */
  readonly nowMs: () => number
  /** Wraps the write of a head file. @param owner the process that writes it */
  readonly remember: (owner: string, ...head: Parameters<Remember>) => Promise<void>
  readonly count: (what: string) => void
  readonly broken: (error: unknown) => void
}

export type ProcessSlots = {
  readonly all: readonly ProcessSlot[]
  readonly start: (slot: ProcessSlot) => void
  /** Ends the process at once: it receives no further answer. */
  readonly kill: (slot: ProcessSlot) => void
  readonly killAll: () => void
  /** The trust document that was published last. */
  readonly trust: () => TrustDocument | undefined
}

/** The name of the process that was started last in a slot. */
const nameOf = ({ name, starts }: ProcessSlot): string => `${name}-${starts}`

export function createProcessSlots(places: number, parts: SlotParts): ProcessSlots {
  const { scheduler, server, count } = parts
  const all = Array.from({ length: places }, (_, at): ProcessSlot => {
    const name = `p${at + 1}`
    return { name, starts: 0, running: undefined, starting: false, offsetMs: 0, close: undefined }
  })
  let trust: TrustDocument | undefined
  const ended = (slot: ProcessSlot): void => {
    slot.close?.()
    slot.close = undefined
    slot.running = undefined
    slot.starting = false
  }
  const start = (slot: ProcessSlot): void => {
    slot.starts++
    slot.starting = true
    const name = nameOf(slot)
    const isAlive = (): boolean => nameOf(slot) === name && (slot.starting || slot.running !== undefined)
    count("process started")
    scheduler.note(`${name} starts`)
    startProcess({
      name,
      config: parts.config,
      prepared: parts.prepared,
      server,
      nowMs: () => parts.nowMs() + slot.offsetMs,
      remember: (...head) => parts.remember(name, ...head),
      sync: fd => synced(scheduler, name, isAlive, fd),
      opened: close => {
        slot.close = close
      },
      reportFault: error => scheduler.note(`${name} reports ${messageOf(error)}`),
    }).then(
      running => {
        if (!isAlive()) return
        trust = running.trust
        slot.running = running
        slot.starting = false
      },
      (error: unknown) => {
        if (!isAlive()) return
        ended(slot)
        if (error instanceof StoreError) count(`start failed: ${error.code}`)
        else parts.broken(error instanceof StartupError ? new Error(`a start was refused: ${error.message}`) : error)
      },
    )
  }
  const kill = (slot: ProcessSlot): void => {
    if (slot.running === undefined && !slot.starting) return
    count("process killed")
    scheduler.note(`${nameOf(slot)} is killed`)
    server.ownerGone(nameOf(slot))
    ended(slot)
  }
  return { all, start, kill, killAll: () => all.forEach(ended), trust: () => trust }
}

const messageOf = (error: unknown): string => (error instanceof Error ? `${error.message} ${error.cause}` : `${error}`)

/** A sync is a step, so that its process may end before it. */
const synced = (scheduler: Scheduler, owner: string, isAlive: () => boolean, fd: number): Promise<void> =>
  new Promise(resolve => {
    const happens = (): void => {
      if (!isAlive()) return
      fdatasyncSync(fd)
      resolve()
    }
    scheduler.add({ owner, what: "syncs its head", happens })
  })
