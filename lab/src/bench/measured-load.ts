/** A load and its cost: processor time, time under the log's lock, WAL, syncs and disk space per run. */
import { readFileSync } from "node:fs"
import { type LoadJob, type LoadResult, load } from "./load/load.ts"
import type { DatabaseLook } from "./servers/database-server.ts"
import type { BuildPlace, ServerLook, ServerProcess } from "./servers/measured-server.ts"
import { verificationMicros } from "./yardstick.ts"

/** Per answer; NaN where it is unknown. */
export type Cost = {
  readonly serverMicros: number
  /** Of these, the main threads'. */
  readonly mainMicros: number
  /** … and those of their worker threads. */
  readonly workerMicros: number
  readonly databaseMicros: number
  /** Time that the lock of the log's head was held. */
  readonly lockMicros: number
  /** The same as the database shows it, by samples; of another process the server hears later that its commit was done. */
  readonly databaseLockMicros: number
  /** Batches by where they were built. */
  readonly batches: Readonly<Record<BuildPlace, number>>
  /** Canonical texts that the main threads wrote, and their bytes; 0 where they are not counted. */
  readonly texts: number
  readonly textBytes: number
  readonly walBytes: number
  readonly walSyncs: number
  readonly diskBytes: number
}

export type Measured = LoadResult & {
  readonly cost: Cost
  /** Share of all processors of the machine that was idle; other programs use them too. */
  readonly idle: number
  /** Of one ECDSA P-256 verification, measured right before. */
  readonly verificationMicros: number
  /** Of the slowest server, milliseconds. */
  readonly loopDelayP99: number
  /** Bytes, of all servers, at the end. */
  readonly memory: number
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/**
 * Puts servers under a load, and counts all its answers.
 * @param lookAtDatabase absent for an embedded one
 * @param watchLock gives the share of the time in which the lock of the log's head was held; absent where it is not asked for
 */
export async function measure(
  servers: readonly ServerProcess[],
  job: Omit<LoadJob, "urls">,
  lookAtDatabase?: () => Promise<DatabaseLook>,
  watchLock?: () => Promise<() => Promise<number>>,
): Promise<Measured> {
  const urls = servers.map(({ url }) => url)
  const verification = verificationMicros()
  if (job.warmSeconds > 0) await load({ ...job, urls, seconds: job.warmSeconds, warmSeconds: 0 })
  const look = () => Promise.all(servers.map(server => server.look()))
  const [before, databaseBefore, machineBefore] = [await look(), await lookAtDatabase?.(), machineTicks()]
  const since = performance.now()
  const lockShare = await watchLock?.()
  const result = await load({ ...job, urls, warmSeconds: 0 })
  const lockedMicros = ((await lockShare?.()) ?? Number.NaN) * (performance.now() - since) * 1000
  const [machineAfter, after, databaseAfter] = [machineTicks(), await look(), await lookAtDatabase?.()]
  const spent = (of: (database: DatabaseLook) => number | undefined): number =>
    ((databaseAfter && of(databaseAfter)) ?? Number.NaN) - ((databaseBefore && of(databaseBefore)) ?? Number.NaN)
  const used = (of: (server: ServerLook) => number | undefined): number =>
    sum(after.map(server => of(server) ?? Number.NaN)) - sum(before.map(server => of(server) ?? Number.NaN))
  const each = (spent: number): number => spent / result.answers
  return {
    ...result,
    cost: {
      serverMicros: each(used(({ micros }) => micros)),
      mainMicros: each(used(({ threads }) => threads?.main)),
      workerMicros: each(used(({ threads }) => threads?.workers)),
      databaseMicros: each(spent(({ micros }) => micros)),
      lockMicros: each(used(({ lockSeconds }) => lockSeconds)) * 1_000_000,
      databaseLockMicros: each(lockedMicros),
      batches: {
        ahead: each(used(({ batches }) => batches.ahead)),
        locked: each(used(({ batches }) => batches.locked)),
        again: each(used(({ batches }) => batches.again)),
      },
      texts: each(used(({ texts }) => texts.count)),
      textBytes: each(used(({ texts }) => texts.bytes)),
      walBytes: each(spent(({ walBytes }) => walBytes)),
      walSyncs: each(spent(({ walSyncs }) => walSyncs)),
      diskBytes: each(spent(({ size }) => size)),
    },
    idle: (machineAfter.idle - machineBefore.idle) / (machineAfter.all - machineBefore.all),
    verificationMicros: verification,
    loopDelayP99: Math.max(...after.map(({ loopDelayP99 }) => loopDelayP99)),
    memory: sum(after.map(({ memory }) => memory)),
  }
}

/** Time of all processors since the machine started, in the kernel's ticks; NaN where the system does not count it. proc(5), /proc/stat. */
function machineTicks(): { readonly idle: number; readonly all: number } {
  try {
    const [first = ""] = readFileSync("/proc/stat", "utf8").split("\n")
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in the first two.
    const ticks = first.split(/ +/).slice(1, 9).map(Number)
    return { idle: (ticks[3] ?? Number.NaN) + (ticks[4] ?? Number.NaN), all: sum(ticks) }
  } catch {
    return { idle: Number.NaN, all: Number.NaN }
  }
}
