/** --anchor-mode sync: an answer says that the outside log holds the record too. */
import { expect, test } from "vitest"
import { testClock } from "../harness/clock.ts"
import { expectReplayed, newKey, sendKeyed } from "../harness/keyed.ts"
import { backlogOf, rekorConfig, retryQuickly } from "../harness/outbox-waits.ts"
import { expectRefused, numberAt, textAt } from "../harness/read-answer.ts"
import { rekorError, startRekor } from "../harness/rekor-server.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

retryQuickly()

/** An answer waits a shorter time than in a service of an operator, so that the test does too. */
const WAIT_MS = 8_000

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const service = standingService(() => ({
  clock,
  config: rekorConfig(rekor, { mode: "sync", inFlight: 4, syncWaitMs: WAIT_MS }),
}))

test("runs and attestations are answered once the log holds them", async () => {
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => service().execute(request())),
    service().post("/attest", { digest: "d1".repeat(32), algorithm: "sha256" }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201])
  expect(rekor.bodies()).toHaveLength(7)
  expect(await backlogOf(service())).toBe(0)
})

test("while the log takes nothing answers are 503 that name the record, and the service is not ready; repeats get that record", async () => {
  rekor.behave(() => rekorError(500, "internal"))
  const [runKey, attestationKey] = [newKey(), newKey()]
  const attesting = { digest: "d2".repeat(32), algorithm: "sha256" }
  const waiting = Promise.all([
    sendKeyed(service(), "/execute", runKey, request()),
    sendKeyed(service(), "/attest", attestationKey, attesting),
  ])
  await until("the service is not ready", async () => (await service().get("/ready")).status === 503)
  const [run, attestation] = await waiting
  expect(expectRefused(run, 503)).toMatch(/^Run 4 is sealed, and its entry in the outside log is still on its way;/)
  expect(run.headers.get("retry-after")).toBe("5")
  const sentence = expectRefused(attestation, 503)
  expect((await service().get("/runs/4")).body).toMatchObject({ outcome_kind: "ok" })
  rekor.behave()
  const again = await sendKeyed(service(), "/execute", runKey, request())
  expect(again.status).toBe(200)
  expect(numberAt(again.body, "run_id")).toBe(4)
  expectReplayed(await sendKeyed(service(), "/execute", runKey, request()), again)
  expect(numberAt((await service().get("/runs")).body, "total")).toBe(4)
  const attested = await sendKeyed(service(), "/attest", attestationKey, attesting)
  expect(attested.status).toBe(201)
  expect(sentence).toContain(textAt(attested.body, "attestation_id"))
  expect((await service().get("/ready")).status).toBe(200)
})
