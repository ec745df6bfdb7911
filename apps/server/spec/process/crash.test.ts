/** kill -9 under load and graceful stops: no acknowledged run is lost, none is half there, the log goes on unforked. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseTrust } from "@runseal/core/transparency-log/trust-document"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { afterAll, describe, expect, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Answer, numberAt } from "../harness/answer.ts"
import { type Child, startChild } from "../harness/child.ts"
import { naiveConsistency, naiveLeaf, naiveRoot } from "../harness/naive-log.ts"
import { request, spending } from "../harness/requests.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-crash-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CONNECTIONS = 16
const CRASHES = 3

type Load = { readonly acknowledged: Answer[]; readonly stop: () => Promise<void> }

/** Keeps requests under way; what was answered is kept, what was cut off is nobody's promise. */
function load(child: Child): Load {
  const acknowledged: Answer[] = []
  let stopped = false
  const keepAsking = async (worker: number): Promise<void> => {
    for (let i = 0; !stopped; i++) {
      const body = i % 3 === 0 ? spending(2_000_000) : request({ payload: `${worker} ${i}` })
      const answer = await child.post("/execute", body).catch(() => undefined)
      if (answer === undefined) return
      acknowledged.push(answer)
    }
  }
  const workers = Array.from({ length: CONNECTIONS }, (_, i) => keepAsking(i))
  return {
    acknowledged,
    stop: async () => {
      stopped = true
      await Promise.all(workers)
    },
  }
}

const until = async (condition: () => boolean): Promise<void> => {
  for (let i = 0; i < 3000 && !condition(); i++) await sleep(10)
}

/** Every entry of the log, read from its published bundles. */
async function entriesOf(child: Child, size: number): Promise<readonly Buffer[]> {
  const entries: Buffer[] = []
  for (let start = 0; start < size; start += 256) {
    const index = `${start / 256}`.padStart(3, "0")
    const width = Math.min(256, size - start)
    const response = await fetch(`${child.url}/log/tile/entries/${index}${width < 256 ? `.p/${width}` : ""}`)
    const bytes = Buffer.from(await response.arrayBuffer())
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUInt16BE(at)
      entries.push(bytes.subarray(at + 2, at + 2 + length))
      at += 2 + length
    }
  }
  expect(entries).toHaveLength(size)
  return entries
}

/** The tree only grew: what was signed before is a prefix of what is signed now, by proof and by recomputation. */
async function expectConsistent(child: Child, earlier: string): Promise<void> {
  const [, firstSize = "", firstRoot] = earlier.split("\n")
  const [, secondSize = "", secondRoot] = (await child.get("/log/checkpoint")).text.split("\n")
  const [first, second] = [Number(firstSize), Number(secondSize)]
  expect(second).toBeGreaterThanOrEqual(first)
  const leaves = (await entriesOf(child, second)).map(naiveLeaf)
  expect(naiveRoot(leaves.slice(0, first)).toString("base64")).toBe(firstRoot)
  expect(naiveRoot(leaves).toString("base64")).toBe(secondRoot)
  const { body } = await child.get(`/log/consistency?first=${first}&second=${second}`)
  expect(body.hashes).toEqual(naiveConsistency(first, leaves).map(hash => hash.toString("base64")))
}

/** Every acknowledged run is there as it was answered; every run there is whole, verifies and follows the one before. */
async function expectWhole(child: Child, acknowledged: readonly Answer[]): Promise<void> {
  const trust = parseTrust((await child.get("/.well-known/runseal-trust.json")).body)
  if ("problem" in trust) throw new Error(trust.problem)
  const total = numberAt((await child.get("/runs?limit=1")).body, "total")
  const ids = Array.from({ length: total }, (_, i) => i + 1)
  const served = await Promise.all(ids.map(id => child.get(`/runs/${id}/artifacts`)))
  const bundles = new Map(served.map((answer, i) => [i + 1, answer]))
  for (const [id, { status, text, body }] of bundles) {
    expect({ id, status }).toEqual({ id, status: 200 })
    const report = verifyText(text, [trust])
    expect(isUnreadable(report) ? report : report.verdict).toBe(VERDICTS.complete)
    expect(numberAt(body, "anchors", "complete_record", "leaf", "tenant_ordinal")).toBe(id)
  }
  for (const { body } of acknowledged) {
    const stored = bundles.get(numberAt(body, "run_id"))?.body
    const part = body.ok === true ? "manifest" : "partial_manifest"
    expect(stored?.[part]).toEqual(body[part])
  }
}

/** Crashes under load, each at another moment of the work and followed by a look at the log; in the end at everything. */
async function crashRepeatedly(start: () => Promise<Child>): Promise<readonly Answer[]> {
  const acknowledged: Answer[] = []
  let child = await start()
  for (let round = 0; round < CRASHES; round++) {
    const { text: checkpoint } = await child.get("/log/checkpoint")
    const running = load(child)
    await until(() => running.acknowledged.length >= 40)
    await sleep(37 * round)
    await child.end("SIGKILL")
    await running.stop()
    expect(running.acknowledged.length).toBeGreaterThanOrEqual(40)
    acknowledged.push(...running.acknowledged)
    child = await start()
    await expectConsistent(child, checkpoint)
  }
  await expectWhole(child, acknowledged)
  acknowledged.push(await child.post("/execute", request()))
  await child.end("SIGKILL")
  return acknowledged
}

const EMBEDDED = join(folder, "embedded")
/** Every run of the embedded deployment that was answered. */
const answered: Answer[] = []

describe("kill -9 under load", () => {
  test("on the embedded database: nothing acknowledged is lost, nothing is half there, the log goes on", async () => {
    answered.push(...(await crashRepeatedly(() => startChild(["--data-dir", EMBEDDED]))))
  })

  test.skipIf(postgresStart.kind === "absent")(`${postgresTitle}: the same`, async () => {
    const url = await newPostgresUrl()
    await crashRepeatedly(() => startChild(["--data-dir", join(folder, "served"), "--database-url", url]))
  })

  test.skipIf(postgresStart.kind === "absent")(
    `of one of two processes ${postgresTitle}: the other goes on`,
    async () => {
      const options = ["--database-url", await newPostgresUrl(), "--data-dir", join(folder, "pair")]
      const [one, two] = [await startChild(options), await startChild(options)]
      const loads = [load(one), load(two)]
      await until(() => loads.every(({ acknowledged }) => acknowledged.length >= 20))
      await one.end("SIGKILL")
      const before = loads[1]!.acknowledged.length
      await until(() => loads[1]!.acknowledged.length >= before + 20)
      await Promise.all(loads.map(running => running.stop()))
      expect(loads[1]!.acknowledged.length).toBeGreaterThanOrEqual(before + 20)
      const all = loads.flatMap(({ acknowledged }) => acknowledged)
      expect(all.every(({ status }) => status === 200 || status === 422)).toBe(true)
      await expectWhole(two, all)
      await two.end("SIGTERM")
    },
  )
})

describe("SIGTERM under load", () => {
  const start = () => startChild(["--data-dir", EMBEDDED])

  test("finishes what was taken on: every request under way is answered, then the process ends with 0", async () => {
    const child = await start()
    await child.post("/execute", request())
    const underWay = Array.from({ length: 40 }, (_, i) => child.post("/execute", request({ payload: `${i}` })))
    // All were sent at once: when the first is answered, the last has been taken on.
    await Promise.race(underWay)
    child.signal("SIGTERM")
    const answers = await Promise.all(underWay)
    const answered_at = performance.now()
    expect(await child.ended).toMatchObject({ code: 0, stderr: "" })
    expect(performance.now() - answered_at, "no connection that is kept alive holds the stop up").toBeLessThan(20_000)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    answered.push(...answers)
  })

  test("a second signal does not cut the stop short; all of it is there afterwards", async () => {
    const child = await start()
    await expectWhole(child, answered)
    for (const signal of ["SIGTERM", "SIGINT", "SIGTERM"] as const) child.signal(signal)
    const { code, stdout } = await child.ended
    expect(code).toBe(0)
    expect(stdout).toContain('"msg":"stopped"')
  })
})
