/** A PostgreSQL of the bench's own, and its counters. */
import { readdirSync, readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { type PostgresCluster, startPostgresCluster } from "@runseal/server/postgres-cluster"
import postgres from "postgres"

/** What a database server has used since its start. */
export type DatabaseLook = {
  /** Processor time of the server and all its processes, microseconds; undefined where the system does not count it. */
  readonly micros: number | undefined
  readonly walBytes: number
  readonly walSyncs: number
  /** Bytes of the database. */
  readonly size: number
}

export type DatabaseServer = {
  /** As `server_version` states it. */
  readonly version: string
  readonly createDatabase: PostgresCluster["createDatabase"]
  readonly look: (databaseUrl: string) => Promise<DatabaseLook>
  /** Watches the lock of the log's head until the function that it gives is called, which gives the share of the time in which it was held. */
  readonly watchLock: (databaseUrl: string) => Promise<() => Promise<number>>
  /** Bytes of a stored bundle, the mean over all. */
  readonly meanStored: (databaseUrl: string) => Promise<number>
  readonly stop: () => Promise<void>
}

/** Starts one, or gives the reason why this machine cannot. */
export async function startDatabaseServer(): Promise<DatabaseServer | { readonly absent: string }> {
  const start = await startPostgresCluster()
  if (start.kind === "absent") return { absent: start.reason }
  const { cluster } = start
  const version = await withClient(cluster.url, async sql => {
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
    return row?.version ?? "of unknown version"
  })
  return {
    version,
    createDatabase: cluster.createDatabase,
    look: url => lookAt(url, cluster.pid()),
    watchLock,
    meanStored: url =>
      withClient(url, async sql => {
        const [row] = await sql<
          { bytes: string }[]
        >`select avg(octet_length(packed))::text as bytes from document where kind = 'bundle'`
        return Number(row?.bytes)
      }),
    stop: cluster.stop,
  }
}

const withClient = async <T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
  const sql = postgres(url, { max: 1 })
  return work(sql).finally(() => sql.end())
}

/** How often the lock is looked for, in milliseconds: some hundred samples a second, each of which costs the server some 0.1 ms. */
const LOCK_SAMPLE_MS = 7

/**
 * Who locks the head's row holds a lock of its table until the transaction ends, and who waits for the row holds one too: so does somebody hold
 * the row whenever anybody has it. PostgreSQL documentation, "Explicit Locking".
 */
async function watchLock(url: string): Promise<() => Promise<number>> {
  const sql = postgres(url, { max: 1 })
  let [samples, held, isOver] = [0, 0, false]
  const sampling = (async () => {
    while (!isOver) {
      const [found] = await sql<{ held: boolean }[]>`
        select exists (select from pg_locks where relation = 'log_head'::regclass and mode = 'RowShareLock') as held`
      samples++
      if (found?.held === true) held++
      await setTimeout(LOCK_SAMPLE_MS)
    }
  })()
  return async () => {
    isOver = true
    await sampling.finally(() => sql.end())
    return held / samples
  }
}

/** PostgreSQL 18 counts syncs of the WAL in pg_stat_io, those before it in pg_stat_wal. */
const SYNCS_MOVED_IN = 180_000

/** @param pid of the server, whose child processes are counted with it; 0: its processor time is unknown */
export const lookAt = (url: string, pid: number): Promise<DatabaseLook> =>
  withClient(url, async sql => {
    const [facts] = await sql<{ bytes: string; size: string; version: number }[]>`
      select wal_bytes::text as bytes, pg_database_size(current_database())::text as size,
        current_setting('server_version_num')::int as version from pg_stat_wal`
    if (facts === undefined) throw new Error("PostgreSQL keeps its statistics")
    const [syncs] =
      facts.version >= SYNCS_MOVED_IN
        ? await sql<
            { syncs: string }[]
          >`select coalesce(sum(fsyncs), 0)::text as syncs from pg_stat_io where object = 'wal'`
        : await sql<{ syncs: string }[]>`select wal_sync::text as syncs from pg_stat_wal`
    return {
      micros: pid === 0 ? undefined : processorMicros(pid),
      walBytes: Number(facts.bytes),
      walSyncs: Number(syncs?.syncs ?? Number.NaN),
      size: Number(facts.size),
    }
  })

/** Linux counts processor time in hundredths of a second, whatever the kernel's own tick is. proc(5). */
const MICROS_PER_TICK = 10_000

/** Processor time of a process, its children and those that have ended. */
export function processorMicros(parent: number): number | undefined {
  try {
    const all = readdirSync("/proc")
      .filter(name => /^\d+$/.test(name))
      .flatMap(statOf)
    return all
      .filter(({ pid, ppid }) => pid === parent || ppid === parent)
      .reduce((sum, { pid, own, reaped }) => sum + own + (pid === parent ? reaped : 0), 0)
  } catch {
    return undefined
  }
}

type Stat = { readonly pid: number; readonly ppid: number; readonly own: number; readonly reaped: number }

function statOf(pid: string): readonly Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name in parentheses may contain any character; only numbers follow it.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const ticks = (first: number): number => Number(fields[first]) + Number(fields[first + 1])
    return [
      {
        pid: Number(pid),
        ppid: Number(fields[1]),
        own: ticks(11) * MICROS_PER_TICK,
        reaped: ticks(13) * MICROS_PER_TICK,
      },
    ]
  } catch {
    // The process has ended meanwhile.
    return []
  }
}
