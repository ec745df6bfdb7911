/** A load and its cost: processor time, WAL, syncs and disk space per run. */

import { type LoadJob, type LoadResult, load } from "./load/load.ts"
import type { DatabaseLook } from "./servers/database-server.ts"
import type { ServerProcess } from "./servers/measured-server.ts"
import type { Look } from "./servers/probe.ts"

/** Per answer; undefined where it is unknown. */
export type Cost = {
  readonly serverMicros: number
  /** Of these, the main threads'. */
  readonly mainMicros: number
  /** … and those of their worker threads. Both NaN where the system does not count them. */
  readonly workerMicros: number
  readonly databaseMicros: number | undefined
  readonly walBytes: number | undefined
  readonly walSyncs: number | undefined
  readonly diskBytes: number | undefined
}

export type Measured = LoadResult & {
  readonly cost: Cost
  /** Of the slowest server, milliseconds. */
  readonly loopDelayP99: number
  /** Bytes, of all servers, at the end. */
  readonly memory: number
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/**
 * Puts servers under a load, and counts all its answers.
 * @param lookAtDatabase absent for an embedded one
 */
export async function measure(
  servers: readonly ServerProcess[],
  job: Omit<LoadJob, "urls">,
  lookAtDatabase?: () => Promise<DatabaseLook>,
): Promise<Measured> {
  const urls = servers.map(({ url }) => url)
  if (job.warmSeconds > 0) await load({ ...job, urls, seconds: job.warmSeconds, warmSeconds: 0 })
  const look = () => Promise.all(servers.map(server => server.look()))
  const [before, databaseBefore] = [await look(), await lookAtDatabase?.()]
  const result = await load({ ...job, urls, warmSeconds: 0 })
  const [after, databaseAfter] = [await look(), await lookAtDatabase?.()]
  const spent = (of: (database: DatabaseLook) => number | undefined): number | undefined => {
    const [from, to] = [databaseBefore && of(databaseBefore), databaseAfter && of(databaseAfter)]
    return from === undefined || to === undefined ? undefined : (to - from) / result.answers
  }
  const used = (of: (server: Look) => number | undefined): number =>
    (sum(after.map(look => of(look) ?? Number.NaN)) - sum(before.map(look => of(look) ?? Number.NaN))) / result.answers
  return {
    ...result,
    cost: {
      serverMicros: used(({ micros }) => micros),
      mainMicros: used(({ threads }) => threads?.main),
      workerMicros: used(({ threads }) => threads?.workers),
      databaseMicros: spent(({ micros }) => micros),
      walBytes: spent(({ walBytes }) => walBytes),
      walSyncs: spent(({ walSyncs }) => walSyncs),
      diskBytes: spent(({ size }) => size),
    },
    loopDelayP99: Math.max(...after.map(({ loopDelayP99 }) => loopDelayP99)),
    memory: sum(after.map(({ memory }) => memory)),
  }
}
