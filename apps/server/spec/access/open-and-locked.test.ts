/** docs/api.md, "Keys": open mode while no key was ever created, locked mode for ever after. */
import { type JsonObject, parseStrictJson } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, numberAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const UNKNOWN_SECRET = `rsk_${"0".repeat(48)}`
const MALFORMED = ["", " ", "rsk_", "x".repeat(10_000), UNKNOWN_SECRET.toUpperCase(), `${UNKNOWN_SECRET}0`, "Bearer x"]

eachDatabase("open mode", open => {
  const service = standingService(() => ({ open }))
  const anonymous = (): Holder => caller(service())

  test("admits everybody as the tenant anonymous, whatever the key header says", async () => {
    for (const secret of [undefined, UNKNOWN_SECRET, ...MALFORMED]) {
      const run = await caller(service(), secret).execute(request())
      expect(run.status).toBe(200)
      const bundle = await caller(service()).get(`/runs/${numberAt(run.body, "run_id")}/artifacts`)
      expect(bundle.body).toMatchObject({
        run: { tenant_id: "anonymous" },
        sections: { request_substance: { origin: { authentication: { method: "anonymous", api_key_id: 0 } } } },
      })
    }
  })

  test("stays open when the first key is asked for wrongly", async () => {
    expectRefused(await anonymous().post("/admin/keys", { name: "ops", scope: "admin" }), 400)
    expectRefused(await anonymous().post("/admin/keys", {}), 400)
    expect((await anonymous().get("/runs")).status).toBe(200)
  })
})

eachDatabase("the hint of the first key", open => {
  describe.each<readonly [string, JsonObject, boolean]>([
    ["a customer key", CUSTOMER, true],
    ["an admin key", ADMIN, false],
  ])("%s", (_kind, body, locksOut) => {
    const service = standingService(() => ({ open }))

    test("says that the service is locked from now on, and how to get an admin key when there is none", async () => {
      const first = await caller(service()).post("/admin/keys", body)
      expect(first.status).toBe(201)
      const hint = textAt(first.body, "hint")
      expect(hint).toContain("the service is locked")
      expect(hint.includes("--mint-admin-key")).toBe(locksOut)
      expect(expectRefused(await caller(service()).get("/admin/keys"), 401)).toContain("--mint-admin-key")
    })
  })
})

eachDatabase("locked mode", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  test("begins with the first key, which needs no header", async () => {
    expect((await caller(service()).execute(request())).status).toBe(200)
    admin = await mint(service(), ADMIN)
    expect(admin.id).toBe(1)
    expectRefused(await caller(service()).execute(request()), 401)
    expect((await admin.execute(request())).status).toBe(200)
  })

  test("stays locked when every key is revoked", async () => {
    expect((await admin.send("DELETE", `/admin/keys/${admin.id}`)).status, "an admin may revoke its own key").toBe(200)
    expectRefused(await admin.get("/runs"), 401)
    expectRefused(await caller(service()).get("/runs"), 401)
    expectRefused(await caller(service()).post("/admin/keys", ADMIN), 401)
  })
})

describe("the first key", () => {
  const service = standingService()

  test("may be a customer's; then nobody administers until the operator makes an admin key at the machine", async () => {
    const customer = await mint(service(), CUSTOMER)
    expect((await customer.execute(request())).status).toBe(200)
    expectRefused(await customer.post("/admin/keys", ADMIN), 403)
    expectRefused(await caller(service()).post("/admin/keys", ADMIN), 401)
  })

  test("the envelope of a refusal is strict JSON and not to be cached", async () => {
    for (const secret of [undefined, `rsk_${"0".repeat(48)}`]) {
      const { text, headers } = await caller(service(), secret).get("/runs")
      expect(parseStrictJson(text)).toMatchObject({ ok: false })
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("www-authenticate"), "RFC 9110 §15.5.2").toBe('ApiKey realm="runseal", header="X-Service-Key"')
    }
  })
})
