/** A real PgBouncer in front of a PostgreSQL server, for tests: on a free loopback port, in transaction mode unless a setting says otherwise. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import postgres from "postgres"
import { accountForServers, end, freePort, guardFolder, hasEnded } from "./own-servers.ts"

export type PgBouncer = {
  /** The URL of a database of the server, through the pooler. */
  readonly through: (url: string) => string
  /** Leads to another server from now on; connections to the one before are closed after their transaction. */
  readonly leadTo: (server: string) => Promise<void>
  readonly stop: () => Promise<void>
}

export type PgBouncerOptions = {
  /** URL of the server behind it; the databases keep their names. */
  readonly server: string
  /** Settings of PgBouncer, beyond those that a test needs. */
  readonly settings?: Readonly<Record<string, string>>
}

const PROGRAM = "pgbouncer"
const START_DEADLINE_MS = 30_000
const POLL_MS = 50
/** The account of its console, that has it read its file again. */
const ADMIN = "console"

/** Why this machine cannot start one; undefined when it can. */
export function pgBouncerAbsence(): string | undefined {
  if (spawnSync(PROGRAM, ["--version"]).error !== undefined) return "no pgbouncer on this machine"
  return accountForServers() === "none" ? "PgBouncer does not run as root and there is no other account" : undefined
}

/** Starts one. */
export async function startPgBouncer({ server, settings = {} }: PgBouncerOptions): Promise<PgBouncer> {
  const account = accountForServers()
  if (account === "none") throw new Error("no account for PgBouncer")
  const folder = mkdtempSync(join(tmpdir(), "runseal-pgbouncer-"))
  const release = guardFolder(folder)
  if (account !== undefined) chownSync(folder, account.uid, account.gid)
  const port = await freePort()
  const file = join(folder, "pgbouncer.ini")
  const fixed = {
    listen_addr: "127.0.0.1",
    listen_port: `${port}`,
    unix_socket_dir: "",
    auth_type: "any",
    admin_users: ADMIN,
    pidfile: join(folder, "pgbouncer.pid"),
    pool_mode: "transaction",
  }
  const write = (target: string): void => {
    const { hostname, port: at, username } = new URL(target)
    const lines = Object.entries({ ...fixed, ...settings }).map(([name, value]) => `${name} = ${value}`)
    const databases = ["[databases]", `* = host=${hostname} port=${at} user=${username}`]
    writeFileSync(file, [...databases, "[pgbouncer]", ...lines, ""].join("\n"))
  }
  write(server)
  const child = spawn(PROGRAM, [file], { ...account, cwd: folder, stdio: "ignore" })
  const consoleUrl = `postgres://${ADMIN}@127.0.0.1:${port}/pgbouncer`
  await untilReady(consoleUrl, child)
  return {
    through: url => Object.assign(new URL(url), { hostname: "127.0.0.1", port: `${port}` }).href,
    leadTo: async target => {
      write(target)
      await tell(consoleUrl, "RELOAD")
    },
    stop: async () => {
      await end(child, "SIGTERM")
      release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Sends a command to the console, which knows no parameters and no types. */
async function tell(consoleUrl: string, command: string): Promise<void> {
  const sql = postgres(consoleUrl, {
    max: 1,
    connect_timeout: 1,
    fetch_types: false,
    prepare: false,
    onnotice: () => {},
  })
  try {
    await sql.unsafe(command)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function untilReady(consoleUrl: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  while (Date.now() < deadline) {
    if (hasEnded(child)) throw new Error(`pgbouncer ended with status ${child.exitCode}`)
    const ready = await tell(consoleUrl, "SHOW VERSION").then(
      () => true,
      () => false,
    )
    if (ready) return
    await setTimeout(POLL_MS)
  }
  throw new Error("pgbouncer did not accept connections in time")
}
