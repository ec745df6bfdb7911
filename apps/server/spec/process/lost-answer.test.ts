/** A process that is killed between the commit of a run and its answer: the retry under its idempotency key gets the answer that was lost. */
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, startChild } from "../harness/child.ts"
import { expectReplayed, isReplay } from "../harness/keyed.ts"
import { type Answer, numberAt } from "../harness/read-answer.ts"
import { request, spending } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const folder = testFolder("runseal-lost-answer")

const PRELOAD = new URL("./stopped-heads.ts", import.meta.url).href

const send = (child: Child, key: string, body: JsonObject): Promise<Answer> =>
  child.post("/execute", body, { "idempotency-key": `"${key}"` })

const totalOf = async (child: Child): Promise<number> => numberAt((await child.get("/runs?limit=1")).body, "total")

/** Between the two the process remembers the log's head, in a file that is made anew when it is gone: there it is stopped. */
async function killBetweenCommitAndAnswer(name: string, database: readonly string[] = []): Promise<void> {
  const dataDir = join(folder, name)
  const options = ["--data-dir", dataDir, ...database]
  const stopFile = join(folder, `${name}.stop`)
  let child = await startChild(options, { NODE_OPTIONS: `--import=${PRELOAD}`, STOP_FILE: stopFile })
  await child.post("/execute", request())
  writeFileSync(stopFile, "")
  const heads = join(dataDir, "keys/heads")
  for (const file of readdirSync(heads)) if (file !== "id") rmSync(join(heads, file))
  const unanswered = send(child, "lost", spending(5)).catch(() => "no answer")
  await until("the process stops between commit and answer", () => child.stdout().includes("stopped before a head"))
  await child.end("SIGKILL")
  expect(await unanswered).toBe("no answer")
  child = await startChild(options)
  expect(await totalOf(child), "the run was committed").toBe(2)
  const answer = await send(child, "lost", spending(5))
  expect(answer.status).toBe(200)
  expect(isReplay(answer)).toBe(true)
  expect((await child.get("/runs/2")).body.manifest).toEqual(answer.body.manifest)
  expectReplayed(await send(child, "lost", spending(5)), answer)
  expect(await totalOf(child)).toBe(2)
  await child.end("SIGTERM")
}

test("on the embedded database", () => killBetweenCommitAndAnswer("embedded"))
test.skipIf(postgresStart.kind === "absent")(postgresTitle, async () =>
  killBetweenCommitAndAnswer("served", ["--database-url", await newPostgresUrl()]),
)
