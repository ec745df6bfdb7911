/** `GET /ready` of a service whose key a signer keeps: whether it signs now, found in bounded time and at bounded cost. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { SIGNER_CACHE_MS } from "../src/sealing/readiness.ts"
import { expectRefused } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { type StandInSigner, startSigner } from "./harness/signer.ts"
import { openService, type TestService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

const folder = testFolder("runseal-signer-ready")
const tokenFile = join(folder, "token")
let signer: StandInSigner
let service: TestService

beforeAll(async () => {
  signer = await startSigner()
  writeFileSync(tokenFile, signer.token)
  service = await openService({ config: { signer: { url: signer.url, tokenFile } } })
})
afterEach(() => {
  signer.fault = undefined
  service.clock.advance(SIGNER_CACHE_MS)
})
afterAll(async () => {
  await service.close()
  await signer.close()
})

const ready = () => service.get("/ready")

test("without a signer nobody is asked", async () => {
  const own = await openService()
  const before = signer.counts.asked
  expect((await own.get("/ready")).status).toBe(200)
  expect(signer.counts.asked).toBe(before)
  await own.close()
})

test("a signer that signs is asked once in some seconds, however many ask here", async () => {
  const before = signer.counts.asked
  const found = await Promise.all(Array.from({ length: 200 }, ready))
  expect(found.every(({ status }) => status === 200)).toBe(true)
  service.clock.advance(SIGNER_CACHE_MS / 2)
  expect((await ready()).status).toBe(200)
  expect(signer.counts.asked - before).toBe(1)
  service.clock.advance(SIGNER_CACHE_MS / 2)
  await ready()
  expect(signer.counts.asked - before).toBe(2)
})

describe.each(["unavailable", "forbidden", "another key", "no DER"] as const)(
  "a signer that is at fault: %s",
  fault => {
    test("is a service that is not ready and says so, until it signs again; /health answers all the same", async () => {
      signer.fault = fault
      const error = expectRefused(await ready(), 503)
      expect(error).toBe("The signer of the service key gives no signature.")
      expectRefused(await service.execute(request()), 503)
      expect((await service.get("/health")).status).toBe(200)
      signer.fault = undefined
      service.clock.advance(SIGNER_CACHE_MS)
      expect((await ready()).status).toBe(200)
      expect((await service.execute(request())).status).toBe(200)
      expect(service.logLines.join("")).not.toContain(signer.token)
    })
  },
)

test("why is in the process log once, and that it is over", async () => {
  const linesWith = (words: string): number => service.logLines.filter(line => line.includes(words)).length
  const [gone, back] = ["the signer gives no signature", "the signer signs again"]
  const before = [linesWith(gone), linesWith(back)]
  signer.fault = "forbidden"
  for (let times = 0; times < 3; times++) {
    await ready()
    service.clock.advance(SIGNER_CACHE_MS)
  }
  signer.fault = undefined
  await ready()
  expect([linesWith(gone), linesWith(back)]).toEqual(before.map(count => count + 1))
  expect(service.logLines.join("")).toContain("The signer refused with 403.")
})

test("a batch that waits for a silent signer is named as one, to who asks whether the service is ready and to callers; reads go on after it", async () => {
  signer.fault = "silent"
  const first = service.execute(request())
  await until("the signer is asked", () => signer.fault === "silent" && service.deps.sealingQueue() === 0)
  expect(expectRefused(await ready(), 503)).toBe("The signer of the service key does not answer.")
  expect(expectRefused(await first, 503)).toMatch(/signer of the service key does not sign/)
  const next = service.execute(request())
  const read = service.get("/runs")
  const sooner = await Promise.race([read, next])
  expect(sooner, "the database is not held meanwhile").toBe(await read)
  expect((await read).status).toBe(200)
  expect(expectRefused(await next, 503)).toMatch(/signer of the service key does not sign/)
  signer.fault = undefined
  expect((await service.execute(request())).status).toBe(200)
})

test("a signer that is silent is told of in bounded time and never asked twice at once", async () => {
  signer.fault = "silent"
  const before = signer.counts.asked
  for (let times = 0; times < 2; times++) {
    // Without a bound of its own the answer would come with the end of the signing, and be that there is no signature.
    expect(expectRefused(await ready(), 503)).toBe("The signer of the service key does not answer.")
    service.clock.advance(SIGNER_CACHE_MS)
  }
  // One question, whose attempts follow one another.
  expect(signer.counts.asked - before).toBeLessThanOrEqual(2)
})
