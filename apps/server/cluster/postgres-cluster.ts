/** A real PostgreSQL cluster for tests and benches: in a folder of its own, on a free loopback port, with fsync on. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { chownSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import postgres from "postgres"
import { type Account, accountForServers, end, executable, freePort, guardFolder, hasEnded } from "./own-servers.ts"

export type PostgresCluster = {
  /** Where a client connects: user "runseal", trusted from loopback, database "postgres". */
  readonly url: string
  /** Folder of PostgreSQL's own programs, such as pg_dump. */
  readonly programs: string
  /** Makes an empty database and gives its URL. */
  readonly createDatabase: (name: string) => Promise<string>
  /** Stops the server as a crash would: what no standby has is on this disk only. */
  readonly crash: () => Promise<void>
  /** Stops the server as a crash would and starts it again on the same files. */
  readonly crashAndRestart: () => Promise<void>
  /** Whether the server has not ended by itself. */
  readonly running: () => boolean
  /** Process id of the server. */
  readonly pid: () => number
  /** Makes a standby that streams from this one, and starts it. Its name is that by which it may be named synchronous. */
  readonly addStandby: (name: string) => Promise<PostgresStandby>
  readonly stop: () => Promise<void>
}

export type PostgresStandby = {
  readonly url: string
  /** Ends it as a crash would. */
  readonly crash: () => Promise<void>
  readonly start: () => Promise<void>
  /** Makes it a primary. */
  readonly promote: () => Promise<void>
}

export type ClusterStart =
  | { readonly kind: "started"; readonly cluster: PostgresCluster }
  | { readonly kind: "absent"; readonly reason: string }

export type ClusterOptions = { readonly parent?: string; readonly settings?: Readonly<Record<string, string>> }

/** A user whom the server asks for a password. */
export const GUARDED_USER = "guarded"

/** After a crash all files are synced first, which takes its time on a busy disk. */
const START_DEADLINE_MS = 120_000
const POLL_MS = 50

/**
 * Starts a cluster, or says why this machine cannot. Anything but missing programs rejects: that is a fault, no absence.
 * @param parent folder in which the cluster has its own
 * @param settings of PostgreSQL, beyond its own
 */
export async function startPostgresCluster({
  parent = tmpdir(),
  settings = {},
}: ClusterOptions = {}): Promise<ClusterStart> {
  const programs = findPostgres()
  if ("absent" in programs) return { kind: "absent", reason: programs.absent }
  const { bin, account } = programs
  const folder = mkdtempSync(join(parent, "runseal-postgres-"))
  const release = guardFolder(folder)
  if (account !== undefined) chownSync(folder, account.uid, account.gid)
  const data = join(folder, "data")
  const initdb = ["-D", data, "-U", "runseal", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
  const made = spawnSync(join(bin, "initdb"), initdb, { ...account, cwd: folder, encoding: "utf8" })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const access = join(data, "pg_hba.conf")
  writeFileSync(access, `host all ${GUARDED_USER} 127.0.0.1/32 scram-sha-256\n${readFileSync(access, "utf8")}`)
  return { kind: "started", cluster: await runCluster({ bin, folder, account, settings }, data, release) }
}

/** Folder with PostgreSQL's programs, and the account that runs them; undefined: that of this process. */
export type PostgresPrograms = { readonly bin: string; readonly account: Account | undefined }

/** Finds PostgreSQL, or the reason why this machine cannot run it. */
export function findPostgres(): PostgresPrograms | { readonly absent: string } {
  const bin = findBinaries()
  if (bin === undefined) return { absent: "no initdb and postgres on this machine" }
  const account = accountForServers()
  return account === "none"
    ? { absent: "PostgreSQL does not run as root and there is no other account" }
    : { bin, account }
}

/** Where a cluster's programs and files are, and who runs them. */
type Place = PostgresPrograms & {
  readonly folder: string
  readonly settings: Readonly<Record<string, string>>
}

async function startServer(place: Place, data: string, port: number): Promise<ChildProcess> {
  const { bin, folder, account } = place
  const settings = { ...place.settings, listen_addresses: "127.0.0.1", unix_socket_directories: folder }
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const server = spawn(join(bin, "postgres"), ["-D", data, "-p", String(port), ...options], {
    ...account,
    cwd: folder,
    stdio: "ignore",
  })
  await untilReady(urlAt(port), server)
  return server
}

const urlAt = (port: number): string => `postgres://runseal@127.0.0.1:${port}/postgres`

type Standby = PostgresStandby & { readonly stop: () => Promise<void> }

async function makeStandby(place: Place, primary: number, name: string): Promise<Standby> {
  const { bin, folder, account } = place
  const data = join(folder, name)
  const from = `host=127.0.0.1 port=${primary} user=runseal application_name=${name}`
  const copied = ["-D", data, "-d", from, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
  const made = spawnSync(join(bin, "pg_basebackup"), copied, { ...account, cwd: folder, encoding: "utf8" })
  if (made.status !== 0) throw new Error(`pg_basebackup failed: ${made.stderr}`)
  const port = await freePort()
  let server = await startServer(place, data, port)
  return {
    url: urlAt(port),
    crash: () => end(server, "SIGQUIT"),
    start: async () => {
      server = await startServer(place, data, port)
    },
    promote: async () => {
      const sql = postgres(urlAt(port), { max: 1 })
      await sql`select pg_promote()`.finally(() => sql.end())
    },
    stop: () => end(server, "SIGINT"),
  }
}

async function runCluster(place: Place, data: string, release: () => void): Promise<PostgresCluster> {
  const { bin, folder } = place
  const port = await freePort()
  const url = urlAt(port)
  const start = (): Promise<ChildProcess> => startServer(place, data, port)
  const standbys: Standby[] = []
  let server = await start()
  return {
    url,
    programs: bin,
    createDatabase: async name => {
      const sql = postgres(url, { max: 1 })
      await sql`create database ${sql(name)}`.finally(() => sql.end())
      return `postgres://runseal@127.0.0.1:${port}/${name}`
    },
    crash: () => end(server, "SIGQUIT"),
    crashAndRestart: async () => {
      // SIGQUIT: PostgreSQL's immediate shutdown, without a checkpoint.
      await end(server, "SIGQUIT")
      server = await start()
    },
    running: () => !hasEnded(server),
    pid: () => server.pid ?? 0,
    addStandby: async name => {
      const standby = await makeStandby(place, port, name)
      standbys.push(standby)
      return standby
    },
    stop: async () => {
      for (const standby of standbys) await standby.stop()
      await end(server, "SIGINT")
      release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  while (Date.now() < deadline) {
    if (server.exitCode !== null) throw new Error(`postgres ended with status ${server.exitCode}`)
    const sql = postgres(url, { max: 1, connect_timeout: 1 })
    const ready = await sql`select 1`.then(
      () => true,
      () => false,
    )
    await sql.end()
    if (ready) return
    await setTimeout(POLL_MS)
  }
  throw new Error("postgres did not accept connections in time")
}

function findBinaries(): string | undefined {
  const debian = "/usr/lib/postgresql"
  const versions = listing(debian).sort((a, b) => Number(b) - Number(a))
  const configured = spawnSync("pg_config", ["--bindir"], { encoding: "utf8" }).stdout?.trim() ?? ""
  const candidates = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.map(version => join(debian, version, "bin")),
    configured,
  ]
  const found = candidates.find(
    folder => folder !== "" && executable(join(folder, "initdb")) && executable(join(folder, "postgres")),
  )
  // What was found may be links to the folder with all programs.
  return found === undefined ? undefined : dirname(realpathSync(join(found, "postgres")))
}

function listing(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
