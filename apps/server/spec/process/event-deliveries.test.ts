/** Real servers that are killed and doubled while they deliver events: nothing is lost, and nothing is sent by two at the same time. */
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, startChild } from "../harness/child.ts"
import { startReceiver } from "../harness/event-receiver.ts"
import { at, listAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const TIMEOUT_MS = 300_000
/** What takes some seconds where nothing else goes on. */
const LARGE_DEADLINE_MS = 60_000
/** Longest wait of another request meanwhile: some 300 ms where nothing else goes on. */
const LONGEST_WAIT_MS = 4000
const folder = testFolder("runseal-events")

const ADMIN = { name: "ops", scope: "admin", confirm_admin_scope: true }
const LOCAL = ["--delivery-network", "127.0.0.1"]
/** Without the event of the destination itself, which an administrator made. */
const RUNS = ["run.sealed"]

async function adminKey(server: Child): Promise<Readonly<Record<string, string>>> {
  return { "x-service-key": textAt((await server.post("/admin/keys", ADMIN)).body, "secret") }
}
const untilPassed = (server: Child, key: Readonly<Record<string, string>>) =>
  until("everything is delivered", async () => {
    const response = await fetch(`${server.url}/admin/deliveries`, { headers: key })
    const deliveries = listAt(await response.json(), "deliveries")
    return deliveries.every(one => at(one, "backlog") === 0)
  })
const distinct = (positions: readonly number[]): readonly number[] => [...new Set(positions)]
const isRising = (positions: readonly number[]): boolean =>
  positions.every((position, at) => at === 0 || position > (positions[at - 1] ?? 0))

/** The positions as they came, each at its first coming. */
function expectAllInOrder(positions: readonly number[], runs: number): void {
  expect(distinct(positions)).toHaveLength(runs)
  expect(isRising(distinct(positions))).toBe(true)
}

test("a server that is killed in the middle of deliveries goes on with them, in order", {
  timeout: TIMEOUT_MS,
}, async () => {
  const receiver = await startReceiver()
  const options = ["--data-dir", join(folder, "killed"), ...LOCAL]
  let server = await startChild(options)
  const key = await adminKey(server)
  await server.post("/admin/destinations", { url: receiver.url, types: RUNS }, key)
  receiver.takeTime(15)
  const runs = 60
  for (let run = 0; run < runs; run++) await server.post("/execute", request(), key)
  for (let kill = 1; kill <= 2; kill++) {
    await until("deliveries are under way", () => distinct(receiver.positions()).length >= kill * 8)
    await server.end("SIGKILL")
    server = await startChild(options)
  }
  await untilPassed(server, key)
  expectAllInOrder(receiver.positions(), runs)
  await server.end("SIGTERM")
  await receiver.close()
})

test("a receiver that is away through thousands of runs gets them all in order", { timeout: TIMEOUT_MS }, async () => {
  const receiver = await startReceiver()
  const server = await startChild(["--data-dir", join(folder, "away"), ...LOCAL])
  const key = await adminKey(server)
  await server.post("/admin/destinations", { url: receiver.url, types: RUNS }, key)
  receiver.answer(500)
  const runs = 2000
  for (let sent = 0; sent < runs; sent += 50)
    await Promise.all(Array.from({ length: 50 }, () => server.post("/execute", request(), key)))
  receiver.answer(204)
  await untilPassed(server, key)
  expectAllInOrder(receiver.positions(), runs)
  await server.end("SIGTERM")
  await receiver.close()
})

test("the largest records, in a small heap, stop neither deliveries to many receivers nor the service", {
  timeout: TIMEOUT_MS,
}, async () => {
  const receiver = await startReceiver()
  const server = await startChild(["--data-dir", join(folder, "large"), ...LOCAL], {
    NODE_OPTIONS: "--max-old-space-size=512",
  })
  const key = await adminKey(server)
  const [runs, receivers] = [20, 8]
  const large = request({ request_substance: { post_processing: Array.from({ length: 130_000 }, () => 0) } })
  for (let run = 0; run < runs; run++) expect((await server.post("/execute", large, key)).status).toBe(200)
  for (let made = 0; made < receivers; made++)
    await server.post("/admin/destinations", { url: receiver.url, types: RUNS, from: 0 }, key)
  const since = performance.now()
  const waits: number[] = []
  while (receiver.positions().length < runs * receivers && performance.now() - since < LARGE_DEADLINE_MS) {
    const asked = performance.now()
    await server.get("/health")
    waits.push(performance.now() - asked)
    await new Promise(done => setTimeout(done, 20))
  }
  expect(receiver.positions()).toHaveLength(runs * receivers)
  expect(Math.max(...waits)).toBeLessThan(LONGEST_WAIT_MS)
  expect((await server.end("SIGTERM")).code).toBe(0)
  await receiver.close()
})

describe.skipIf(postgresStart.kind === "absent")(`two servers of one database ${postgresTitle}`, () => {
  test("send no event at the same time, also when one of them is killed", { timeout: TIMEOUT_MS }, async () => {
    const receiver = await startReceiver()
    const database = ["--data-dir", join(folder, "shared"), "--database-url", await newPostgresUrl(), ...LOCAL]
    const first = await startChild(database)
    const second = await startChild(database)
    const key = await adminKey(first)
    await first.post("/admin/destinations", { url: receiver.url, types: RUNS }, key)
    receiver.takeTime(10)
    const runs = 80
    for (let run = 0; run < runs; run += 2)
      await Promise.all([first, second].map(server => server.post("/execute", request(), key)))
    await until("deliveries are under way", () => receiver.positions().length > 10)
    expect(receiver.positions()).toEqual(distinct(receiver.positions()))
    await first.end("SIGKILL")
    await untilPassed(second, key)
    expectAllInOrder(receiver.positions(), runs)
    // All are of one tenant.
    expect(receiver.mostAtOnce()).toBe(1)
    await second.end("SIGTERM")
    await receiver.close()
  })
})
