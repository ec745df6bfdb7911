/**
 * Permits that are opened, closed and ended at once: each is closed or ended, never both, and the movements of a window have no gap.
 * What the house checks after each test is part of every one: chains, budgets and permits as the documents have them.
 */
import { setTimeout } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { HttpError, permitNotOpen } from "../src/http-error.ts"
import { lockKeys, updateKeys } from "../src/store/tables/idempotency-keys.ts"
import { bothDatabases, postgresStart, postgresTitle } from "./database/databases.ts"
import { ADMIN, CUSTOMER, mint } from "./harness/key-holders.ts"
import { insist, newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, expectRefused, textAt } from "./harness/read-answer.ts"
import { readTables, runSql } from "./harness/read-tables.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"
import { until } from "./harness/until.ts"

/** What a permit is asked for. */
const asking = (changes: JsonObject = {}): JsonObject => {
  const { ai_output_text: _output, ...body } = request()
  return { ...body, reserve_tokens: 100, audience: "payments.example", close_within_seconds: 120, ...changes }
}
const closing = (tokens: number): JsonObject => ({
  outcome: "completed",
  ai_output_text: "paid",
  request_substance: { cost: { total_tokens: tokens } },
})

/** Longer than a permit of `asking` can be closed, in milliseconds. */
const LAPSED_MS = (300 + 120 + 1) * 1000

const idOf = ({ body }: Answer): string => textAt(body, "permit_id")

async function opened(service: TestService, count: number): Promise<readonly string[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => service.post("/permits", asking())))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  return answers.map(idOf)
}

const close = (service: TestService, id: string, tokens = 40): Promise<Answer> =>
  service.post(`/permits/${id}/close`, closing(tokens))

/** Redeems without the permit, which the route checks before. */
const redeem = ({ deps }: TestService, permit_id: string): Promise<number> =>
  deps.permits.redeem({ owner: 0, permit_id })

const statusesOf = (answers: readonly Answer[]): readonly number[] => answers.map(({ status }) => status).sort()

async function statesOf({ db }: TestService, ids: readonly string[]): Promise<readonly string[]> {
  const { permits } = await readTables(db)
  return permits.filter(({ permit_id }) => ids.includes(permit_id)).map(({ state }) => state)
}

/** Tokens in all windows. */
async function tokensOf({ db }: TestService): Promise<number> {
  return (await readTables(db)).windows.reduce((sum, { total }) => sum + total, 0)
}

bothDatabases("permits", open => {
  const service = standingService(() => ({ open }))

  test("of several closes of one permit at once one is sealed", async () => {
    const before = await tokensOf(service())
    const ids = await opened(service(), 8)
    const answers = await Promise.all(ids.map(id => Promise.all([1, 2, 3].map(() => close(service(), id)))))
    for (const of of answers) expect(statusesOf(of)).toEqual([200, 409, 409])
    expect(new Set(await statesOf(service(), ids))).toEqual(new Set(["closed"]))
    expect(await tokensOf(service())).toBe(before + 8 * 40)
  })

  test("a close and an end at once: one of them", async () => {
    let closed = 0
    for (const head_start of [0, 3, 6, 9, 12, 15, "until one is answered"] as const) {
      const before = await tokensOf(service())
      const ids = await opened(service(), 12)
      service().clock.advance(LAPSED_MS - 3000)
      // Admitted in time or just not; the sweeper finds the permits due while they are sealed.
      const closes = ids.map(id => close(service(), id))
      await (typeof head_start === "number" ? setTimeout(head_start) : Promise.race(closes))
      service().clock.advance(5000)
      const [answers] = await Promise.all([Promise.all(closes), service().deps.permitEnds.sweep()])
      await service().deps.permitEnds.sweep()
      const sealed = answers.filter(({ status }) => status === 200).length
      for (const answer of answers) if (answer.status !== 200) expectRefused(answer, 409)
      const states = await statesOf(service(), ids)
      expect(states.filter(state => state === "closed")).toHaveLength(sealed)
      expect(states.filter(state => state === "ended")).toHaveLength(ids.length - sealed)
      expect(await tokensOf(service())).toBe(before + 40 * sealed)
      closed += sealed
    }
    expect(closed).toBeGreaterThan(0)
  })

  test("what was spent beyond a reservation is a charge of its own", async () => {
    const before = await tokensOf(service())
    const [id = ""] = await opened(service(), 1)
    expect((await close(service(), id, 130)).status).toBe(200)
    const { movements } = await readTables(service().db)
    expect(movements.slice(-3).map(({ kind, tokens }) => [kind, tokens])).toEqual([
      ["reserve", 100],
      ["settle", 0],
      ["charge", 30],
    ])
    expect(await tokensOf(service())).toBe(before + 130)
  })

  test("a close that was sealed after its key was read is given again, and is not a refusal", async () => {
    const { db, deps, clock } = service()
    const claim = { key_hash: "c1".repeat(32), request_digest: "d1".repeat(32) }
    const settled = await deps.idempotencyKeys.once(claim, async () => {
      await db.transaction(async tx => {
        await lockKeys(tx, [claim], clock.nowMs())
        await updateKeys(tx, [{ ...claim, charge_id: "", record_id: "7", kept_at: clock.nowMs() }])
      })
      throw permitNotOpen()
    })
    expect(settled).toEqual({ record_id: "7" })
    const never = { ...claim, key_hash: "c2".repeat(32) }
    await expect(deps.idempotencyKeys.once(never, () => Promise.reject(permitNotOpen()))).rejects.toThrow(HttpError)
  })

  test("a clock that steps back extends nothing", async () => {
    const [id = ""] = await opened(service(), 1)
    service().clock.advance(LAPSED_MS)
    expect((await service().execute(request())).status).toBe(200)
    service().clock.advance(-30_000)
    // The sweeper, which works at intervals, may have ended it before the clock stepped back.
    await expect(redeem(service(), id), "it has expired by the log").rejects.toMatchObject({
      code: expect.stringMatching(/^permit_(invalid|not_open)$/),
    })
    await service().deps.permitEnds.sweep()
    expect(await statesOf(service(), [id])).toEqual(["ended"])
    service().clock.advance(30_000)
  })

  test("of several redemptions at once one counts", async () => {
    const [id = ""] = await opened(service(), 1)
    const redeemed = await Promise.allSettled([1, 2, 3, 4].map(() => redeem(service(), id)))
    expect(redeemed.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    for (const one of redeemed)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "already_redeemed" })
    expect((await close(service(), id)).status).toBe(200)
    await expect(redeem(service(), id)).rejects.toMatchObject({ code: "permit_not_open" })
  })

  test.each(["permit", "document", "token_movement"])(
    "a database that refuses rows of %s: nothing is opened or ended, and nothing moves",
    async table => {
      const { db, clock, deps } = service()
      const [id = ""] = await opened(service(), 1)
      const before = await readTables(db)
      clock.advance(LAPSED_MS)
      await runSql(
        db,
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$",
      )
      await runSql(db, `create trigger refuse before insert on ${table} for each row execute function refuse()`)
      try {
        expectRefused(await service().post("/permits", asking()), 503)
        if (table !== "permit") await deps.permitEnds.sweep()
        if (table !== "permit") expect(await readTables(db)).toEqual(before)
      } finally {
        await runSql(db, `drop trigger refuse on ${table}`)
        await runSql(db, "drop function refuse()")
      }
      await deps.permitEnds.sweep()
      expect(await statesOf(service(), [id])).toEqual(["ended"])
    },
  )
})

bothDatabases("a thousand permits", open => {
  const service = standingService(() => ({ open }))

  test("are all that a key may have open; they end in the same second, in few documents", async () => {
    for (let portion = 0; portion < 20; portion++) await opened(service(), 50)
    expectRefused(await service().post("/permits", asking()), 429)
    const before = await readTables(service().db)
    expect(before.permits.filter(({ state }) => state === "open")).toHaveLength(1000)
    expect(await tokensOf(service())).toBe(1000 * 100)
    service().clock.advance(LAPSED_MS)
    await service().deps.permitEnds.sweep()
    const { permits, ends } = await readTables(service().db)
    expect(permits.every(({ state }) => state === "ended")).toBe(true)
    expect(ends.length).toBeLessThanOrEqual(8)
    expect(await tokensOf(service())).toBe(0)
    expect((await service().post("/permits", asking())).status).toBe(201)
  })
})

bothDatabases("the permits of a revoked key", open => {
  const service = standingService(() => ({ open }))

  test("end at once, and it opens no more", async () => {
    const admin = await mint(service(), ADMIN)
    const holder = await mint(service(), CUSTOMER, admin)
    const asked = await Promise.all([1, 2, 3].map(() => holder.post("/permits", asking())))
    expect(statusesOf(asked)).toEqual([201, 201, 201])
    const [, late] = await Promise.all([
      admin.send("DELETE", `/admin/keys/${holder.id}`),
      holder.post("/permits", asking()),
    ])
    const permits = await until("they have ended", async () => {
      const found = (await readTables(service().db)).permits
      return found.every(({ state }) => state !== "open") ? found : undefined
    })
    expect(permits).toHaveLength(late.status === 201 ? 4 : 3)
    const { ends } = await readTables(service().db)
    for (const { document } of ends) expect(JSON.parse(document)).toMatchObject({ reason: "revoked" })
    expectRefused(await holder.post("/permits", asking()), 401)
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, () => {
  const twins = standingTwins()
  const twin = (i: number): TestService => twins()[i % 2]!

  test("runs, openings, closes and ends at once: no movement is missing, none is made twice, and everybody is answered", async () => {
    const ids = await opened(twin(0), 30)
    const lapsing = await Promise.all(
      Array.from({ length: 20 }, (_, i) => twin(i).post("/permits", asking({ valid_for_seconds: 1 }))),
    )
    twin(0).clock.advance(122_000)
    const answers = await Promise.all([
      ...ids.map((id, i) => insist(twin(i), `/permits/${id}/close`, closing(90 + i))),
      ...Array.from({ length: 60 }, (_, i) => insist(twin(i), "/execute", spending(i % 30))),
      ...Array.from({ length: 30 }, (_, i) => insist(twin(i), "/permits", asking({ reserve_tokens: i }))),
      ...[0, 1].map(async i => {
        await twin(i).deps.permitEnds.sweep()
        return lapsing[i]!
      }),
    ])
    expect(answers.filter(({ status }) => status >= 400)).toEqual([])
    expect(new Set(await statesOf(twin(0), lapsing.map(idOf)))).toEqual(new Set(["ended"]))
    expect(new Set(await statesOf(twin(0), ids))).toEqual(new Set(["closed"]))
  })

  test("closes of one permit at both processes: one is sealed", async () => {
    const ids = await opened(twin(0), 10)
    const answers = await Promise.all(ids.map(id => Promise.all([0, 1].map(i => close(twin(i), id)))))
    for (const of of answers) expect(statusesOf(of)).toEqual([200, 409])
  })

  test("an opening and a close under one key are made once, whatever process is asked", async () => {
    const key = newKey()
    const before = (await readTables(twin(0).db)).permits.length
    const asked = await Promise.all([0, 1, 0, 1].map(i => sendKeyed(twin(i), "/permits", key, asking())))
    const again = await sendKeyed(twin(0), "/permits", key, asking())
    expect(again.status).toBe(201)
    for (const answer of asked) expect([201, 409, 503]).toContain(answer.status)
    const made = new Set([...asked, again].filter(({ status }) => status === 201).map(idOf))
    expect(made.size).toBe(1)
    expect((await readTables(twin(0).db)).permits).toHaveLength(before + 1)
    const closes = newKey()
    const path = `/permits/${idOf(again)}/close`
    await Promise.all([0, 1, 0, 1].map(i => sendKeyed(twin(i), path, closes, closing(50))))
    const last = await sendKeyed(twin(1), path, closes, closing(50))
    expect(last.status).toBe(200)
    expectRefused(await close(twin(0), idOf(again)), 409)
  })
})
