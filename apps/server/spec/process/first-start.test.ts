/** First starts of several processes at once, and first starts that are killed: one deployment is born. */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { VERDICTS } from "@runseal/core/verify/report"
import { expect, test } from "vitest"
import { verdictOn } from "../../../../libs/core/test/fixtures/judged.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { postgresStart, postgresTitle, unmigratedPostgresUrl } from "../database/databases.ts"
import { trustOf } from "../harness/auditor.ts"
import { killedWhen, startChild } from "../harness/child.ts"
import { numberAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { openService } from "../harness/test-service.ts"

const folder = testFolder("runseal-first")

test("with keys that are there, on an empty database, the process log says that it begins another log", async () => {
  const keysDir = join(folder, "kept")
  const first = await openService({ keysDir })
  await first.close()
  expect(first.logLines.join()).not.toMatch(/begins another log/)
  rmSync(join(keysDir, "heads"), { recursive: true })
  const again = await openService({ keysDir })
  await again.close()
  expect(again.logLines.join()).toMatch(/begins another log/)
})

/** The race is decided within milliseconds, each time in another place. */
const ROUNDS = [1, 2]

test.skipIf(postgresStart.kind === "absent").each(ROUNDS)(
  `two processes that start first at once are one deployment ${postgresTitle}, round %i`,
  async round => {
    const keysDir = join(folder, `${round}`)
    const options = ["--data-dir", folder, "--keys-dir", keysDir, "--database-url", await unmigratedPostgresUrl()]
    const started = await Promise.allSettled([startChild(options), startChild(options)])
    const pair = started.flatMap(result => (result.status === "fulfilled" ? [result.value] : []))
    try {
      expect(started.filter(({ status }) => status === "rejected")).toEqual([])
      const answers = (path: string): Promise<readonly string[]> =>
        Promise.all(pair.map(async child => (await child.get(path)).text))

      const [document = "", ...others] = await answers("/.well-known/runseal-trust.json")
      expect(others).toEqual([document])
      const [checkpoint = "", ...more] = await answers("/log/checkpoint")
      expect(more).toEqual([checkpoint])
      expect(checkpoint.split("\n")[1], "the log has its genesis entry and no other").toBe("1")
      expect(readdirSync(keysDir).filter(name => name !== "heads")).toEqual(["signing-keys.json"])

      const executed = await Promise.all([...pair, ...pair].map(child => child.post("/execute", request())))
      expect(executed.map(({ body }) => numberAt(body, "run_id")).sort()).toEqual([1, 2, 3, 4])
      const trust = await trustOf(pair[0]!)
      for (const id of [1, 2, 3, 4])
        for (const text of await answers(`/runs/${id}/artifacts`))
          expect(verdictOn(text, [trust])).toBe(VERDICTS.complete)
    } finally {
      await Promise.all(pair.map(child => child.end("SIGTERM")))
    }
  },
)

const filesIn = (path: string): number =>
  existsSync(path) ? readdirSync(path, { recursive: true, encoding: "utf8" }).length : 0

/**
 * Files of the embedded database, of some thousand, that are written when the start is killed. What half a folder means is a test of
 * its own, "what a start left unfinished is never taken for a database".
 */
test.each([1, 500])(
  "a first start that is killed after %i files of its database leaves nothing that the next one takes for a database",
  async written => {
    const dataDir = join(folder, `killed-${written}`)
    const [unfinished, cluster] = ["postgres.unfinished", "postgres"].map(name => join(dataDir, "db", name))
    const options = ["--data-dir", dataDir]
    const { code } = await killedWhen(options, () => filesIn(unfinished ?? "") >= written)
    expect(code).toBe(null)
    expect([existsSync(unfinished ?? ""), existsSync(cluster ?? "")]).toEqual([true, false])
    const child = await startChild(options)
    expect(existsSync(unfinished ?? "")).toBe(false)
    expect((await child.post("/execute", request())).status).toBe(200)
    expect((await child.end("SIGKILL")).code).toBe(null)
    // What was acknowledged is there after a kill: the write-ahead log is that of a cluster with this identity.
    const again = await startChild(options)
    expect((await again.get("/runs/1")).status).toBe(200)
    expect((await again.end("SIGTERM")).code).toBe(0)
  },
)
