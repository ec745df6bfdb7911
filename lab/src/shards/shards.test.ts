/**
 * docs/scale.md, "Whole deployments side by side": two of them behind a real nginx. Every key reaches its own log, what has no key is refused
 * where the host name is shared, each export verifies with its own keys alone, and one that is killed does not touch the other.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { freePort } from "../../../apps/server/cluster/own-servers.ts"
import { type Child, endStrays, runToEnd, startChild } from "../../../apps/server/spec/harness/child.ts"
import { CUSTOMER, caller, type Holder, mint } from "../../../apps/server/spec/harness/key-holders.ts"
import { expectRefused, numberAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { opensslIsThere } from "../../../apps/server/spec/harness/stream-receiver.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { runVerifier, type Verification } from "../../../apps/server/spec/harness/verifier.ts"
import { findProgram } from "../cluster/cluster-programs.ts"
import { HOSTS, type Nginx, startNginx } from "./nginx.ts"

const SHARDS = ["eu1", "us1"] as const
type Shard = (typeof SHARDS)[number]
const other = (shard: Shard): Shard => (shard === "eu1" ? "us1" : "eu1")

/** Requests whose median is measured. */
const MEASURED = 30
/** What a busy machine may add to a median between two measurements, in milliseconds and as a factor. */
const SLOWNESS = { ms: 250, times: 4 }
/** Longest that the refusal of a deployment that is down may take; nginx gives up a connection after 3 s. */
const REFUSED_WITHIN_MS = 5000

const nginxProgram = findProgram("nginx")
const isHere = nginxProgram !== undefined && opensslIsThere
const where = isHere ? "nginx" : "nginx (not present: nginx or openssl)"

const folder = mkdtempSync(join(tmpdir(), "runseal-shards-"))
const ports = { eu1: 0, us1: 0 }
const servers: { [shard in Shard]?: Child } = {}
/** The administrator of each, as it is reached by the host name of its deployment. */
const admins: { [shard in Shard]?: Holder } = {}
const customers: { [shard in Shard]?: Holder } = {}
let front: Nginx | undefined

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the deployments were not started")
  return value
}
const nginx = (): Nginx => there(front)
/** The holder of a secret at a host name. */
const through = (host: string, { secret }: Pick<Holder, "secret">): Holder => caller(nginx().at(host), secret)

const optionsOf = (shard: Shard): readonly string[] => [
  ...["--data-dir", join(folder, shard), "--log-origin", `${shard}.log.example`],
  ...["--key-prefix", shard, "--base-url", `https://${HOSTS[shard]}`, "--trust-proxy", "1"],
  ...["--peers", `${other(shard)}=https://${HOSTS[other(shard)]}`],
]

async function start(shard: Shard): Promise<void> {
  servers[shard] = await startChild([...optionsOf(shard), "--port", `${ports[shard]}`])
}

/** The secret of a first admin key. @param prefix absent: the key is made as before there was one */
async function firstSecret(shard: Shard, ...prefix: readonly string[]): Promise<string> {
  const { stdout } = await runToEnd([...optionsOf(shard).slice(0, 4), ...prefix, "--mint-admin-key", "ops"])
  return stdout.trim()
}

beforeAll(async () => {
  if (!isHere) return
  for (const shard of SHARDS) ports[shard] = await freePort()
  const secrets = { eu1: await firstSecret("eu1"), us1: await firstSecret("us1", "--key-prefix", "us1") }
  await Promise.all(SHARDS.map(start))
  front = await startNginx(there(nginxProgram), ports)
  for (const shard of SHARDS) {
    const admin = through(HOSTS[shard], { secret: secrets[shard] })
    admins[shard] = admin
    customers[shard] = await mint(nginx().at(HOSTS[shard]), CUSTOMER, admin)
    const trust = await caller(nginx().at(HOSTS[shard])).get("/.well-known/runseal-trust.json")
    writeFileSync(join(folder, `${shard}.json`), trust.text)
  }
})
afterAll(async () => {
  await front?.stop()
  await endStrays()
  rmSync(folder, { recursive: true, force: true })
})

/** The name of the log that a key reaches at a host name. */
const logOf = async (host: string, holder: Pick<Holder, "secret">): Promise<string | undefined> =>
  (await through(host, holder).get("/log/checkpoint")).text.split("/")[0]

const verify = (file: string, ...trust: readonly Shard[]): Promise<Verification> =>
  runVerifier(folder, [file, "--complete", ...trust.flatMap(shard => ["--trust", `${shard}.json`])])

/** The export of a customer, saved, and how many runs it has. */
async function saveExport(shard: Shard, host: string): Promise<{ readonly file: string; readonly runs: number }> {
  const { status, text } = await through(host, there(customers[shard])).get("/runs/export")
  expect(status, text.slice(0, 300)).toBe(200)
  const file = `${shard}.ndjson`
  writeFileSync(join(folder, file), text)
  return { file, runs: text.trimEnd().split("\n").length - 1 }
}

/** Median of the times of runs that are all sealed, one after the other, at the shared host name, in milliseconds. */
async function medianOfRuns(shard: Shard): Promise<number> {
  const holder = through(HOSTS.shared, there(customers[shard]))
  const times: number[] = []
  for (let at = 0; at < MEASURED; at++) {
    const since = performance.now()
    expect((await holder.execute(request())).status).toBe(200)
    times.push(performance.now() - since)
  }
  return times.toSorted((one, next) => one - next)[MEASURED / 2] ?? 0
}

describe.skipIf(!isHere)(where, () => {
  test("every key reaches its own log, by its own host name and by the shared one", async () => {
    expect(there(admins.eu1).secret).toMatch(/^rsk_[0-9a-f]{48}$/)
    for (const shard of SHARDS) {
      expect(there(customers[shard]).secret).toMatch(new RegExp(`^rsk_${shard}_[0-9a-f]{48}$`))
      for (const holder of [there(admins[shard]), there(customers[shard])])
        for (const host of [HOSTS[shard], HOSTS.shared]) {
          expect(await logOf(host, holder), host).toBe(`${shard}.log.example`)
          const run = await through(host, holder).execute(request())
          expect(run.status, run.text).toBe(200)
          const read = await through(HOSTS[shard], holder).get(`/runs/${numberAt(run.body, "run_id")}`)
          expect(read.status, "the run is in that log").toBe(200)
        }
    }
  })

  test("a key of the other deployment is refused by host name", async () => {
    for (const shard of SHARDS)
      expectRefused(await through(HOSTS[other(shard)], there(customers[shard])).get("/runs"), 401, "key_required")
  })

  test("at the shared host name a request without a key of a deployment is refused, and reaches none", async () => {
    const sizes = (): Promise<number[]> =>
      Promise.all(SHARDS.map(async shard => numberAt((await there(servers[shard]).get("/")).body, "log", "size")))
    const before = await sizes()
    const secrets = [undefined, "", "rsk_ap1_", `rsk_ap1_${"0".repeat(48)}`, `rsk_${"0".repeat(47)}`, "x rsk_eu1_"]
    for (const secret of secrets) {
      const stranger = caller(nginx().at(HOSTS.shared), secret)
      for (const path of ["/", "/.well-known/runseal-trust.json", "/log/checkpoint", "/console", "/health"]) {
        const { status, text } = await stranger.get(path)
        expect({ status, path }).toEqual({ status: 421, path })
        for (const shard of SHARDS) expect(text).toContain(`https://${HOSTS[shard]}`)
      }
      expect((await stranger.execute(request())).status).toBe(421)
    }
    expect(await sizes()).toEqual(before)
    expect((await caller(nginx().at(HOSTS.unknown)).get("/")).status).toBe(421)
  })

  test("an export verifies with the keys of its own deployment alone", async () => {
    for (const shard of SHARDS) {
      const { file, runs } = await saveExport(shard, HOSTS.shared)
      expect(runs).toBe(2)
      expect(await verify(file, shard)).toMatchObject({ exit: 0 })
      expect(await verify(file, other(shard))).toMatchObject({ exit: 1, stdout: expect.stringContaining("FAILED") })
      expect(await verify(file, ...SHARDS), "with both trust documents").toMatchObject({ exit: 0 })
    }
  })

  test("one that is killed does not touch the other, and comes back with its log", async () => {
    const quiet = await medianOfRuns("us1")
    const before = await saveExport("eu1", HOSTS.eu1)
    await there(servers.eu1).end("SIGKILL")
    for (const host of [HOSTS.eu1, HOSTS.shared]) {
      const since = performance.now()
      expect((await through(host, there(customers.eu1)).get("/runs")).status, host).toBe(502)
      expect(performance.now() - since).toBeLessThan(REFUSED_WITHIN_MS)
    }
    const meanwhile = await medianOfRuns("us1")
    expect(meanwhile, `${quiet} ms before`).toBeLessThan(quiet * SLOWNESS.times + SLOWNESS.ms)
    expect(await logOf(HOSTS.us1, there(customers.us1))).toBe("us1.log.example")
    await start("eu1")
    await until(
      "nginx reaches it again",
      async () => (await through(HOSTS.shared, there(customers.eu1)).get("/runs")).status === 200,
    )
    expect((await through(HOSTS.eu1, there(customers.eu1)).execute(request())).status).toBe(200)
    const after = await saveExport("eu1", HOSTS.shared)
    expect(after.runs).toBe(before.runs + 1)
    expect(await verify(after.file, "eu1")).toMatchObject({ exit: 0 })
  })

  test("nginx logs no key", () => {
    expect(nginx().accessLog()).toContain("/runs/export")
    expect(nginx().accessLog()).not.toContain("rsk_")
  })
})
