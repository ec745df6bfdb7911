/**
 * One member of a Patroni cluster: Patroni, its PostgreSQL, and the three ways to reach it, each through a relay that can be
 * cut. It never has a name by which another process would be ended: every signal goes to an id that this file started or read.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { end, freePort } from "../../../apps/server/cluster/own-servers.ts"
import { openSwitchingProxy, type SwitchingProxy } from "../../../apps/server/spec/database/switching-proxy.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { ClusterPrograms } from "./cluster-programs.ts"

export type Member = {
  readonly name: string
  /** Its PostgreSQL as servers and standbys reach it, database "postgres". */
  readonly url: string
  /** Its PostgreSQL past the relay. */
  readonly directUrl: string
  /** Patroni's REST address, through its relay. */
  readonly rest: string
  /** Ends PostgreSQL's main process by SIGKILL; Patroni goes on. */
  readonly killPostgres: () => Promise<void>
  /** Suspends Patroni alone (SIGSTOP): its PostgreSQL goes on, and its lease is not renewed. */
  readonly suspend: () => void
  readonly resume: () => void
  /** Cuts its ports and its way to etcd: nothing is refused, nothing arrives. */
  readonly isolate: () => void
  readonly reconnect: () => void
  /** Ends Patroni as an operator does, which ends its PostgreSQL. */
  readonly stop: () => Promise<void>
  readonly start: () => void
  /** Ends both at once and closes the relays. */
  readonly end: () => Promise<void>
}

export type Place = { readonly programs: ClusterPrograms; readonly folder: string; readonly etcd: string }

/** The first line of postmaster.pid; undefined while there is none. */
function postmasterPid(data: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function endPostgres(data: string, signal: NodeJS.Signals): Promise<void> {
  const pid = postmasterPid(data)
  if (pid === undefined || !lives(pid)) return
  process.kill(pid, signal)
  await until("PostgreSQL has ended", () => !lives(pid))
}

function startPatroni({ programs, folder }: Place, name: string, settings: string): ChildProcess {
  const log = openSync(join(folder, `${name}.log`), "a")
  const { account, patroni } = programs
  // Patroni needs little of an environment; what configures it there would be another's.
  const env = { PATH: `${programs.bin}:/usr/bin:/bin`, HOME: folder, LC_ALL: "C.UTF-8" }
  const child = spawn(patroni, [settings], { ...account, cwd: folder, env, stdio: ["ignore", log, log] })
  closeSync(log)
  writeFileSync(join(folder, `${name}.supervisor`), `${child.pid}\n`)
  return child
}

/** Starts a member that joins the cluster, or makes it when it is the first. */
export async function startMember(place: Place, name: string): Promise<Member> {
  const { folder, programs, etcd } = place
  const [port, restPort] = [await freePort(), await freePort()]
  const directUrl = `postgres://runseal@127.0.0.1:${port}/postgres`
  const [database, rest, lease] = [
    await openSwitchingProxy(directUrl),
    await openSwitchingProxy(`http://127.0.0.1:${restPort}`),
    await openSwitchingProxy(etcd),
  ]
  const ways: readonly (readonly [SwitchingProxy, string])[] = [
    [database, directUrl],
    [rest, `http://127.0.0.1:${restPort}`],
    [lease, etcd],
  ]
  const data = join(folder, name)
  const settings = join(folder, `${name}.yml`)
  const ports = { database: port, rest: restPort }
  const relays = { database: new URL(database.url).port, rest: new URL(rest.url).port, etcd: new URL(lease.url).port }
  // YAML contains JSON.
  writeFileSync(settings, JSON.stringify(patroniSettings({ name, folder, data, bin: programs.bin, ports, relays })))
  let patroni = startPatroni(place, name, settings)
  return {
    name,
    url: database.url,
    directUrl,
    rest: rest.url,
    killPostgres: () => endPostgres(data, "SIGKILL"),
    suspend: () => void patroni.kill("SIGSTOP"),
    resume: () => void patroni.kill("SIGCONT"),
    isolate: () => {
      for (const [way] of ways) way.hold()
    },
    reconnect: () => {
      for (const [way, target] of ways) way.switchTo(target)
    },
    stop: () => end(patroni, "SIGTERM"),
    start: () => {
      patroni = startPatroni(place, name, settings)
    },
    end: async () => {
      await end(patroni, "SIGKILL")
      await endPostgres(data, "SIGQUIT")
      for (const [way] of ways) way.close()
    },
  }
}

// Settings of a member, as docs/deployment.md gives them to an operator; names as in Patroni's documentation, "YAML Configuration Settings".

type MemberPlace = {
  readonly name: string
  /** For sockets and passwords. */
  readonly folder: string
  /** PostgreSQL's data folder. */
  readonly data: string
  readonly bin: string
  /** Where it listens. */
  readonly ports: { readonly database: number; readonly rest: number }
  /** Where others reach it, and where it reaches etcd. */
  readonly relays: { readonly database: string; readonly rest: string; readonly etcd: string }
}

/** Seconds without renewal after which a leader's lease ends. Patroni wants loop_wait + 2 × retry_timeout ≤ ttl. */
const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 5

/** Settings of the whole cluster, stored in etcd by the member that makes it. */
const CLUSTER = {
  ttl: TTL_SECONDS,
  loop_wait: LOOP_SECONDS,
  retry_timeout: RETRY_SECONDS,
  // A primary that crashed is not started again where a standby can take its place.
  primary_start_timeout: 0,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  postgresql: { use_pg_rewind: true, parameters: { synchronous_commit: "on", max_connections: 60 } },
}

const patroniSettings = ({ name, folder, data, bin, ports, relays }: MemberPlace): object => ({
  scope: "runseal",
  name,
  restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: `127.0.0.1:${relays.rest}` },
  // Without use_proxies Patroni would learn etcd's own address and go past the relay.
  etcd3: { host: `127.0.0.1:${relays.etcd}`, use_proxies: true },
  bootstrap: { dcs: CLUSTER, initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums", "no-sync"] },
  postgresql: {
    listen: `127.0.0.1:${ports.database}`,
    connect_address: `127.0.0.1:${relays.database}`,
    data_dir: data,
    bin_dir: bin,
    pgpass: `${folder}/${name}.pgpass`,
    authentication: { superuser: { username: "runseal" }, replication: { username: "replicator" } },
    // Loopback, and a cluster that lives for minutes: nobody needs a password.
    pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
    parameters: { unix_socket_directories: folder },
  },
  tags: {},
})
