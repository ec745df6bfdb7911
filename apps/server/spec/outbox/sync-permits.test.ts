/** --anchor-mode sync: a permit is given out, and its close answered, once the outside log holds the opening and the record. */
import { expect, test } from "vitest"
import { bothDatabases } from "../database/databases.ts"
import { asking, done, openedId, permitAt } from "../harness/asked-permits.ts"
import { testClock } from "../harness/clock.ts"
import { expectReplayed, newKey, sendKeyed } from "../harness/keyed.ts"
import { backlogOf, rekorConfig, retryQuickly } from "../harness/outbox-waits.ts"
import { expectRefused, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { rekorError, startRekor } from "../harness/rekor-server.ts"
import { standingService } from "../harness/test-service.ts"

retryQuickly()

/** An answer waits a shorter time than in a service of an operator, so that the test does too. */
const WAIT_MS = 8_000

const clock = testClock()
const rekor = await startRekor(clock.nowMs)

bothDatabases("permits in sync mode", open => {
  const service = standingService(() => ({
    open,
    clock,
    config: rekorConfig(rekor, { mode: "sync", inFlight: 4, syncWaitMs: WAIT_MS }),
  }))

  test("are answered once the log holds their opening, and their close once it holds the record", async () => {
    const before = rekor.bodies().length
    const permit_id = await openedId(service())
    expect([rekor.bodies().length - before, await backlogOf(service())]).toEqual([1, 0])
    const closed = await service().post(`/permits/${permit_id}/close`, done())
    expect(closed.status, closed.text).toBe(200)
    expect([rekor.bodies().length - before, await backlogOf(service())]).toEqual([3, 0])
  })

  test("while the log takes nothing no permit is given out; repeats get the same opening and the same record", async () => {
    const permit_id = await openedId(service())
    const total = numberAt((await service().get("/permits")).body, "total")
    rekor.behave(() => rekorError(500, "internal"))
    const [opening, closing, close] = [newKey(), newKey(), `/permits/${permit_id}/close`]
    const [opened, closed] = await Promise.all([
      sendKeyed(service(), "/permits", opening, asking()),
      sendKeyed(service(), close, closing, done()),
    ])
    const sentence = expectRefused(opened, 503)
    expect(opened.body).toMatchObject({ ok: false, code: "entry_pending" })
    expect(opened.headers.get("retry-after")).toBe("5")
    expect(Object.keys(opened.body)).not.toContain("permit")
    expect(expectRefused(closed, 503)).toMatch(
      /^Run \d+ is sealed, and its entry in the outside log is still on its way;/,
    )
    // What the answers wait for is sealed all the same.
    expect(await permitAt(service(), permit_id)).toMatchObject({ state: "closed" })
    const held = textAt(listAt((await service().get("/permits?state=open")).body, "permits")[0], "permit_id")
    expect(sentence).toContain(`Permit ${held} is sealed`)

    rekor.behave()
    const given = await sendKeyed(service(), "/permits", opening, asking())
    expect(given.status, given.text).toBe(201)
    expect(given.body).toMatchObject({ permit_id: held, permit: expect.stringMatching(/^ey/) })
    const record = await sendKeyed(service(), close, closing, done())
    expect(record.status, record.text).toBe(200)
    expectReplayed(await sendKeyed(service(), close, closing, done()), record)
    expect(numberAt((await service().get("/permits")).body, "total")).toBe(total + 1)
    expect(await backlogOf(service())).toBe(0)
  })
})
