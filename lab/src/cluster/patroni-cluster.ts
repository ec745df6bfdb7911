/**
 * A Patroni cluster as docs/deployment.md describes it, on loopback and free ports, in a folder of its own: one etcd, three members with
 * synchronous replication, and an address that follows the leader. Everything ends with the process that started it, however that ends.
 */
import { spawn } from "node:child_process"
import { chownSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import postgres from "postgres"
import { end, freePort, guardFolder } from "../../../apps/server/cluster/own-servers.ts"
import { runOn } from "../../../apps/server/spec/database/standby.ts"
import { openSwitchingProxy, type SwitchingProxy } from "../../../apps/server/spec/database/switching-proxy.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { ClusterPrograms } from "./cluster-programs.ts"
import { type Member, startMember } from "./patroni-member.ts"

const MEMBERS = ["member_1", "member_2", "member_3"]
/** Each member copies the first one's files, on a machine that is busy. */
const START_DEADLINE_MS = 180_000
/** Within it a member that lost its place has rewound its files, or copied them anew, and streams again. */
const WHOLE_DEADLINE_MS = 180_000
/** How often the leader is looked for, and how long a member may take to say whether it is; as an HAProxy before Patroni would. */
const CHECK_MS = 500
const CHECK_TIMEOUT_MS = 1000
/** After how many checks in a row without a leader the address leads nowhere: on a busy machine one check may come too late. */
const FALL = 3

export type PatroniCluster = {
  /** Folder of the cluster, which is removed with it. */
  readonly folder: string
  readonly members: readonly Member[]
  /** Makes an empty database. Its URL leads to the leader, whichever member that is: connections are cut when it changes. */
  readonly createDatabase: (name: string) => Promise<string>
  /** The URL of a database with the hosts of all members, for a client that finds the one that takes writes. */
  readonly severalHosts: (name: string) => string
  /** The URL of a database on one member that is a standby now. */
  readonly standbyUrl: (name: string) => Promise<string>
  /** The member that Patroni says is the leader; undefined while none does. */
  readonly leader: () => Promise<Member | undefined>
  /** Waits until both other members run and stream from the leader, one of them synchronously and known to etcd as such. Gives the leader. */
  readonly untilWhole: () => Promise<Member>
  readonly stop: () => Promise<void>
}

async function startEtcd(
  programs: ClusterPrograms,
  folder: string,
): Promise<{ url: string; end: () => Promise<void> }> {
  const url = `http://127.0.0.1:${await freePort()}`
  const peer = `http://127.0.0.1:${await freePort()}`
  const log = openSync(join(folder, "etcd.log"), "a")
  const args = [
    ...["--name", "etcd", "--data-dir", join(folder, "etcd")],
    ...["--listen-client-urls", url, "--advertise-client-urls", url],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `etcd=${peer}`],
  ]
  const env = { PATH: "/usr/bin:/bin", HOME: folder }
  const etcd = spawn(programs.etcd, args, {
    ...programs.account,
    cwd: folder,
    env,
    stdio: ["ignore", log, log],
  })
  closeSync(log)
  writeFileSync(join(folder, "etcd.supervisor"), `${etcd.pid}\n`)
  await until("etcd answers", () => isOk(`${url}/health`), START_DEADLINE_MS)
  return { url, end: () => end(etcd, "SIGKILL") }
}

/** Whether the whole answer comes in time: a member may be suspended in the middle of it. */
const isOk = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) })
    .then(async answer => {
      await answer.arrayBuffer()
      return answer.ok
    })
    .catch(() => false)

/** Asks all members at once, as a load balancer's health check does. */
async function findLeader(members: readonly Member[]): Promise<Member | undefined> {
  const answers = await Promise.all(members.map(member => isOk(new URL("/primary", member.rest).href)))
  return members.find((_, at) => answers[at])
}

/** Keeps the address on the leader until it is stopped. While there is none, connections are refused. */
function followLeader(members: readonly Member[], front: SwitchingProxy): () => Promise<void> {
  let stopped = false
  const follow = async (): Promise<void> => {
    let [current, misses]: [Member | undefined, number] = [undefined, 0]
    while (!stopped) {
      const found = await findLeader(members)
      misses = found === undefined ? misses + 1 : 0
      const leader: Member | undefined = found ?? (misses < FALL ? current : undefined)
      if (leader !== current) front.switchTo(leader?.url)
      current = leader
      await sleep(CHECK_MS)
    }
  }
  const following = follow()
  return () => {
    stopped = true
    return following
  }
}

async function isWhole(leader: Member, members: readonly Member[]): Promise<boolean> {
  const rows = await runOn<{ state: string; sync_state: string }>(
    leader.directUrl,
    "select state, sync_state from pg_stat_replication where application_name like 'member%'",
  ).catch(() => [])
  const streaming = rows.filter(({ state }) => state === "streaming")
  if (streaming.length < members.length - 1 || !streaming.some(({ sync_state }) => sync_state === "sync")) return false
  const say = (path: string, asked: readonly Member[]): Promise<boolean[]> =>
    Promise.all(asked.map(({ rest }) => isOk(new URL(path, rest).href)))
  // A member that streams may still need records of the leader before it can start, and would be none without it.
  const standbys = await say(
    "/replica",
    members.filter(member => member !== leader),
  )
  // Patroni promotes only a member that etcd names as synchronous.
  return standbys.every(yes => yes) && (await say("/synchronous", members)).some(yes => yes)
}

/** Starts the cluster. */
export async function startPatroniCluster(programs: ClusterPrograms): Promise<PatroniCluster> {
  const { account } = programs
  const folder = mkdtempSync(join(tmpdir(), "runseal-cluster-"))
  const release = guardFolder(folder)
  if (account !== undefined) chownSync(folder, account.uid, account.gid)
  const etcd = await startEtcd(programs, folder)
  const members: Member[] = []
  const leader = (): Promise<Member | undefined> => findLeader(members)
  for (const name of MEMBERS) {
    members.push(await startMember({ programs, folder, etcd: etcd.url }, name))
    // The first makes the cluster; the others copy it.
    await until("the cluster has a leader", leader, START_DEADLINE_MS)
  }
  const untilWhole = async (): Promise<Member> =>
    until(
      "both standbys stream, one of them synchronously",
      async () => {
        const found = await leader()
        return found !== undefined && (await isWhole(found, members)) ? found : undefined
      },
      WHOLE_DEADLINE_MS,
    )
  const first = await untilWhole()
  const front = await openSwitchingProxy(first.url)
  const stopFollowing = followLeader(members, front)
  return {
    folder,
    members,
    createDatabase: async name => {
      const sql = postgres((await untilWhole()).directUrl, { max: 1 })
      await sql`create database ${sql(name)}`.finally(() => sql.end())
      return Object.assign(new URL(front.url), { pathname: `/${name}` }).href
    },
    severalHosts: name =>
      `postgres://runseal@${members.map(({ url }) => new URL(url).host).join()}/${name}?target_session_attrs=read-write`,
    standbyUrl: async name => {
      const primary = await untilWhole()
      const standby = members.find(member => member !== primary)
      if (standby === undefined) throw new Error("a cluster has several members")
      return Object.assign(new URL(standby.url), { pathname: `/${name}` }).href
    },
    leader,
    untilWhole,
    stop: async () => {
      await stopFollowing()
      front.close()
      for (const member of members) await member.end()
      await etcd.end()
      release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
