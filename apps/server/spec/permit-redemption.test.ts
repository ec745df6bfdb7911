/** Redeeming permits, who may do what with them, and how often: docs/api.md, "POST /permits/{id}/redeem", "Keys" and "Limits". */
import type { JsonObject } from "@runseal/canonical"
import { OPEN_PERMITS_MAX } from "@runseal/core/seal/permits/pending"
import { beforeAll, describe, expect, test } from "vitest"
import { WINDOW_MS } from "../src/http/access/request-counter.ts"
import { eachDatabase } from "./database/databases.ts"
import { asking, closed, done, opened, openedId, permitAt } from "./harness/asked-permits.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "./harness/key-holders.ts"
import { type Answer, expectRefused, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { standingService } from "./harness/test-service.ts"

const ONCE = { redeem_required: true }

eachDatabase("the redemption of a permit", open => {
  const service = standingService(() => ({ open }))
  const redeem = (id: string, permit: unknown): Promise<Answer> =>
    service().post(`/permits/${id}/redeem`, { permit: String(permit) })

  test("succeeds once, and its time is sealed at the close", async () => {
    const { body } = await opened(service(), ONCE)
    const id = textAt(body, "permit_id")
    expect(objectAt(body, "opening")).toMatchObject({ redeem_required: true })
    const first = await redeem(id, body.permit)
    expect(first.status, first.text).toBe(200)
    expect(first.body).toEqual({ ok: true, permit_id: id, redeemed_at: expect.stringMatching(/Z$/) })
    expectRefused(await redeem(id, body.permit), 409, "already_redeemed")
    expect(await permitAt(service(), id)).toMatchObject({ redeemed_at: first.body.redeemed_at, redeem_required: true })
    const answer = await closed(service(), id)
    const bundle = (await service().get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)).body
    expect(objectAt(bundle, "sections", "permit")).toMatchObject({
      redemption: { redeemed_clock: first.body.redeemed_at },
    })
  })

  test("of many at the same time succeeds for one, and the act is sealed at the close", async () => {
    const { body } = await opened(service())
    const id = textAt(body, "permit_id")
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(id, body.permit)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
    expect((await closed(service(), id)).status).toBe(200)
  })

  test("is refused for another permit, a changed one and what is none", async () => {
    const [one, two] = [await opened(service()), await opened(service())]
    const id = textAt(one.body, "permit_id")
    const permit = textAt(one.body, "permit")
    const [head, claims, signature] = permit.split(".")
    for (const wrong of [
      two.body.permit,
      `${head}.${claims}.${signature?.replace(/^./, c => (c === "A" ? "B" : "A"))}`,
      `${permit}==`,
      `${permit}\n`,
      "a.b.c",
      "no permit",
    ]) {
      const answer = await redeem(id, wrong)
      expectRefused(answer, 401, "permit_invalid")
      expect(answer.headers.get("www-authenticate")).toBe('Permit realm="runseal"')
    }
    expect((await redeem(id, permit)).status).toBe(200)
  })

  test("needs a permit in the body, and one that the service knows", async () => {
    const { body } = await opened(service())
    const id = textAt(body, "permit_id")
    for (const wrong of [{}, { permit: "" }, { permit: 1 }, { permit: "x".repeat(16_385) }, { permit: "x", also: 1 }])
      expectRefused(await service().post(`/permits/${id}/redeem`, wrong), 400, "invalid_field")
    expectRefused(await redeem(`pmt-${"0".repeat(32)}`, body.permit), 404, "not_found")
    expectRefused(await redeem("pmt-1", body.permit), 404, "not_found")
  })

  test("is refused once the permit has expired, and once it is closed", async () => {
    const [expired, finished] = [await opened(service()), await opened(service(), { valid_for_seconds: 3600 })]
    await closed(service(), textAt(finished.body, "permit_id"))
    expectRefused(await redeem(textAt(finished.body, "permit_id"), finished.body.permit), 409, "permit_not_open")
    service().clock.advance(300_000)
    expectRefused(await redeem(textAt(expired.body, "permit_id"), expired.body.permit), 401, "permit_invalid")
  })
})

eachDatabase("a permit that was redeemed and that nobody closes", open => {
  const service = standingService(() => ({ open, config: { windowTokenBudget: 1000 } }))

  test("keeps its tokens: its end says that the act was started", async () => {
    const reserving = { ...ONCE, reserve_tokens: 900, close_within_seconds: 300 }
    const { body } = await opened(service(), reserving)
    const id = textAt(body, "permit_id")
    const redeemed = await service().post(`/permits/${id}/redeem`, { permit: textAt(body, "permit") })
    expect(redeemed.status, redeemed.text).toBe(200)
    service().clock.advance(601_000)
    await service().deps.permitEnds.sweep()
    const { end } = await permitAt(service(), id)
    expect(end).toMatchObject({
      reason: "expired",
      openings: [
        { permit_id: id, charged: 900, total_after: 900, redemption: { redeemed_clock: redeemed.body.redeemed_at } },
      ],
    })
    expect(await service().post("/permits", asking(reserving))).toMatchObject({
      status: 422,
      body: { error_stage: "MACC" },
    })
  })
})

eachDatabase("permits of several keys", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let alice: Holder
  let bob: Holder
  beforeAll(async () => {
    const early = await openedId(service())
    admin = await mint(service(), ADMIN)
    alice = await mint(service(), { ...CUSTOMER, tier: "production" }, admin)
    bob = await mint(service(), CUSTOMER, admin)
    expectRefused(await alice.get(`/permits/${early}`), 404, "not_found")
  })

  test("belong to the key that opened them", async () => {
    const { body } = await opened(alice)
    const id = textAt(body, "permit_id")
    for (const other of [bob, admin]) {
      expectRefused(await other.get(`/permits/${id}`), 404, "not_found")
      expectRefused(await other.post(`/permits/${id}/close`, done()), 404, "not_found")
      expect(JSON.stringify((await other.get("/permits")).body)).not.toContain(id)
    }
    expect((await alice.get("/permits?state=open")).text).toContain(id)
    const nobody = caller(service())
    expectRefused(await nobody.get(`/permits/${id}`), 401, "key_required")
    expectRefused(await nobody.post("/permits", asking()), 401, "key_required")
    // The permit is the credential.
    expect((await nobody.post(`/permits/${id}/redeem`, { permit: textAt(body, "permit") })).status).toBe(200)
    await closed(alice, id)
  })

  test("are listed newest first, by state, in pages", async () => {
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift(await openedId(bob))
    await closed(bob, ids[1] ?? "")
    const page = (await bob.get("/permits?limit=2&offset=0")).body
    expect(page).toMatchObject({
      total: 3,
      limit: 2,
      offset: 0,
      permits: [{ permit_id: ids[0] }, { permit_id: ids[1] }],
    })
    expect((await bob.get("/permits?offset=2")).body).toMatchObject({ permits: [{ permit_id: ids[2] }] })
    expect((await bob.get("/permits?state=closed")).body).toMatchObject({ total: 1, permits: [{ permit_id: ids[1] }] })
    expect((await bob.get("/permits?state=ended")).body).toMatchObject({ total: 0, permits: [] })
  })

  test("of a revoked key end at once, and cannot be redeemed", async () => {
    const leaving = await mint(service(), CUSTOMER, admin)
    const { body } = await opened(leaving, { valid_for_seconds: 3600 })
    const id = textAt(body, "permit_id")
    expect((await admin.send("DELETE", `/admin/keys/${leaving.id}`)).status).toBe(200)
    const answer = await caller(service()).post(`/permits/${id}/redeem`, { permit: textAt(body, "permit") })
    expectRefused(answer, 409, "permit_not_open")
    await service().deps.permitEnds.sweep()
    const [row] = await runSql(service().db, `select state from permit where permit_id = '${id}'`)
    expect(row).toMatchObject({ state: "ended" })
  })

  test("are published with the run that closed them", async () => {
    const id = await openedId(admin)
    const run = numberAt((await closed(admin, id)).body, "run_id")
    const token = textAt((await admin.post(`/admin/runs/${run}/publish`)).body, "token")
    const bundle: JsonObject = (await caller(service()).get(`/public/runs/${token}/bundle.json`)).body
    expect(textAt(bundle, "sections", "permit", "permit_id")).toBe(id)
  })
})

eachDatabase("limits of permits", open => {
  const service = standingService(() => ({ open, config: { rateLimit: 4, permitRateLimit: 3, anonymousRateLimit: 4 } }))
  let alice: Holder
  beforeAll(async () => {
    const admin = await mint(service(), ADMIN)
    alice = await mint(service(), CUSTOMER, admin)
  })

  test("closes have their own, which openings do not use up", async () => {
    service().clock.advance(WINDOW_MS)
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.push(await openedId(alice))
    expectRefused(await alice.post("/permits", asking()), 429, "rate_limited")
    const answers: Answer[] = []
    for (const id of ids) answers.push(await alice.post(`/permits/${id}/close`, done()))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(answers[0]?.headers.get("RateLimit-Policy")).toBe('"permits";q=3;w=60')
  })

  test("redemptions are counted by address", async () => {
    service().clock.advance(WINDOW_MS)
    const nobody = caller(service())
    const path = `/permits/pmt-${"0".repeat(32)}/redeem`
    const answers: Answer[] = []
    for (let i = 0; i < 4; i++) answers.push(await nobody.post(path, { permit: "x" }))
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 429])
  })

  test("a trial key spends its quota at the opening, and closes when it has none left", async () => {
    service().clock.advance(WINDOW_MS)
    const id = await openedId(alice)
    await runSql(
      service().db,
      `insert into trial_admission (admission_id, key_id, admitted_at)
        select 'used-' || n, ${alice.id}, ${service().clock.nowMs()} from generate_series(1, 5000) as n`,
    )
    expectRefused(await alice.post("/permits", asking()), 429, "trial_quota_exceeded")
    await closed(alice, id)
  })
})

describe("open permits", () => {
  const service = standingService()

  test("are at most so many for a key; a closed one makes room", async () => {
    const id = await openedId(service())
    const asked = Array.from({ length: OPEN_PERMITS_MAX }, () =>
      service().post("/permits", asking({ reserve_tokens: 1 })),
    )
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    for (const answer of refused) expectRefused(answer, 429, "too_many_open_permits")
    await closed(service(), id)
    await opened(service())
  })
})
