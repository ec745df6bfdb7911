/** A Rekor log that is named again under another host or key: what was never held under the first name is shown under the right one. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Config, readConfig } from "../../src/options/config.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import { testClock } from "../harness/clock.ts"
import { rekorConfig, retryQuickly, untilDelivered } from "../harness/outbox-waits.ts"
import { listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { startRekor } from "../harness/rekor-server.ts"
import { request } from "../harness/sample-requests.ts"
import { openService, type TestService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"
import { verifyWithCli } from "../harness/verifier.ts"

retryQuickly()

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const folder = testFolder("runseal-named")

const open = (host: string): Promise<TestService> =>
  openService({
    open: () => openDatabase({ kind: "pglite", dataDir: join(folder, "data") }),
    keysDir: join(folder, "keys"),
    clock,
    config: rekorConfig(rekor, { host }),
  })

test("a log that held nothing under a wrong host is named anew: its entries verify with the trust document", async () => {
  const wrong = await open("wrong.test")
  const run = numberAt((await wrong.execute(request())).body, "run_id")
  await until("the answer is refused", () => wrong.logLines.some(line => line.includes('"fault":"invalid"')))
  await wrong.close()
  const right = await open("rekor.test")
  await untilDelivered(right)
  const { text } = await right.get(`/runs/${run}/artifacts`)
  const verified = await verifyWithCli(text, (await right.get("/.well-known/runseal-trust.json")).text)
  await right.close()
  expect(verified, verified.stdout).toMatchObject({ exit: 0 })
  expect(verified.stdout).toContain("2 of its entries are also in rekor.test, in time")
})

test("a log that holds entries keeps its host: a start with another one is refused in one sentence", async () => {
  await expect(open("other.test")).rejects.toThrow(
    /^--rekor-origin: this log holds entries as rekor\.test, and cannot be called other\.test\.$/,
  )
  const same = await open("rekor.test")
  await same.close()
})

/** Hosts of the logs that the trust document lists. */
const trusted = async ({ get }: TestService): Promise<readonly string[]> =>
  listAt((await get("/.well-known/trusted-root.json")).body, "tlogs").map(log => new URL(textAt(log, "baseUrl")).host)

describe("a wrong --rekor-key at the first start", () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-wrong-key-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const open = (config: Partial<Config>): Promise<TestService> =>
    openService({
      open: () => openDatabase({ kind: "pglite", dataDir: join(folder, "data") }),
      keysDir: join(folder, "keys"),
      clock,
      config,
    })
  let run = 0

  test("the log is listed while it is named, so that a right one is known before its first entry", async () => {
    const other = await startRekor(clock.nowMs)
    const wrong = await open(rekorConfig(rekor, { keyFile: other.keyFile }))
    run = numberAt((await wrong.execute(request())).body, "run_id")
    await until("the answer is refused", () => wrong.logLines.some(line => line.includes('"fault":"invalid"')))
    expect(await trusted(wrong)).toEqual(["runseal.local", "rekor.test"])
    await wrong.close()
  })

  test("without --anchor rekor the trust document lists no log that holds nothing", async () => {
    const without = await open({})
    expect(await trusted(without)).toEqual(["runseal.local"])
    await without.close()
  })

  test("the start with the right key forgets the log that held nothing and delivers what it was named for", async () => {
    const right = await open(rekorConfig(rekor))
    await untilDelivered(right)
    expect(await trusted(right)).toEqual(["runseal.local", "rekor.test"])
    expect(listAt((await right.get("/log/outside")).body, "logs")).toMatchObject([{ first_index: 1, backlog: 0 }])
    const { text } = await right.get(`/runs/${run}/artifacts`)
    const verified = await verifyWithCli(text, (await right.get("/.well-known/runseal-trust.json")).text)
    await right.close()
    expect(verified, verified.stdout).toMatchObject({ exit: 0 })
    expect(verified.stdout).toContain("2 of its entries are also in rekor.test, in time")
    const without = await open({})
    expect(await trusted(without)).toEqual(["runseal.local", "rekor.test"])
    await without.close()
  })
})

test("a Rekor log is not called by the host of the service's own log", () => {
  const options = [...rekor.options, "--log-origin", "rekor.test"]
  expect(() => readConfig(options, {})).toThrow(/^--rekor-origin must not be the host of --log-origin/)
})
