/** Entries that an outside log takes after the 600 seconds are marked, never shown as of another time. */
import { expect, test } from "vitest"
import { testClock } from "../harness/clock.ts"
import { rekorConfig, retryQuickly, untilDelivered } from "../harness/outbox-waits.ts"
import { at, listAt, numberAt } from "../harness/read-answer.ts"
import { rekorError, startRekor } from "../harness/rekor-server.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"
import { verifyWithCli } from "../harness/verifier.ts"

retryQuickly()

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const service = standingService(() => ({ clock, config: rekorConfig(rekor) }))

const trust = async (): Promise<string> => (await service().get("/.well-known/runseal-trust.json")).text

test("a record whose window passed while the log was away is marked in each of its outside anchors", async () => {
  const before = numberAt((await service().execute(request())).body, "run_id")
  await untilDelivered(service())
  rekor.behave(() => rekorError(503, "busy"))
  const during = numberAt((await service().execute(request())).body, "run_id")
  const refused = numberAt((await service().execute(request({ payload: EICAR }))).body, "run_id")
  await until("the log was asked and is busy", () => rekor.asked().some(({ status }) => status === 503))
  clock.advance(601_000)
  const after = numberAt((await service().execute(request())).body, "run_id")
  rekor.behave()
  await untilDelivered(service())
  const marks = async (run: number): Promise<readonly unknown[]> => {
    const [outside] = listAt((await service().get(`/runs/${run}/artifacts`)).body, "anchors", "outside")
    return ["pre_anchor", "receipt", "complete_record"].map(slot => at(outside, slot, "late"))
  }
  expect(await marks(before)).toEqual([undefined, undefined, undefined])
  expect(await marks(during)).toEqual([true, undefined, true])
  expect(await marks(refused)).toEqual([undefined, true, true])
  expect(await marks(after)).toEqual([undefined, undefined, undefined])

  const { text } = await service().get(`/runs/${during}/artifacts`)
  const verified = await verifyWithCli(text, await trust())
  expect(verified, verified.stdout).toMatchObject({
    exit: 0,
    verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
  })
  expect(verified.stdout).toContain("2 of its entries are also in rekor.test, 2 of them late")
  expect(verified.stdout).toContain("it shows that the record was there at that entry's time")
  const unmarked = await verifyWithCli(text.replace('"late":true,', "").replace(',"late":true', ""), await trust())
  expect(unmarked).toMatchObject({ exit: 1, verdict: "FAILED" })
  expect(unmarked.stdout).toContain("is not marked as late")
})
