/** What administrators see of all keys, and their own actions, sealed: docs/api.md, "The deployment". */
import { digest, utf8Encode } from "@runseal/canonical"
import { foldExport } from "@runseal/core/verify/completeness"
import { verifyText } from "@runseal/core/verify/document"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { asking } from "../harness/asked-permits.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { runSql } from "../harness/read-tables.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

eachDatabase("admin views", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let acme: Holder
  let other: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    acme = await mint(service(), CUSTOMER, admin)
    other = await mint(service(), { name: "other", tier: "production" }, admin)
    for (let i = 0; i < 3; i++) {
      await acme.execute(request())
      await other.execute(request({ route_id: "other/route" }))
    }
    await acme.execute(request({ request_substance: { cost: { total_tokens: 9_000_000_000 } } }))
    await acme.post("/permits", asking())
  })
  const ids = async (path: string) =>
    listAt((await admin.get(path)).body, "runs").map(run => numberAt(objectAt(run), "id"))

  test("GET /admin/runs shows all keys' runs, newest first, in pages that neither repeat nor leave out one", async () => {
    expect(await ids("/admin/runs")).toEqual([7, 6, 5, 4, 3, 2, 1])
    const pages: number[] = []
    for (let path: string | undefined = "/admin/runs?limit=2"; path !== undefined; ) {
      const { body } = await admin.get(path)
      pages.push(...listAt(body, "runs").map(run => numberAt(objectAt(run), "id")))
      path = objectAt(body).next === undefined ? undefined : `/admin/runs?limit=2&before=${numberAt(body, "next")}`
    }
    expect(pages).toEqual([7, 6, 5, 4, 3, 2, 1])
  })

  test.each([
    ["key=3", [6, 4, 2]],
    ["key=2&before=5", [3, 1]],
    ["route_id=other/route&limit=2", [6, 4]],
    ["route_id=other/route&limit=2&before=4", [2]],
    ["outcome_kind=ccv_halt", [7]],
    ["error_stage=CCV", [7]],
    ["key=0", []],
    ["from=2000-01-01&to=2001-01-01", []],
    ["from=2000-01-01&before=3", [2, 1]],
    ["after=4", [7, 6, 5]],
    ["after=1&limit=2&key=3", [4, 2]],
    ["after=5&limit=1&route_id=other/route", [6]],
    ["closing_outcome=failed", []],
    ["details=record&with=counts&key=3", [6, 4, 2]],
  ])("GET /admin/runs?%s", async (query, expected) => {
    expect(await ids(`/admin/runs?${query}`)).toEqual(expected)
  })

  test.each([
    ["", 6, 1],
    ["key=3", 3, 0],
    ["route_prefix=other/", 3, 0],
    ["outcome_kind=ccv_halt", 6, 1],
    ["from=2000-01-01&key=2", 3, 1],
    ["to=2001-01-01", 0, 0],
  ])(
    "GET /admin/runs?with=counts&%s counts the outcomes of all that match the other filters",
    async (query, ok, ccv_halt) => {
      const { body } = await admin.get(`/admin/runs?with=counts&limit=1&${query}`)
      expect(objectAt(body.counts)).toMatchObject({ ok, ccv_halt, pepg_deny: 0 })
      expect((await admin.get("/admin/runs")).body).not.toHaveProperty("counts")
    },
  )

  test("GET /admin/runs says why a run was refused", async () => {
    const [refused, passed] = listAt((await admin.get("/admin/runs")).body, "runs")
    expect(objectAt(refused)).toMatchObject({ id: 7, explanation: { reason: "TOKEN_BUDGET_EXCEEDED" } })
    expect(objectAt(passed)).not.toHaveProperty("explanation")
  })

  test("GET /admin/permits and its pages; one permit with its documents", async () => {
    const { body } = await admin.get("/admin/permits?state=open&limit=1")
    expect(body).toMatchObject({ ok: true })
    const [permit = {}] = listAt(body, "permits").map(each => objectAt(each))
    expect(permit).toMatchObject({ key_id: acme.id, state: "open" })
    const rest = await admin.get(`/admin/permits?key=${acme.id}&before=${textAt(body, "next")}`)
    expect(listAt(rest.body, "permits")).toEqual([])
    expect((await admin.get(`/admin/permits/${textAt(permit, "permit_id")}`)).body).toHaveProperty("opening")
    expect(listAt((await admin.get(`/admin/permits?key=${other.id}`)).body, "permits")).toEqual([])
  })

  test("GET /admin/usage counts runs by outcome, tokens, window and trial", async () => {
    const keys = listAt((await admin.get("/admin/usage")).body, "keys").map(each => objectAt(each))
    expect(keys.map(({ key_id }) => key_id)).toEqual([1, 2, 3])
    expect(keys[1]).toMatchObject({ runs: 4, outcomes: { ok: 3, ccv_halt: 1, pepg_deny: 0 }, open_permits: 1 })
    expect(keys[1]).toMatchObject({ trial: { used: 5, left: 4995 } })
    expect(keys[2]).toMatchObject({ runs: 3, outcomes: { ok: 3 }, tier: "production" })
    expect(keys[2]).not.toHaveProperty("trial")
  })

  test("GET /admin/overview counts runs by outcome over time, what denied them, and the entries of the log", async () => {
    const STEPS = { "24h": 24, "7d": 28, "30d": 30, "90d": 90 }
    for (const [range, count] of Object.entries(STEPS)) {
      const { body } = await admin.get(`/admin/overview?range=${range}`)
      const steps = listAt(body, "steps").map(step => objectAt(step))
      expect(steps).toHaveLength(count)
      const from = steps.map(step => Date.parse(textAt(step, "from")))
      expect(new Set(from.slice(1).map((at, i) => at - (from[i] ?? 0)))).toEqual(
        new Set([numberAt(body, "step_seconds") * 1000]),
      )
      const sum = (of: (step: (typeof steps)[number]) => number) => steps.reduce((total, step) => total + of(step), 0)
      const runs = listAt((await admin.get("/admin/runs")).body, "runs").map(run => textAt(run, "outcome_kind"))
      expect(sum(step => numberAt(step, "runs"))).toBe(runs.length)
      for (const kind of ["ok", "ccv_halt", "pepg_deny"])
        expect(
          sum(step => numberAt(step.outcomes ?? {}, kind)),
          kind,
        ).toBe(runs.filter(one => one === kind).length)
      const { size } = objectAt(objectAt((await admin.get("/")).body).log ?? {})
      expect(sum(step => numberAt(step, "log_entries"))).toBe(size)
      const usage = listAt((await admin.get("/admin/usage")).body, "keys").map(key => objectAt(key))
      expect(sum(step => numberAt(step, "tokens"))).toBe(
        usage.reduce((total, key) => total + numberAt(key, "tokens"), 0),
      )
    }
    expect(objectAt((await admin.get("/admin/overview")).body)).toMatchObject({ range: "7d", step_seconds: 21_600 })
    expect((await admin.get("/admin/overview?range=1y")).status).toBe(400)
  })

  test("GET /admin/overview counts a run in the step in which it was admitted, and an auditor's own keys alone", async () => {
    const late = await mint(service(), { name: "late", tier: "production" }, admin)
    const auditor = await mint(service(), { name: "audit", scope: "auditor", reads: [late.id] }, admin)
    const DAY_MS = 86_400_000
    await late.execute(request())
    service().clock.advance(2 * DAY_MS)
    await late.execute(request({ payload: EICAR }))
    await late.execute(request({ payload: EICAR }))
    const { body } = await auditor.get("/admin/overview?range=30d")
    const counted = listAt(body, "steps").map(step => [
      numberAt(step, "runs"),
      numberAt(objectAt(step).outcomes ?? {}, "pepg_deny"),
    ])
    expect(counted.slice(-4)).toEqual([
      [0, 0],
      [1, 0],
      [0, 0],
      [2, 2],
    ])
    expect(objectAt(body).denied_by).toEqual([{ rule_id: expect.stringMatching(/^MCD-/), runs: 2 }])
    // The day before the last 24 hours had none, and the time before the steps of a month neither.
    for (const range of ["24h", "30d"])
      expect(objectAt((await auditor.get(`/admin/overview?range=${range}`)).body).previous).toMatchObject({ runs: 0 })
    service().clock.advance(DAY_MS)
    const next = objectAt((await auditor.get("/admin/overview?range=24h")).body)
    expect(next.previous).toMatchObject({ runs: 2, outcomes: { ok: 0, pepg_deny: 2 } })
    const [{ rule_id = "" } = {}] = listAt(body, "denied_by").map(each => objectAt(each))
    const found = await auditor.get(`/admin/runs?rule_id=${String(rule_id)}&status=pepg_deny`)
    expect(listAt(found.body, "runs")).toHaveLength(2)
  })

  test("GET /admin/policy gives what the policy's hash is of", async () => {
    const body = objectAt((await admin.get("/admin/policy")).body)
    expect(digest(objectAt(body.policy ?? {}))).toBe(textAt(body, "policy_hash"))
  })

  test("GET /admin/published lists what is published and where", async () => {
    const run = numberAt((await admin.execute(request())).body, "run_id")
    const published = await admin.post(`/admin/runs/${run}/publish`)
    const [first = {}] = listAt((await admin.get("/admin/published")).body, "published").map(each => objectAt(each))
    expect(first).toMatchObject({ run_id: run, key_id: admin.id, url: textAt(published.body, "url") })
    await admin.post(`/admin/runs/${run}/unpublish`)
    expect(listAt((await admin.get("/admin/published")).body, "published")).toEqual([])
  })

  describe("admin events", () => {
    const complete = (text: string) => {
      const fold = foldExport([service().deps.trust])
      for (const [at, line] of text.trimEnd().split("\n").entries()) fold.take(at + 1, utf8Encode(line))
      return fold.end()
    }
    const events = async (query = "") =>
      listAt((await admin.get(`/admin/audit${query}`)).body, "events").map(each => objectAt(each))

    test("say who did what, with what it was before and after, and no secret", async () => {
      const key = await mint(service(), { ...CUSTOMER, notes: "a private note" }, admin)
      await admin.send("PATCH", `/admin/keys/${key.id}`, { rate_limit: 5 })
      await admin.post(`/admin/keys/${key.id}/rotate`, { overlap_seconds: 10 })
      await admin.send("DELETE", `/admin/keys/${key.id}`)
      await admin.send("DELETE", `/admin/keys/${key.id}`)
      const listed = await events(`?subject_kind=key&subject_id=${key.id}`)
      expect(listed.map(({ action }) => action)).toEqual(["key.revoke", "key.rotate", "key.change", "key.create"])
      for (const event of listed) expect(event).toMatchObject({ who: { actor: "api-key-1", name: "ops" } })
      expect(listed[2]).toMatchObject({ before: { rate_limit: null }, after: { rate_limit: 5 } })
      expect(JSON.stringify(listed)).not.toMatch(/rsk_|private note/)
    })

    test("a filter that no event could match is refused with those there are", async () => {
      const { status, body } = await admin.get("/admin/audit?subject_kind=keys")
      expect([status, body.error]).toEqual([400, expect.stringMatching(/^subject_kind must be one of key, run, /)])
    })

    test("one that cannot be sealed is not tried again at once, and no act comes behind it", async () => {
      const { db, logLines } = service()
      await runSql(
        db,
        `insert into admin_event (ordinal, event_at, actor, actor_name, action, subject_kind, subject_id, before, after,
           sealed_at, log_index)
         select max(ordinal) + 1, max(event_at), 'nobody', '', 'key.change', 'key', '1', '', '', 0, 0 from admin_event`,
      )
      const before = logLines.length
      const answer = await admin.post("/admin/keys", { name: "behind it" })
      expect(expectRefused(answer, 503)).toMatch(/the act was not done/)
      await runSql(db, "delete from admin_event where actor = 'nobody'")
      expect(logLines.slice(before).filter(line => line.includes('"level":"error"')).length).toBeLessThanOrEqual(1)
    })

    test("one of a process whose clock is ahead is dated no later than its seal, in its row too", async () => {
      const { db, deps } = service()
      await runSql(
        db,
        `insert into admin_event (ordinal, event_at, actor, actor_name, action, subject_kind, subject_id, before, after,
           sealed_at, log_index)
         select max(ordinal) + 1, ${service().clock.nowMs() + 3_600_000}, 'operator-command', '', 'heads.forget',
           'heads_folder', '0123456789abcdef', '', '', 0, 0 from admin_event`,
      )
      await mint(service(), CUSTOMER, admin)
      const [, ahead = {}] = await events()
      const { body, text } = await admin.get(`/admin/audit/${numberAt(ahead, "ordinal")}`)
      expect(ahead).toMatchObject({ action: "heads.forget", event_clock: body.seal_clock })
      expect(body.event_clock).toBe(body.seal_clock)
      expect(verifyText(text, [deps.trust])).toMatchObject({ verdict: "ADMIN EVENT VERIFIED AND ANCHORED" })
    })

    test("the first key is made by open mode", async () => {
      expect((await events("?subject_kind=key&subject_id=1"))[0]).toMatchObject({ who: { actor: "open-mode" } })
    })

    test("each is a document that verifies alone, and all of them are a chain in which a missing one shows", async () => {
      const [newest = {}] = await events()
      const document = await admin.get(`/admin/audit/${numberAt(newest, "ordinal")}`)
      const { trust } = service().deps
      expect(verifyText(document.text, [trust])).toMatchObject({ verdict: "ADMIN EVENT VERIFIED AND ANCHORED" })
      const { text } = await admin.get("/admin/audit/export")
      expect(complete(text)).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED" })
      const lines = text.trimEnd().split("\n")
      expect(complete(lines.toSpliced(2, 1).join("\n"))).toMatchObject({
        verdict: "FAILED",
        problems: [{ sentence: expect.stringContaining("document 2 is missing") }],
      })
    })
  })
})
