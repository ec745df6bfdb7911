/** The header Idempotency-Key of POST /execute and POST /attest: one record for a key, and its answer as often as it is asked for. */
import { randomUUID } from "node:crypto"
import { IDEMPOTENCY_KEY_MAX_LENGTH } from "@runseal/core/wire/idempotency-key"
import { expect, test } from "vitest"
import { KEY_KEPT_MS } from "../src/http/access/idempotency.ts"
import { eachDatabase } from "./database/databases.ts"
import { expectReplayed, isReplay, newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, expectRefused, numberAt } from "./harness/read-answer.ts"
import { minted } from "./harness/read-tables.ts"
import { CANARY, refusal } from "./harness/refusal.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { CASES, REQUESTS, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { standingService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

const attesting = { digest: "d1".repeat(32), algorithm: "sha256", subject_ref: "a build" }

eachDatabase("the answer to a key", open => {
  const { service } = standingSevenStates(open)

  test.each(CASES)("of a run that ended as %s is the first one, byte for byte", async name => {
    const key = newKey()
    const first = await sendKeyed(service(), "/execute", key, REQUESTS[name])
    const before = await minted(service().db)
    expect(isReplay(first)).toBe(false)
    const record = (await service().get(`/runs/${numberAt(first.body, "run_id")}`)).body
    expect(record.outcome_kind).toBe(STATE_OF[name])
    expectReplayed(await sendKeyed(service(), "/execute", key, REQUESTS[name]), first)
    expectReplayed(await sendKeyed(service(), "/execute", key, REQUESTS[name]), first)
    expect(await minted(service().db), "nothing more is minted").toEqual(before)
  })

  test("holds what the answer without a key holds", async () => {
    const members = async (answer: Promise<Answer>) => Object.keys((await answer).body).sort()
    const plain = await members(service().execute(REQUESTS.ccv_halt))
    expect(await members(sendKeyed(service(), "/execute", newKey(), REQUESTS.ccv_halt))).toEqual(plain)
  })

  test("of an attestation is the first one, byte for byte", async () => {
    const key = newKey()
    const first = await sendKeyed(service(), "/attest", key, attesting)
    const before = await minted(service().db)
    expect(first.status).toBe(201)
    expectReplayed(await sendKeyed(service(), "/attest", key, attesting), first)
    expect(await minted(service().db)).toEqual(before)
  })
})

eachDatabase("a key", open => {
  const service = standingService(() => ({ open }))

  test("belongs to one body: any other is 409, without Retry-After, and makes nothing", async () => {
    const key = newKey()
    const first = await sendKeyed(service(), "/execute", key, request())
    for (const body of [request({ payload: CANARY }), ` ${JSON.stringify(request())}`, '{"payload":1}']) {
      const error = await refusal(service(), sender => sendKeyed(sender, "/execute", key, body), 409)
      expect(error).toContain("another body")
    }
    expect((await sendKeyed(service(), "/execute", key, {})).headers.get("retry-after")).toBeNull()
    expectReplayed(await sendKeyed(service(), "/execute", key, request()), first)
    const attested = await sendKeyed(service(), "/attest", key, attesting)
    expect(attested.status, "another endpoint has keys of its own").toBe(201)
    await refusal(service(), sender => sendKeyed(sender, "/attest", key, { ...attesting, subject_ref: CANARY }), 409)
  })

  test("is one string: in quotes or, where that is plain, without", async () => {
    const key = randomUUID()
    const first = await sendKeyed(service(), "/execute", `"${key}"`, request())
    expectReplayed(await sendKeyed(service(), "/execute", key, request()), first)
    expectReplayed(await sendKeyed(service(), "/execute", ` "${key}" `, request()), first)
    const odd = '"a \\"quoted\\" key, with \\\\ and ;"'
    const second = await sendKeyed(service(), "/execute", odd, request())
    expectReplayed(await sendKeyed(service(), "/execute", odd, request()), second)
  })

  test.each([
    ["nothing", ""],
    ["two keys", '"a", "b"'],
    ["a string that does not end", '"a'],
    ["one character too many", `"${"k".repeat(IDEMPOTENCY_KEY_MAX_LENGTH + 1)}"`],
  ])("that is %s is 400", async (_, key) => {
    const error = await refusal(service(), sender => sendKeyed(sender, "/execute", key, request()))
    expect(error).toContain("Idempotency-Key")
    expect(await refusal(service(), sender => sendKeyed(sender, "/attest", key, attesting))).toBe(error)
  })

  test("may have 255 characters", async () => {
    const key = `"${"k".repeat(IDEMPOTENCY_KEY_MAX_LENGTH)}"`
    const first = await sendKeyed(service(), "/execute", key, request())
    expectReplayed(await sendKeyed(service(), "/execute", key, request()), first)
  })

  test("is not used up by a request that was refused", async () => {
    const key = newKey()
    await refusal(service(), sender => sendKeyed(sender, "/execute", key, request({ route_id: "" })))
    await refusal(service(), sender => sendKeyed(sender, "/execute", key, "{"))
    expect((await sendKeyed(service(), "/execute", key, request())).status).toBe(200)
  })

  test("is for /execute and /attest: elsewhere it is ignored", async () => {
    const key = newKey()
    const rehearse = (payload: string) => sendKeyed(service(), "/execute/verify-determinism", key, request({ payload }))
    const rehearsed = [await rehearse("a"), await rehearse("b"), await rehearse("b")]
    expect(rehearsed.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(rehearsed.some(isReplay)).toBe(false)
    const malformed = await sendKeyed(service(), "/execute/verify-determinism", '"', request())
    expect(malformed.status).toBe(200)
  })

  test("of requests sent at once makes one run: the others get its answer or have to retry", async () => {
    const key = newKey()
    const body = spending(7)
    const before = numberAt((await service().get("/runs?limit=1")).body, "total")
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendKeyed(service(), "/execute", key, body)))
    const [first] = answers.filter(answer => answer.status === 200 && !isReplay(answer))
    if (first === undefined) throw new Error("one of them is the first")
    for (const answer of answers.filter(found => found !== first)) {
      if (answer.status === 200) expectReplayed(answer, first)
      else {
        expect(expectRefused(answer, 409)).toContain("under way")
        expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
      }
    }
    expectReplayed(await sendKeyed(service(), "/execute", key, body), first)
    expect(numberAt((await service().get("/runs?limit=1")).body, "total")).toBe(before + 1)
  })

  test("many keys at once are as many records, each answered as its own", async () => {
    const keys = Array.from({ length: 60 }, newKey)
    const ask = (key: string, i: number) =>
      i % 3 === 0 ? sendKeyed(service(), "/attest", key, attesting) : sendKeyed(service(), "/execute", key, spending(i))
    const firsts = await Promise.all(keys.map(ask))
    const agains = await Promise.all(keys.map(ask))
    for (const [i, again] of agains.entries()) expectReplayed(again, firsts[i]!)
    expect(new Set(firsts.map(({ text }) => text)).size).toBe(keys.length)
  })

  test("outlives its day only in the record: then it makes another, and the first stays", async () => {
    const key = newKey()
    const first = await sendKeyed(service(), "/execute", key, request())
    service().clock.advance(KEY_KEPT_MS - 60_000)
    expectReplayed(await sendKeyed(service(), "/execute", key, request()), first)
    service().clock.advance(61_000)
    await until("the old key is removed", async () => {
      const { db, clock } = service()
      // Housekeeping takes its step behind a request's back, unless the one before is still under way.
      await sendKeyed(service(), "/execute", newKey(), request())
      return (await db.sql`select 1 from idempotency_key where kept_at < ${clock.nowMs() - KEY_KEPT_MS}`).length === 0
    })
    const second = await sendKeyed(service(), "/execute", key, request())
    expect(isReplay(second)).toBe(false)
    expect(second.body.run_id).not.toBe(first.body.run_id)
    expect((await service().get(`/runs/${first.body.run_id}`)).status).toBe(200)
  })
})
