/** --anchor-mode sync is set on a service that has sealed before: what its answers say of records that the outside log never gets. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import type { Config } from "../../src/options/config.ts"
import { SYNC_WAIT_MS } from "../../src/options/rekor-options.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import { testClock } from "../harness/clock.ts"
import { expectReplayed, newKey, sendKeyed } from "../harness/keyed.ts"
import { rekorConfig } from "../harness/outbox-waits.ts"
import { at, numberAt } from "../harness/read-answer.ts"
import { rekorError, startRekor } from "../harness/rekor-server.ts"
import { request } from "../harness/sample-requests.ts"
import { openService, type TestService } from "../harness/test-service.ts"

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const folder = testFolder("runseal-before")

const open = (config: Partial<Config>): Promise<TestService> =>
  openService({
    open: () => openDatabase({ kind: "pglite", dataDir: join(folder, "data") }),
    keysDir: join(folder, "keys"),
    clock,
    config,
  })

test("a repeat of a request from before the log was named gets its first answer, at once, whatever the log does", async () => {
  const requests = [
    ["/execute", newKey(), request()],
    ["/attest", newKey(), { digest: "d3".repeat(32), algorithm: "sha256" }],
  ] as const
  const before = await open({})
  const first = []
  for (const [path, key, body] of requests) first.push(await sendKeyed(before, path, key, body))
  await before.close()

  rekor.behave(() => rekorError(500, "internal"))
  const service = await open(rekorConfig(rekor, { mode: "sync" }))
  try {
    for (const [of, [path, key, body]] of requests.entries()) {
      const asked = performance.now()
      const again = await sendKeyed(service, path, key, body)
      expect(performance.now() - asked).toBeLessThan(SYNC_WAIT_MS / 2)
      const answer = first[of]
      if (answer === undefined) throw new Error("every request was answered before")
      expectReplayed(again, answer)
    }
    expect(rekor.asked(), "nothing of before is sent").toEqual([])
    expect(at((await service.get("/runs/1/artifacts")).body, "anchors", "outside")).toBeUndefined()

    rekor.behave()
    const { status, body } = await service.execute(request())
    expect(status).toBe(200)
    const record = (await service.get(`/runs/${numberAt(body, "run_id")}/artifacts`)).body
    expect(at(record, "anchors", "outside")).toHaveLength(1)
  } finally {
    await service.close()
  }
})
