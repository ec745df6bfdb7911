/** Keys that live: docs/api.md, "PATCH /admin/keys/{id}" and "POST /admin/keys/{id}/rotate". */
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { request, spending } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

eachDatabase("keys that live", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
  })
  const keyOf = async (id: number) =>
    objectAt(listAt((await admin.get("/admin/keys")).body, "keys").find(key => objectAt(key).id === id) ?? {})
  const rotate = async (holder: Holder, body: object = {}): Promise<Holder> => {
    const answer = await admin.post(`/admin/keys/${holder.id}/rotate`, { ...body })
    expect(answer.status, answer.text).toBe(200)
    return { ...caller(service(), textAt(answer.body, "secret")), id: holder.id, name: holder.name }
  }

  describe("POST /admin/keys/{id}/rotate", () => {
    test("gives the same key a new secret: its runs stay its own, and the old secret is refused from the next request on", async () => {
      const old = await mint(service(), CUSTOMER, admin)
      const made = await old.execute(request())
      const renewed = await rotate(old)
      expectRefused(await old.get("/runs"), 401)
      expect((await renewed.get(`/runs/${numberAt(made.body, "run_id")}`)).status).toBe(200)
      expect(await keyOf(old.id)).toMatchObject({ run_count: 1, revoked: false, created_by: `api-key-${admin.id}` })
    })

    test("with overlap_seconds the old secret works until then, and not after it", async () => {
      const old = await mint(service(), CUSTOMER, admin)
      const renewed = await rotate(old, { overlap_seconds: 60 })
      expect([(await old.get("/runs")).status, (await renewed.get("/runs")).status]).toEqual([200, 200])
      service().clock.advance(60_000)
      expectRefused(await old.get("/runs"), 401)
      expect((await renewed.get("/runs")).status).toBe(200)
    })

    test("a second rotation ends an overlap", async () => {
      const first = await mint(service(), CUSTOMER, admin)
      const second = await rotate(first, { overlap_seconds: 600 })
      await rotate(second)
      for (const dead of [first, second]) expectRefused(await dead.get("/runs"), 401)
    })

    test("is refused for a revoked key, an unknown one, too long an overlap, and to a customer", async () => {
      const gone = await mint(service(), CUSTOMER, admin)
      await admin.send("DELETE", `/admin/keys/${gone.id}`)
      expectRefused(await admin.post(`/admin/keys/${gone.id}/rotate`, {}), 409, "key_revoked")
      expectRefused(await admin.post("/admin/keys/999/rotate", {}), 404)
      const key = await mint(service(), CUSTOMER, admin)
      expectRefused(await admin.post(`/admin/keys/${key.id}/rotate`, { overlap_seconds: 604_801 }), 400)
      expectRefused(await key.post(`/admin/keys/${key.id}/rotate`, {}), 403, "admin_key_required")
    })
  })

  describe("PATCH /admin/keys/{id}", () => {
    test("renames, notes, limits; null takes a setting away", async () => {
      const key = await mint(service(), CUSTOMER, admin)
      const change = { name: "acme gmbh", notes: "until the audit", rate_limit: 7, run_token_budget: 0 }
      const changed = await admin.send("PATCH", `/admin/keys/${key.id}`, change)
      expect(changed.body).toMatchObject({ ...change, name: "customer:acme gmbh" })
      const undone = await admin.send("PATCH", `/admin/keys/${key.id}`, { notes: null, rate_limit: null })
      expect(undone.body).not.toHaveProperty("notes")
      expect(undone.body).not.toHaveProperty("rate_limit")
      expect(undone.body).toMatchObject({ run_token_budget: 0 })
    })

    test("an expired key is refused as a revoked one is, and works again with a later expiry", async () => {
      const expires_at = new Date(service().clock.nowMs() + 60_000).toISOString()
      const key = await mint(service(), { ...CUSTOMER, expires_at }, admin)
      expect((await key.get("/runs")).status).toBe(200)
      service().clock.advance(60_000)
      const refused = await key.get("/runs")
      expectRefused(refused, 401, "key_required")
      await admin.send("PATCH", `/admin/keys/${key.id}`, { expires_at: null })
      expect((await key.get("/runs")).status).toBe(200)
      expectRefused(await admin.send("PATCH", `/admin/keys/${key.id}`, { expires_at: "2020-01-01T00:00:00Z" }), 400)
      const noDay = await admin.send("PATCH", `/admin/keys/${key.id}`, { expires_at: "2999-02-30T00:00:00Z" })
      expectRefused(noDay, 400)
      expect(textAt(noDay.body, "error")).toContain("timestamp")
    })

    test("an expired admin makes no keys", async () => {
      const expires_at = new Date(service().clock.nowMs() + 60_000).toISOString()
      const other = await mint(service(), { ...ADMIN, expires_at }, admin)
      service().clock.advance(60_000)
      expectRefused(await other.post("/admin/keys", CUSTOMER), 401)
    })
  })

  describe("the limits of a key", () => {
    test("are those that its records seal: a run beyond them is halted", async () => {
      const limits = { run_token_budget: 100, window_token_budget: 250 }
      const key = await mint(service(), { ...CUSTOMER, ...limits }, admin)
      const halted = await key.execute(spending(101))
      expect(halted.body).toMatchObject({ error_stage: "CCV", ccv_halt_receipt: { budget_limit: 100 } })
      expect((await key.execute(spending(100))).status).toBe(200)
      expect((await key.execute(spending(100))).status).toBe(200)
      const full = await key.execute(spending(50))
      expect(full.body).toMatchObject({ error_stage: "MACC", macc_halt_receipt: { budget_limit: 250 } })
      const bundle = await key.get(`/runs/${numberAt(full.body, "run_id")}/artifacts`)
      expect(objectAt(bundle.body, "sections", "budget_snapshot")).toMatchObject({
        run_limit: 100,
        window: { cap: 250 },
      })
    })

    test("hold for runs at the same time: no more tokens are admitted than the window has", async () => {
      const key = await mint(service(), { ...CUSTOMER, window_token_budget: 1000 }, admin)
      const answers = await Promise.all(Array.from({ length: 20 }, () => key.execute(spending(100))))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    })

    test("a rate limit of its own is announced and kept, over both of its secrets", async () => {
      const key = await mint(service(), { ...CUSTOMER, rate_limit: 3 }, admin)
      const renewed = await rotate(key, { overlap_seconds: 600 })
      const answers = await Promise.all([key, renewed, key, renewed].map(holder => holder.get("/runs")))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429])
      expect(answers[0]?.headers.get("ratelimit-policy")).toContain("q=3;")
    })
  })

  describe("an auditor", () => {
    test("of named keys reads theirs alone", async () => {
      const [acme, other] = [await mint(service(), CUSTOMER, admin), await mint(service(), CUSTOMER, admin)]
      const own = numberAt((await acme.execute(request())).body, "run_id")
      const foreign = numberAt((await other.execute(request())).body, "run_id")
      const auditor = await mint(service(), { name: "audit", scope: "auditor", reads: [acme.id] }, admin)
      expect((await auditor.get(`/admin/runs/${own}`)).body).toMatchObject({ id: own, key_id: acme.id })
      expectRefused(await auditor.get(`/admin/runs/${foreign}`), 404)
      expect(listAt((await auditor.get("/admin/runs")).body, "runs").map(run => objectAt(run).id)).toEqual([own])
      expect(listAt((await auditor.get(`/admin/runs?key=${other.id}`)).body, "runs")).toEqual([])
      expect(listAt((await auditor.get("/admin/usage")).body, "keys")).toHaveLength(1)
    })
  })

  describe("keys and persons", () => {
    const mia = { name: "mia", scope: "approver", person: "mia", groups: ["treasury"] }

    test("an approver's key has a person and groups, and is answered nothing but approvals and its session", async () => {
      const approver = await mint(service(), mia, admin)
      expect(await keyOf(approver.id)).toMatchObject({ scope: "approver", person: "mia", groups: ["treasury"] })
      expect((await approver.get("/session")).body).toMatchObject({ scope: "approver", key_id: approver.id })
      for (const path of ["/runs", "/permits", "/admin/runs", "/admin/keys"])
        expectRefused(await approver.get(path), 403, "approver_key")
      expectRefused(await approver.execute(request()), 403, "approver_key")
    })

    test("its groups can be changed, its person cannot; a key that asks names the persons who may not approve", async () => {
      const approver = await mint(service(), mia, admin)
      const changed = await admin.send("PATCH", `/admin/keys/${approver.id}`, { groups: ["board"], person: "ben" })
      expect(changed.body).toMatchObject({ person: "mia", groups: ["board"], ignored: ["person"] })
      const asking = await mint(service(), { ...CUSTOMER, persons: ["mia"] }, admin)
      expect(await keyOf(asking.id)).toMatchObject({ persons: ["mia"] })
      await admin.send("PATCH", `/admin/keys/${asking.id}`, { persons: null })
      expect(await keyOf(asking.id)).not.toHaveProperty("persons")
    })

    test("the admin events say whose key it is, what changed, and nothing of persons for other keys", async () => {
      const approver = await mint(service(), mia, admin)
      await admin.send("PATCH", `/admin/keys/${approver.id}`, { groups: ["board"] })
      const other = await mint(service(), CUSTOMER, admin)
      const events = listAt((await admin.get("/admin/audit?subject_kind=key&limit=3")).body, "events")
      expect(events).toMatchObject([
        { action: "key.create", subject: { id: `${other.id}` } },
        { action: "key.change", before: { groups: ["treasury"] }, after: { groups: ["board"] } },
        { action: "key.create", after: { scope: "approver", person: "mia", groups: ["treasury"] } },
      ])
      expect(objectAt(objectAt(events[0]), "after")).not.toHaveProperty("person")
    })

    test.each([
      ["an approver without a person", { ...mia, person: null }, "person"],
      ["an approver without groups", { ...mia, groups: null }, "groups"],
      ["an approver in no group", { ...mia, groups: [] }, "groups"],
      ["a person of another key", { ...CUSTOMER, person: "mia" }, "person"],
      ["groups of another key", { ...CUSTOMER, groups: ["treasury"] }, "groups"],
      ["persons of a key that asks for nothing", { ...mia, persons: ["ben"] }, "persons"],
      ["a person of two lines", { ...mia, person: "mia\nben" }, "person"],
      ["more groups than a key has", { ...mia, groups: Array.from({ length: 17 }, (_, at) => `g${at}`) }, "groups"],
      ["groups that no event can hold", { ...mia, groups: Array(9).fill("g".repeat(512)) }, "groups"],
    ])("%s is refused", async (_what, body, field) => {
      const answer = await admin.post("/admin/keys", body)
      expectRefused(answer, 400, "invalid_field")
      expect(answer.text).toContain(field)
    })
  })
})
