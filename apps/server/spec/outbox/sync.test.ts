/** --anchor-mode sync: an answer says that the outside log holds the record too. */
import { expect, test } from "vitest"
import { expectRefused, numberAt, textAt } from "../harness/answer.ts"
import { testClock } from "../harness/clock.ts"
import { expectReplayed, newKey, sendKeyed } from "../harness/keyed.ts"
import { backlogOf, rekorConfig } from "../harness/outbox.ts"
import { rekorError, startRekor } from "../harness/rekor.ts"
import { request } from "../harness/requests.ts"
import { standingService } from "../harness/service.ts"
import { until } from "../harness/until.ts"

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const service = standingService(() => ({ clock, config: rekorConfig(rekor, { mode: "sync", inFlight: 4 }) }))

test("runs and attestations are answered once the log holds them", async () => {
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => service().execute(request())),
    service().post("/attest", { digest: "d1".repeat(32), algorithm: "sha256" }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201])
  expect(rekor.bodies()).toHaveLength(7)
  expect(await backlogOf(service())).toBe(0)
})

test("while the log takes nothing the answer is 503, with the run's number, and the service is not ready", async () => {
  rekor.behave(() => rekorError(500, "internal"))
  const key = newKey()
  const waiting = sendKeyed(service(), "/execute", key, request())
  await until("the service is not ready", async () => (await service().get("/ready")).status === 503)
  const refused = await waiting
  expect(expectRefused(refused, 503)).toMatch(/^Run 4 is sealed, and its entry in the outside log is still on its way;/)
  expect(refused.headers.get("retry-after")).toBe("5")
  expect((await service().get("/runs/4")).body).toMatchObject({ outcome_kind: "ok" })
  rekor.behave()
  const again = await sendKeyed(service(), "/execute", key, request())
  expect(again.status).toBe(200)
  expect(numberAt(again.body, "run_id")).toBe(4)
  expectReplayed(await sendKeyed(service(), "/execute", key, request()), again)
  expect(numberAt((await service().get("/runs")).body, "total")).toBe(4)
  expect((await service().get("/ready")).status).toBe(200)
})

test("an attestation that is not held in time names itself, and its repeat is that one", async () => {
  rekor.behave(() => rekorError(500, "internal"))
  const key = newKey()
  const attesting = { digest: "d2".repeat(32), algorithm: "sha256" }
  const sentence = expectRefused(await sendKeyed(service(), "/attest", key, attesting), 503)
  rekor.behave()
  const again = await sendKeyed(service(), "/attest", key, attesting)
  expect(sentence).toContain(textAt(again.body, "attestation_id"))
  expect(again.status).toBe(201)
})
