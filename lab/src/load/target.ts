/** The database that is loaded: a given one, or a PostgreSQL of the load's own, which is removed at the end. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import postgres from "postgres"
import { type DatabaseLook, lookAt, startDatabaseServer } from "../bench/servers/database-server.ts"

export type Target = {
  readonly url: string
  /** Folder of the signing keys and of the callers' secrets. */
  readonly folder: string
  /** PostgreSQL's `server_version`. */
  readonly version: string
  /** An empty database beside it, with a folder of its own. */
  readonly empty: () => Promise<{ readonly url: string; readonly folder: string }>
  /** The server's usage; its processor time only when it runs on this machine. */
  readonly look: (url: string) => Promise<DatabaseLook>
  readonly remove: () => Promise<void>
}

/** Runs one statement. */
export async function ask<Row extends object>(url: string, text: string): Promise<readonly Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe<Row[]>(text)
  } finally {
    await sql.end()
  }
}

/** Switches syncs off for the load, and on again: rows of a load that a crash loses are loaded again. */
export async function setDurable(url: string, on: boolean): Promise<void> {
  const switched = on ? "on" : "off"
  await ask(url, `alter system set fsync = ${switched}`)
  await ask(url, `alter system set max_wal_size = '${on ? "1GB" : "8GB"}'`)
  await ask(url, "select pg_reload_conf()")
  if (on) await ask(url, "checkpoint")
}

/** The pid of the PostgreSQL server at a URL of this machine, the parent of its backends; 0 when it runs elsewhere. */
async function serverAt(url: string): Promise<number> {
  if (!["127.0.0.1", "localhost"].includes(new URL(url).hostname)) return 0
  const sql = postgres(url, { max: 1 })
  try {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const stat = readFileSync(`/proc/${row?.pid}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
  } catch {
    return 0
  } finally {
    await sql.end()
  }
}

/** A given database and folder. They are not removed, only the empty database beside them is. */
export async function givenTarget(url: string, folder: string): Promise<Target> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [row] = await ask<{ version: string }>(url, "select current_setting('server_version') as version")
  const scratch = mkdtempSync(join(tmpdir(), "runseal-load-"))
  const name = "runseal_load_empty"
  const beside = new URL(url)
  beside.pathname = `/${name}`
  const server = await serverAt(url)
  const drop = () => ask(url, `drop database if exists ${name} with (force)`)
  return {
    url,
    folder,
    version: row?.version ?? "of unknown version",
    empty: async () => {
      await drop()
      await ask(url, `create database ${name}`)
      return { url: beside.href, folder: scratch }
    },
    look: at => lookAt(at, server),
    remove: async () => {
      await drop()
      rmSync(scratch, { recursive: true, force: true })
    },
  }
}

/** A PostgreSQL of its own. @throws Error when this machine has none */
export async function ownTarget(): Promise<Target> {
  const server = await startDatabaseServer()
  if ("absent" in server) throw new Error(`${server.absent}: give a database with --database`)
  const folder = mkdtempSync(join(tmpdir(), "runseal-load-"))
  const scratch = mkdtempSync(join(tmpdir(), "runseal-load-"))
  return {
    url: await server.createDatabase("loaded"),
    folder,
    version: server.version,
    empty: async () => ({ url: await server.createDatabase("empty"), folder: scratch }),
    look: server.look,
    remove: async () => {
      await server.stop()
      for (const made of [folder, scratch]) rmSync(made, { recursive: true, force: true })
    },
  }
}
