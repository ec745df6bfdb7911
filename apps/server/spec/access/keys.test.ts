/** Making, listing and revoking keys: docs/api.md, "POST /admin/keys", "GET /admin/keys" and "DELETE /admin/keys/{id}". */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { keyListSchema, mintedKeySchema, revokedKeySchema } from "@runseal/core/wire/key-requests"
import * as v from "valibot"
import { beforeAll, describe, expect, test } from "vitest"
import { USE_NOTED_EVERY_MS } from "../../src/http/access/key-directory.ts"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, keysOf, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { CANARY } from "../harness/refusal.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

eachDatabase("keys", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let customer: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    customer = await mint(service(), CUSTOMER, admin)
  })

  const listed = async (id: number): Promise<JsonObject> => {
    const { body } = await admin.get("/admin/keys")
    expect(v.is(keyListSchema, body)).toBe(true)
    return objectAt(listAt(body, "keys")[id - 1])
  }

  describe("POST /admin/keys", () => {
    test("answers 201 with id, name, secret, tier and hint, not to be cached", async () => {
      const answer = await admin.post("/admin/keys", ADMIN)
      expect(answer.status).toBe(201)
      expect(keysOf(answer.body)).toEqual(["hint", "id", "name", "ok", "secret", "tier"])
      expect(v.is(mintedKeySchema, answer.body)).toBe(true)
      expect(answer.body).toMatchObject({ ok: true, name: "ops", tier: "production" })
      expect(answer.headers.get("cache-control")).toBe("no-store")
    })

    test("a key that is not the first has a hint about its secret alone", async () => {
      expect(textAt((await admin.post("/admin/keys", CUSTOMER)).body, "hint")).not.toContain("locked")
    })

    test("gives every key its own secret: rsk_ and 24 random bytes in hex", async () => {
      const secrets = [admin.secret, customer.secret, (await mint(service(), CUSTOMER, admin)).secret]
      for (const secret of secrets) expect(secret).toMatch(/^rsk_[0-9a-f]{48}$/)
      expect(new Set(secrets).size).toBe(3)
    })

    test.each<readonly [string, JsonObject, JsonObject]>([
      ["a customer's", { name: "acme" }, { name: "customer:acme", scope: "customer", tier: "trial" }],
      [
        "a customer's of tier production",
        { name: "acme", tier: "production" },
        { name: "customer:acme", scope: "customer", tier: "production" },
      ],
      [
        "a customer's whatever it confirms",
        { name: "acme", confirm_admin_scope: true },
        { name: "customer:acme", scope: "customer", tier: "trial" },
      ],
      ["an admin's", ADMIN, { name: "ops", scope: "admin", tier: "production" }],
      ["an admin's of tier trial", { ...ADMIN, tier: "trial" }, { name: "ops", scope: "admin", tier: "trial" }],
      ["a name of two bytes a letter", { name: "Größe 日本 🙂" }, { name: "customer:Größe 日本 🙂" }],
      ["a name with emoji of several parts", { name: "ops 👩🏽‍🚀 ❤️‍🔥" }, { name: "customer:ops 👩🏽‍🚀 ❤️‍🔥" }],
      ["the longest name", { name: "n".repeat(128) }, { name: `customer:${"n".repeat(128)}` }],
      ["an unknown member, which is ignored", { name: "acme", colour: "red" }, { name: "customer:acme" }],
    ])("%s key", async (_case, body, expected) => {
      const { id } = await mint(service(), body, admin)
      expect(await listed(id)).toMatchObject({ ...expected, run_count: 0, last_used_at: null, revoked: false })
    })

    test("whose request has unknown members names them", async () => {
      const { status, body } = await admin.post("/admin/keys", {
        name: "acme",
        teir: "production",
        Scope: "admin",
        x: null,
      })
      expect({ status, tier: body.tier, ignored: body.ignored }).toEqual({
        status: 201,
        tier: "trial",
        ignored: ["teir", "Scope"],
      })
    })

    test.each<readonly [string, JsonValue]>([
      ["no name", {}],
      ["an empty name", { name: "" }],
      ["a blank name", { name: "  " }],
      ["a name that is no text", { name: 7 }],
      ["a name too long", { name: "n".repeat(129) }],
      ["a name of two lines", { name: `${CANARY}\n2` }],
      ["a name with U+0000", { name: `${CANARY}\u0000` }],
      ["a name with an escape sequence", { name: `${CANARY}\u001b[2J` }],
      ["a name that reverses the direction of text", { name: `${CANARY}\u202e` }],
      ["a name with a space of no width", { name: `${CANARY}\u200b` }],
      ["a name with a joiner that joins nothing", { name: `${CANARY}\u200d` }],
      ["a name with a byte order mark", { name: `\ufeff${CANARY}` }],
      ["a name with a soft hyphen", { name: `can\u00adary-${CANARY}` }],
      ["a name with a letter that is a blank", { name: `${CANARY}\u3164` }],
      ["a name with invisible tags", { name: `${CANARY}\u{e0041}` }],
      ["an admin's name that resembles a customer's", { ...ADMIN, name: "customer:acme" }],
      ["an unknown scope", { name: "acme", scope: CANARY }],
      ["the scope customer, which is asked for by none", { name: "acme", scope: "customer" }],
      ["scope admin without its confirmation", { name: "ops", scope: "admin" }],
      ["scope admin with a false confirmation", { ...ADMIN, confirm_admin_scope: false }],
      ["scope admin with the text true", { ...ADMIN, confirm_admin_scope: "true" }],
      ["an unknown tier", { name: "acme", tier: CANARY }],
      ["a list", [CUSTOMER]],
    ])("refuses %s", async (_case, body) => {
      const before = await service().db.sql`select count(*) as keys from api_key`
      const answer = await admin.post("/admin/keys", body)
      expectRefused(answer, 400)
      expect(answer.text).not.toContain(CANARY)
      expect(await service().db.sql`select count(*) as keys from api_key`).toEqual(before)
    })
  })

  describe("GET /admin/keys", () => {
    test("shows when a key was last used, written at most once a minute", async () => {
      const { id, get } = await mint(service(), CUSTOMER, admin)
      expect(await listed(id)).toMatchObject({ last_used_at: null })
      const before = service().clock.nowMs()
      await get("/runs")
      const { last_used_at: first } = await listed(id)
      expect(Date.parse(String(first))).toBeGreaterThanOrEqual(before)
      await get("/runs")
      expect(await listed(id)).toMatchObject({ last_used_at: first ?? "" })
      service().clock.advance(USE_NOTED_EVERY_MS)
      await get("/runs")
      expect(Date.parse(String((await listed(id)).last_used_at))).toBeGreaterThanOrEqual(before + USE_NOTED_EVERY_MS)
    })
  })

  describe("DELETE /admin/keys/{id}", () => {
    test("revokes from the next request on; a second call changes nothing", async () => {
      const { id, get } = await mint(service(), CUSTOMER, admin)
      expect((await get("/runs")).status).toBe(200)
      for (let time = 0; time < 2; time++) {
        const answer = await admin.send("DELETE", `/admin/keys/${id}`)
        expect(answer.status).toBe(200)
        expect(v.is(revokedKeySchema, answer.body)).toBe(true)
        expect(answer.body).toEqual({ ok: true, id, revoked: true })
      }
      expectRefused(await get("/runs"), 401)
      expect(await listed(id)).toMatchObject({ revoked: true })
    })

    test("knows no key of another number or spelling", async () => {
      for (const id of ["0", "999999", "01", "+1", "-1", "1.0", "1e0", "9007199254740993", "x", "%31%00", "1%2F"])
        expectRefused(await admin.send("DELETE", `/admin/keys/${id}`), 404)
      expect(await listed(1)).toMatchObject({ revoked: false })
    })
  })

  test("a customer gets 403 on /admin/*, before body, key or run are checked", async () => {
    const before = await service().db.sql`select count(*) as keys, sum(revoked_at) as revoked from api_key`
    const run = numberAt((await customer.execute(request())).body, "run_id")
    const calls: readonly (readonly [string, string, JsonValue?])[] = [
      ["GET", "/admin/keys"],
      ["POST", "/admin/keys", ADMIN],
      ["POST", "/admin/keys", "no object"],
      ["DELETE", `/admin/keys/${admin.id}`],
      ["DELETE", "/admin/keys/999999"],
      ["DELETE", "/admin/keys/x"],
      ["POST", `/admin/runs/${run}/publish`],
      ["POST", "/admin/runs/999999/publish"],
      ["POST", `/admin/runs/${run}/unpublish`],
      ["POST", "/admin/runs/x/unpublish"],
      ["GET", "/admin/no-such-endpoint"],
      ["GET", "/admin"],
    ]
    const answers = new Set<string>()
    for (const [method, path, body] of calls) answers.add(expectRefused(await customer.send(method, path, body), 403))
    expect(answers.size).toBe(1)
    expect(await service().db.sql`select count(*) as keys, sum(revoked_at) as revoked from api_key`).toEqual(before)
  })

  test("two keys may bear the same name; each is its own tenant", async () => {
    const [one, two] = [await mint(service(), CUSTOMER, admin), await mint(service(), CUSTOMER, admin)]
    const run = await one.execute(request())
    expect(numberAt((await two.get("/runs")).body, "total")).toBe(0)
    const { body } = await one.get(`/runs/${numberAt(run.body, "run_id")}/artifacts`)
    expect(body).toMatchObject({
      run: { tenant_id: `api-key-${one.id}` },
      sections: {
        request_substance: {
          origin: {
            authentication: { method: "api_key", api_key_id: one.id, api_key_name: "customer:acme" },
          },
        },
      },
    })
  })
})
