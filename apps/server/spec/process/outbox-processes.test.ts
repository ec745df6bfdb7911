/** Real servers that are killed, stopped, changed and doubled: the outside log gets every entry once, in order. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, startChild } from "../harness/child.ts"
import { at, listAt, numberAt } from "../harness/read-answer.ts"
import { losing, rekorError, startRekor } from "../harness/rekor-server.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier } from "../harness/verifier.ts"

const TIMEOUT_MS = 300_000
const folder = testFolder("runseal-outbox")
const rekor = await startRekor()
beforeEach(() => rekor.behave())

const delivered = (server: Child): Promise<number> =>
  until("every entry is in the outside log", async () => {
    const [log] = listAt((await server.get("/log/outside")).body, "logs")
    return at(log, "backlog") === 0 ? numberAt(log, "next_index") : undefined
  })

test("a server that is killed while entries are under way goes on with them", { timeout: TIMEOUT_MS }, async () => {
  const options = ["--data-dir", join(folder, "killed"), ...rekor.options]
  let server = await startChild(options)
  // What the log took and nobody stored: the answer is lost together with the process.
  rekor.behave(losing("silence"))
  for (let run = 0; run < 3; run++) await server.post("/execute", request())
  await until("an entry is under way", () => rekor.bodies().length > 0)
  await server.end("SIGKILL")
  rekor.behave()
  server = await startChild(options)
  expect(await delivered(server)).toBe(7)
  expect(rekor.bodies()).toHaveLength(6)
  expect(rekor.asked().map(({ status }) => status)).toContain(409)

  // Switched off: nothing is sent, what is there stays shown, and a later start goes on.
  await server.end("SIGTERM")
  server = await startChild(options.slice(0, 2))
  await server.post("/execute", request())
  writeFileSync(join(folder, "trust.json"), (await server.get("/.well-known/runseal-trust.json")).text)
  writeFileSync(join(folder, "bundle.json"), (await server.get("/runs/1/artifacts")).text)
  const verified = await runVerifier(folder, ["bundle.json", "--trust", "trust.json"])
  expect(verified, verified.stdout).toMatchObject({ exit: 0 })
  expect(verified.stdout).toContain("2 of its entries are also in rekor.test, in time")
  expect(listAt((await server.get("/log/outside")).body, "logs")).toMatchObject([{ next_index: 7, backlog: 2 }])
  await server.end("SIGTERM")
  server = await startChild([...options, "--metrics-port", "0"])
  expect(await delivered(server)).toBe(9)
  const metricsUrl = /"url":"([^"]+)","msg":"metrics"/.exec(server.stdout())?.[1] ?? ""
  const metrics = await (await fetch(`${metricsUrl}/metrics`)).text()
  for (const line of [
    'runseal_outside_entries_total{late="false"} 2',
    "runseal_outside_backlog_entries 0",
    "runseal_outside_oldest_age_seconds 0",
  ])
    expect(metrics).toContain(`${line}\n`)
  await server.end("SIGTERM")
})

describe.skipIf(postgresStart.kind === "absent")(`two servers of one database ${postgresTitle}`, () => {
  test("deliver each entry once, in order, also when one of them dies", { timeout: TIMEOUT_MS }, async () => {
    const shared = await startRekor()
    const database = ["--data-dir", join(folder, "shared"), "--database-url", await newPostgresUrl()]
    const options = [...database, ...shared.options]
    const first = await startChild(options)
    const second = await startChild(options)
    shared.behave(({ count }, honest) => (count % 5 === 4 ? rekorError(503, "busy", { "retry-after": "0" }) : honest()))
    for (let round = 0; round < 3; round++)
      await Promise.all(
        [first, second].flatMap(one => [one.post("/execute", request()), one.post("/execute", request())]),
      )
    expect(await delivered(second)).toBe(25)
    await second.post("/execute", request())
    await first.end("SIGKILL")
    await Promise.all([1, 2].map(() => second.post("/execute", request())))
    expect(await delivered(second)).toBe(31)
    expect(shared.bodies()).toHaveLength(30)
    expect(new Set(shared.bodies()).size).toBe(30)
    const indices = (
      await Promise.all(Array.from({ length: 15 }, (_, run) => second.get(`/runs/${run + 1}/artifacts`)))
    ).flatMap(({ body }) => {
      const [outside] = listAt(body, "anchors", "outside")
      return ["pre_anchor", "complete_record"].map(slot => [
        Number(at(body, "anchors", slot, "entry", "logIndex")),
        Number(at(outside, slot, "entry", "logIndex")),
      ])
    })
    const inOrder = indices.sort(([a = 0], [b = 0]) => a - b).map(([, there = 0]) => there)
    expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
    await second.end("SIGTERM")
  })
})
