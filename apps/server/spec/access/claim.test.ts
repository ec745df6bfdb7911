/** docs/api.md, "POST /admin/runs/claim": the runs of open mode are given to a key, once. */
import { parseStrictJson } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const CLAIM = "/admin/runs/claim"

eachDatabase("the runs of open mode", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let acme: Holder
  let other: Holder
  const idsOf = async (holder: Holder, path: string): Promise<readonly number[]> =>
    listAt((await holder.get(path)).body, "runs").map(run => numberAt(run, "id"))

  beforeAll(async () => {
    const anonymous = caller(service())
    for (const body of [request(), request({ payload: EICAR }), request({ route_id: "open/mode" })])
      await anonymous.execute(body)
    expectRefused(await anonymous.post(CLAIM, { key_id: 1 }), 403)
    admin = await mint(service(), ADMIN)
    acme = await mint(service(), CUSTOMER, admin)
    other = await mint(service(), CUSTOMER, admin)
    await acme.execute(request())
    await acme.execute(request({ route_id: "open/mode" }))
  })

  test("belong to no key before: they are in no list, and under their numbers there is no run", async () => {
    expect(await idsOf(acme, "/runs")).toEqual([5, 4])
    expectRefused(await acme.get("/runs/1"), 404)
    expectRefused(await acme.get("/runs/export?tenant=anonymous"), 404)
  })

  test.each([{}, { key_id: 0 }, { key_id: "2" }, { key_id: 1.5 }])("are not given by a bad body: %j", async body => {
    expect(expectRefused(await admin.post(CLAIM, body), 400)).toMatch(/^key_id: /)
  })

  test("are given by an admin key alone, to a key that exists and is not revoked", async () => {
    expectRefused(await acme.post(CLAIM, { key_id: acme.id }), 403)
    expectRefused(await admin.post(CLAIM, { key_id: 99 }), 404)
    const revoked = await mint(service(), CUSTOMER, admin)
    await admin.send("DELETE", `/admin/keys/${revoked.id}`)
    expectRefused(await admin.post(CLAIM, { key_id: revoked.id }), 404)
  })

  describe("once they are given", () => {
    beforeAll(async () => {
      const answers = await Promise.all([1, 2, 3].map(() => admin.post(CLAIM, { key_id: acme.id })))
      for (const { status, body } of answers) {
        expect(status).toBe(200)
        expect(body).toMatchObject({ ok: true, key_id: acme.id, claimed_by: admin.id, runs: 3 })
      }
      expect(new Set(answers.map(({ body }) => body.claimed_at)).size).toBe(1)
    })

    test("they are given to no other key", async () => {
      expect(expectRefused(await admin.post(CLAIM, { key_id: other.id }), 409)).toContain(`to key ${acme.id} already`)
      expect(await idsOf(other, "/runs")).toEqual([])
      expectRefused(await other.get("/runs/1"), 404)
    })

    test("the key lists and searches them after its own, and pages across both", async () => {
      expect(await idsOf(acme, "/runs")).toEqual([5, 4, 3, 2, 1])
      for (const limit of [1, 2, 3]) {
        const pages = await Promise.all(
          [0, 1, 2, 3, 4, 5].map(offset => acme.get(`/runs?limit=${limit}&offset=${offset}`)),
        )
        for (const [offset, { body }] of pages.entries()) {
          expect(body.total).toBe(5)
          expect(listAt(body, "runs").map(run => numberAt(run, "id"))).toEqual(
            [5, 4, 3, 2, 1].slice(offset, offset + limit),
          )
        }
      }
      for (const before of [6, 5, 4, 3, 2, 1]) {
        const { body } = await acme.get(`/runs?limit=2&before=${before}`)
        expect(body.total).toBe(5)
        expect(listAt(body, "runs").map(run => numberAt(run, "id"))).toEqual(
          [5, 4, 3, 2, 1].filter(id => id < before).slice(0, 2),
        )
      }
      expect(await idsOf(acme, "/runs/search?route_id=open%2Fmode")).toEqual([5, 3])
      expect(await idsOf(acme, "/runs/search?status=pepg_deny")).toEqual([2])
    })

    test("the key reads, verifies and reports them; the record's tenant is as it was sealed", async () => {
      expect((await acme.get("/runs/1/verify")).body).toMatchObject({ verified: true })
      expect((await acme.get("/runs/2/deny-receipt")).status).toBe(200)
      expect(
        (
          await service().request("/runs/1/report.pdf?format=brief", {
            headers: { "X-Service-Key": acme.secret ?? "" },
          })
        ).status,
      ).toBe(200)
      const bundle = (await acme.get("/runs/1/artifacts")).body
      expect(bundle).toMatchObject({ run: { tenant_id: "anonymous" } })
      expect((await acme.post("/dcae/verify", bundle)).body).toMatchObject({ verified: true })
    })

    test("the key exports their chain by itself, and its own as before", async () => {
      const tenantsOf = async (query: string): Promise<readonly string[]> => {
        const response = await service().request(`/runs/export${query}`, {
          headers: { "X-Service-Key": acme.secret ?? "" },
        })
        const [statement = "", ...bundles] = (await response.text()).trim().split("\n")
        const tenant = textAt(objectAt(parseStrictJson(statement)), "tenant_id")
        return [tenant, ...bundles.map(bundle => textAt(objectAt(objectAt(parseStrictJson(bundle)).run), "tenant_id"))]
      }
      expect(await tenantsOf("?tenant=anonymous")).toEqual(["anonymous", "anonymous", "anonymous", "anonymous"])
      const own = `api-key-${acme.id}`
      expect(await tenantsOf("")).toEqual([own, own, own])
      expect(expectRefused(await acme.get("/runs/export?tenant=acme"), 400)).toMatch(/^tenant must be/)
    })

    test("the list of keys says who gave them to whom, and nothing of budgets and counts changed", async () => {
      const keys = listAt((await admin.get("/admin/keys")).body, "keys").map(key => objectAt(key))
      expect(keys.filter(key => "claim" in key)).toMatchObject([
        { id: acme.id, run_count: 2, claim: { claimed_by: admin.id } },
      ])
      const chains = await service().db.sql`select tenant_id, record_count from tenant where owner >= 0 order by owner`
      expect(chains).toMatchObject([
        { tenant_id: "anonymous", record_count: 3 },
        { tenant_id: `api-key-${acme.id}`, record_count: 2 },
      ])
    })
  })
})

eachDatabase("without runs of open mode", open => {
  const service = standingService(() => ({ open }))
  test("there is nothing to give: 409, and nothing is recorded", async () => {
    const admin = await mint(service(), ADMIN)
    expect(expectRefused(await admin.post(CLAIM, { key_id: admin.id }), 409)).toContain("nothing to give")
    expect(await service().db.sql`select key_id from run_claim`).toEqual([])
  })
})
