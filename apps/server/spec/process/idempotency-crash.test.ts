/** kill -9 and retries under idempotency keys: every request that was sent becomes one record, whenever the process died. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, describe, expect, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Answer, numberAt } from "../harness/answer.ts"
import { type Child, startChild } from "../harness/child.ts"
import { expectReplayed, isReplay } from "../harness/keyed.ts"
import { request, spending } from "../harness/requests.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-idempotency-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const send = (child: Child, key: string, body: JsonObject): Promise<Answer> =>
  child.post("/execute", body, { "idempotency-key": `"${key}"` })

const totalOf = async (child: Child): Promise<number> => numberAt((await child.get("/runs?limit=1")).body, "total")

/**
 * Has the process stand still right after its next commit, before it answers: it remembers the log's head in between, in a
 * file that is made anew when it is gone, and a pipe without a reader is none that can be opened.
 */
function stopAfterNextCommit(dataDir: string): () => void {
  const heads = join(dataDir, "keys/heads")
  const [name = ""] = readdirSync(heads).filter(file => file !== "id")
  const pipe = join(heads, `${name}.tmp`)
  execFileSync("mkfifo", [pipe])
  rmSync(join(heads, name))
  return () => rmSync(pipe)
}

/** Until the process has answered nobody for three seconds. */
async function untilItStands(child: Child): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`${child.url}/health`, { signal: AbortSignal.timeout(3000) }).catch(() => undefined)
    if (response === undefined) return
    await response.body?.cancel()
    await sleep(50)
  }
  throw new Error("the process goes on")
}

async function killBetweenCommitAndAnswer(dataDir: string, start: () => Promise<Child>): Promise<void> {
  let child = await start()
  await child.post("/execute", request())
  const release = stopAfterNextCommit(dataDir)
  const unanswered = send(child, "lost", spending(5)).catch(() => "no answer")
  await untilItStands(child)
  await child.end("SIGKILL")
  expect(await unanswered).toBe("no answer")
  release()
  child = await start()
  expect(await totalOf(child), "the run was committed").toBe(2)
  const answer = await send(child, "lost", spending(5))
  expect(answer.status).toBe(200)
  expect(isReplay(answer)).toBe(true)
  expect((await child.get("/runs/2")).body.manifest).toEqual(answer.body.manifest)
  expectReplayed(await send(child, "lost", spending(5)), answer)
  expect(await totalOf(child)).toBe(2)
  await child.end("SIGTERM")
}

const KEYS = 60
const CRASHES = 3

/** The requests of one round at once, then the kill, some time after the first answer. */
async function roundOf(child: Child, round: number, answers: Map<string, Answer>): Promise<void> {
  const asked = Array.from({ length: KEYS }, async (_, i) => {
    const answer = await send(child, `${round} ${i}`, spending(i)).catch(() => undefined)
    if (answer !== undefined) answers.set(`${round} ${i}`, answer)
  })
  await Promise.race(asked)
  await sleep(5 * round)
  await child.end("SIGKILL")
  await Promise.all(asked)
}

async function killUnderLoad(start: () => Promise<Child>): Promise<void> {
  const answers = new Map<string, Answer>()
  let child = await start()
  for (let round = 0; round < CRASHES; round++) {
    await roundOf(child, round, answers)
    child = await start()
  }
  for (let round = 0; round < CRASHES; round++) {
    const again = await Promise.all(Array.from({ length: KEYS }, (_, i) => send(child, `${round} ${i}`, spending(i))))
    for (const [i, answer] of again.entries()) {
      expect(answer.status, answer.text).toBe(200)
      const first = answers.get(`${round} ${i}`)
      if (first !== undefined) expectReplayed(answer, first)
    }
  }
  expect(await totalOf(child), "each key has its one run").toBe(CRASHES * KEYS)
  await expectChargedOnce(child)
  await child.end("SIGTERM")
}

/** The window's total that the newest run saw is what all keys declared: nothing was charged twice or not at all. */
async function expectChargedOnce(child: Child): Promise<void> {
  const declared = (CRASHES * (KEYS * (KEYS - 1))) / 2
  const { body } = await child.post("/execute", spending(1))
  const bundle = (await child.get(`/runs/${numberAt(body, "run_id")}/artifacts`)).body
  expect(numberAt(bundle, "sections", "budget_snapshot", "window", "total_after")).toBe(declared + 1)
}

describe("on the embedded database", () => {
  test("killed between commit and answer: the retry gets the answer that was lost", async () => {
    const dataDir = join(folder, "lost")
    await killBetweenCommitAndAnswer(dataDir, () => startChild(["--data-dir", dataDir]))
  })

  test("killed under load: every key has one run and one charge once it is tried again", async () => {
    await killUnderLoad(() => startChild(["--data-dir", join(folder, "load")]))
  })
})

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test("killed between commit and answer: the retry gets the answer that was lost", async () => {
    const dataDir = join(folder, "lost-served")
    const options = ["--data-dir", dataDir, "--database-url", await newPostgresUrl()]
    await killBetweenCommitAndAnswer(dataDir, () => startChild(options))
  })

  test("killed under load: every key has one run and one charge once it is tried again", async () => {
    const options = ["--data-dir", join(folder, "load-served"), "--database-url", await newPostgresUrl()]
    await killUnderLoad(() => startChild(options))
  })
})
