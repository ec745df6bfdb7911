/** Two processes on one PostgreSQL: there is one first key, one row of numbers, and no request after a revocation. */
import { describe, expect, test } from "vitest"
import { postgresStart, postgresTitle } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, heldAt, holderOf, mint } from "../harness/key-holders.ts"
import { newKey, sendKeyed } from "../harness/keyed.ts"
import { expectRefused, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { standingTwins } from "../harness/twin-services.ts"

const AT_ONCE = 12

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, () => {
  describe.each([1, 2, 3])("the first key, time %i", () => {
    const twins = standingTwins()

    test("of many made at the same time without a header one is made; every other is refused", async () => {
      const services = Array.from({ length: AT_ONCE }, (_, i) => twins()[i % 2]!)
      const answers = await Promise.all(services.map(service => caller(service).post("/admin/keys", ADMIN)))
      const [made, ...more] = answers.filter(({ status }) => status === 201)
      expect(more).toEqual([])
      for (const answer of answers.filter(one => one !== made)) expectRefused(answer, 401)
      const [one, two] = twins()
      const admin = holderOf(one, made!)
      for (const service of [one, two]) {
        expect(listAt((await heldAt(service, admin).get("/admin/keys")).body, "keys")).toHaveLength(1)
        expectRefused(await caller(service).get("/runs"), 401)
      }
    })
  })

  describe("keys of a locked deployment", () => {
    const twins = standingTwins()
    let admin: Holder | undefined
    const admins = async (): Promise<readonly [Holder, Holder]> => {
      admin ??= await mint(twins()[0], ADMIN)
      return [heldAt(twins()[0], admin), heldAt(twins()[1], admin)]
    }

    test("made at the same time are numbered without a gap, each once", async () => {
      const both = await admins()
      const { body } = await both[0].get("/admin/keys")
      const next = listAt(body, "keys").length + 1
      const made = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) => both[i % 2]!.post("/admin/keys", CUSTOMER)),
      )
      const ids = made.map(answer => numberAt(answer.body, "id")).sort((a, b) => a - b)
      expect(ids).toEqual(Array.from({ length: AT_ONCE }, (_, i) => next + i))
      expect(new Set(made.map(answer => textAt(answer.body, "secret"))).size).toBe(AT_ONCE)
    })

    test("revoked at one are refused by the next request at the other", async () => {
      const [here] = await admins()
      for (let round = 0; round < 5; round++) {
        const customer = await mint(twins()[0], CUSTOMER, here)
        const there = heldAt(twins()[1], customer)
        expect((await there.get("/runs")).status).toBe(200)
        // Requests under way keep the other's look-ups busy while the key is revoked.
        const busy = Promise.all(Array.from({ length: AT_ONCE }, () => there.get("/runs")))
        await here.send("DELETE", `/admin/keys/${customer.id}`)
        const after = await Promise.all(Array.from({ length: AT_ONCE }, () => there.get("/runs")))
        for (const answer of after) expectRefused(answer, 401)
        for (const { status } of await busy) expect([200, 401]).toContain(status)
      }
    })

    test("revoked by both at the same time are revoked once", async () => {
      const both = await admins()
      const { id } = await mint(twins()[0], CUSTOMER, both[0])
      const answers = await Promise.all(both.map(holder => holder.send("DELETE", `/admin/keys/${id}`)))
      expect(answers.map(({ body }) => body)).toEqual([
        { ok: true, id, revoked: true },
        { ok: true, id, revoked: true },
      ])
    })

    test("rotated by both at the same time, under one idempotency key, get one secret, which works", async () => {
      const both = await admins()
      const { id } = await mint(twins()[0], CUSTOMER, both[0])
      const [key, secret] = [newKey(), both[0].secret]
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) =>
          sendKeyed(twins()[i % 2]!, `/admin/keys/${id}/rotate`, key, {}, secret),
        ),
      )
      const [done, ...more] = answers.filter(({ status }) => status === 200)
      expect(more).toEqual([])
      for (const answer of answers.filter(one => one !== done)) expectRefused(answer, 409, "already_done")
      for (const service of twins())
        expect((await caller(service, textAt(done?.body, "secret")).get("/runs")).status).toBe(200)
    })

    test("use the same runs, and publications, at either", async () => {
      const [here, there] = await admins()
      const id = numberAt((await here.execute(request())).body, "run_id")
      expect((await there.get(`/runs/${id}`)).status).toBe(200)
      const answers = await Promise.all([here, there, here, there].map(one => one.post(`/admin/runs/${id}/publish`)))
      const tokens = new Set(answers.map(({ body }) => textAt(body, "token")))
      expect(tokens.size).toBe(1)
      await there.post(`/admin/runs/${id}/unpublish`)
      for (const token of tokens) expectRefused(await caller(twins()[0]).get(`/public/runs/${token}/bundle.json`), 404)
    })
  })
})

describe("one service", () => {
  const service = standingService()

  test("of many first keys made at the same time without a header one is made", async () => {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () => caller(service()).post("/admin/keys", ADMIN)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: AT_ONCE - 1 }, () => 401)])
  })
})
