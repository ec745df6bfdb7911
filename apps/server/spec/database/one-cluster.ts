/**
 * The one PostgreSQL cluster of a run, for every suite of a project: started before its first, with an empty, migrated database to copy.
 * Suites that crash, stop or set a cluster start one of their own.
 */
import type { TestProject } from "vitest/node"
import { pgBouncerAbsence, startPgBouncer } from "../../cluster/pgbouncer.ts"
import { startPostgresCluster } from "../../cluster/postgres-cluster.ts"
import { openDatabase } from "../../src/store/driver/database.ts"

/** What a suite knows of the cluster. */
export type RunCluster =
  | { readonly kind: "absent"; readonly reason: string }
  /** `url` leads to the database "postgres", `programs` to the folder of PostgreSQL's own programs. */
  | { readonly kind: "started"; readonly url: string; readonly programs: string }

/** The PgBouncer in front of it, in transaction mode: `url` leads through it to the database "postgres". */
export type RunPooler =
  | { readonly kind: "absent"; readonly reason: string }
  | { readonly kind: "started"; readonly url: string }

declare module "vitest" {
  interface ProvidedContext {
    postgres: RunCluster
    pooler: RunPooler
  }
}

/** Name of the migrated database. */
export const TEMPLATE = "runseal_template"

/** Every service of every suite that runs at a time, with eight connections each. */
const MAX_CONNECTIONS = 500

/** Few connections for each of the many databases, so that transactions change them, and none for long. */
const POOLER_SETTINGS = { default_pool_size: "3", server_idle_timeout: "5", max_client_conn: "4000" }

let stop: (() => Promise<void>) | undefined

/** Called by the runner before the first suite of a project. */
export async function setup({ provide }: TestProject): Promise<void> {
  const start = await startPostgresCluster({ settings: { max_connections: `${MAX_CONNECTIONS}` } })
  if (start.kind === "absent") {
    provide("postgres", start)
    provide("pooler", start)
    return
  }
  const { url, programs, createDatabase } = start.cluster
  const template = await openDatabase({ kind: "postgres", url: await createDatabase(TEMPLATE) })
  await template.close()
  provide("postgres", { kind: "started", url, programs })
  const absence = pgBouncerAbsence()
  const pooler = absence === undefined ? await startPgBouncer({ server: url, settings: POOLER_SETTINGS }) : undefined
  provide(
    "pooler",
    pooler === undefined ? { kind: "absent", reason: absence ?? "" } : { kind: "started", url: pooler.through(url) },
  )
  stop = async () => {
    await pooler?.stop()
    await start.cluster.stop()
  }
}

/** Called by the runner after the last. */
export async function teardown(): Promise<void> {
  await stop?.()
}
