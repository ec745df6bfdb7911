/** docs/api.md, "What needs attention". */
import type { JsonObject } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { asking, closed, openedId } from "./harness/asked-permits.ts"
import { testClock } from "./harness/clock.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const HOUR_MS = 3_600_000
const WINDOW_MS = 24 * HOUR_MS
const AFTER_DAYS = 30

/** More requests that wait than are counted: copies of the one that waits, which end later. */
const LATER_APPROVALS = `
  insert into approval select (jsonb_populate_record(null::approval, to_jsonb(one) || jsonb_build_object(
    'approval_id', 'apr-f' || lpad(copy::text, 31, '0'), 'expires_at', one.expires_at + copy))).*
  from approval as one cross join generate_series(1, 1001) as copy where one.ended_at = 0`
/** The one that ends first is the last of the table. */
const STORED_LAST = "update approval set decisions = decisions where approval_id not like 'apr-f0000%'"

/** One route is left to people, one is denied. */
const POLICY: JsonObject = {
  policy_id: "attention",
  policy_name: "Attention",
  required_attested_fields: [],
  rules: [
    { id: "all", effect: "allow" },
    { id: "no-mails", effect: "deny", routes: ["mails"] },
    {
      id: "one-person",
      effect: "require_approval",
      routes: ["asked/pay"],
      approval: { by: ["treasury"], count: 1, within_seconds: 3600, end_user: "optional" },
    },
  ],
}

eachDatabase("attention", open => {
  const clock = testClock()
  const service = standingService(() => ({
    open,
    clock,
    policy: POLICY,
    config: { windowTokenBudget: 1000, runTokenBudget: 1000, windowSeconds: WINDOW_MS / 1000, approvals: "on" },
  }))
  let admin: Holder
  let acme: Holder
  let other: Holder
  let anna: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    acme = await mint(service(), { name: "acme", tier: "production" }, admin)
    other = await mint(service(), { name: "other", tier: "production" }, admin)
    anna = await mint(service(), { name: "anna's", scope: "approver", person: "anna", groups: ["treasury"] }, admin)
  })
  const answered = async (holder: Holder): Promise<JsonObject> => {
    const { status, body, text } = await holder.get("/attention")
    expect(status, text).toBe(200)
    return body
  }
  /** What was found but for the witnesses: nobody is asked to sign these logs. */
  const found = async (holder: Holder): Promise<JsonObject> => {
    const { not_witnessed: _, ...others } = objectAt(await answered(holder), "found")
    return others
  }
  const sessionOf = async ({ secret = "" }: Holder): Promise<string> => {
    const headers = { "Content-Type": "application/json" }
    const body = JSON.stringify({ key: secret })
    const session = await service().request("/session", { method: "POST", headers, body })
    return (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  }
  const asked = async (holder: Holder): Promise<readonly unknown[]> => listAt(await answered(holder), "asked")

  test("says what it looked for: of what the caller sees", async () => {
    const ofKeys = ["full_budgets", "unreported_permits", "ending_permits", "near_budgets"]
    expect(await asked(acme)).toEqual(ofKeys)
    expect(await asked(anna)).toEqual(["approvals_for_you"])
    expect(await asked(admin)).toEqual([
      "contradicting_witnesses",
      "not_ready",
      "clock_behind",
      "failing_receivers",
      "full_budgets",
      "unreported_permits",
      "ending_permits",
      "denying_rules",
      "waiting_approvals",
      "not_witnessed",
      "silent_witnesses",
      "failing_outside_logs",
      "late_outside_logs",
      "near_budgets",
    ])
    const auditor = await mint(service(), { name: "audit", scope: "auditor", reads: [acme.id] }, admin)
    expect(await asked(auditor)).not.toContain("failing_receivers")
  })

  test("leaves out what is well", async () => {
    expect(await found(admin)).toEqual({})
    expect(await found(anna)).toEqual({})
  })

  test("has full budgets and nearly full ones apart, each with its window's end", async () => {
    await acme.execute(spending(950))
    await other.execute(spending(600))
    await other.execute(spending(600))
    const ends_at = new Date(Math.ceil(clock.nowMs() / WINDOW_MS) * WINDOW_MS).toISOString()
    expect(await found(admin)).toEqual({
      full_budgets: { count: 1, first: [{ key_id: other.id, name: other.name, total: 1200, cap: 1000, ends_at }] },
      near_budgets: { count: 1, first: [{ key_id: acme.id, name: acme.name, total: 950, cap: 1000, ends_at }] },
    })
    expect(Object.keys(await found(acme))).toEqual(["near_budgets"])
    const halted = await service().request("/console", { headers: { Cookie: await sessionOf(admin) } })
    expect(await halted.text()).toContain(`href="/console/runs?key=${other.id}&amp;status=macc_halt"><strong>`)
    const own = await service().request("/console", { headers: { Cookie: await sessionOf(other) } })
    expect(await own.text()).toContain('href="/console/runs?status=macc_halt"><strong>')
    clock.advance(WINDOW_MS)
    expect(await found(admin)).toEqual({})
  })

  test("has permits that are about to end, and those that ended without a report for a day", async () => {
    const lifetime = { valid_for_seconds: 300, close_within_seconds: 300 }
    const [reported, left] = [await openedId(acme, lifetime), await openedId(acme, lifetime)]
    await openedId(other, { valid_for_seconds: 3600 })
    expect(await found(admin)).toEqual({})
    clock.advance(500_000)
    expect(await found(admin)).toMatchObject({ ending_permits: { count: 2 } })
    await closed(acme, reported)
    expect(await found(acme)).toEqual({
      ending_permits: {
        count: 1,
        first: [expect.objectContaining({ permit_id: left, key_id: acme.id, redeemed: false })],
      },
    })
    clock.advance(200_000)
    await service().deps.permitEnds.sweep()
    expect(await found(acme)).toMatchObject({ unreported_permits: { count: 1, first: [{ permit_id: left }] } })
    expect(await found(other)).toEqual({})
    clock.advance(2 * WINDOW_MS)
    await service().deps.permitEnds.sweep()
    expect(Object.keys(await found(acme))).toEqual([])
  })

  test("has approvals that wait: for who may decide until it has, for others as long as they wait", async () => {
    const answer = await acme.post("/permits", asking({ route_id: "asked/pay" }))
    expect(answer.status, answer.text).toBe(202)
    const approval_id = textAt(answer.body, "approval_id")
    const one = {
      count: 1,
      first: [{ approval_id, route_id: "asked/pay", expires_at: textAt(answer.body, "expires_at") }],
    }
    expect(await found(anna)).toEqual({ approvals_for_you: one })
    expect((await found(admin)).waiting_approvals).toEqual(one)
    await runSql(service().db, LATER_APPROVALS)
    await runSql(service().db, STORED_LAST)
    const many = { count: 1000, first: expect.arrayContaining(one.first) }
    expect(await found(anna)).toEqual({ approvals_for_you: many })
    expect((await found(admin)).waiting_approvals).toEqual(many)
    await runSql(service().db, "delete from approval where approval_id like 'apr-f0000%'")
    const { request_digest } = objectAt((await anna.get(`/approvals/${approval_id}`)).body)
    const decided = { request_digest: `${request_digest}`, decision: "reject" }
    expect((await anna.post(`/approvals/${approval_id}/decision`, decided)).status).toBe(200)
    expect(await found(anna)).toEqual({})
    expect(await found(admin)).not.toHaveProperty("waiting_approvals")
  })

  test("has active receivers of events that do not take the next one, for who reads all keys", async () => {
    const receiver = { url: "https://events.invalid/siem", name: "siem", from: 0 }
    const id = numberAt((await admin.post("/admin/destinations", receiver)).body, "destination", "id")
    await expect
      .poll(async () => (await found(admin)).failing_receivers, { timeout: 15_000 })
      .toEqual({ count: 1, first: [expect.objectContaining({ id, name: "siem", failing_since: expect.any(String) })] })
    expect(await found(acme)).not.toHaveProperty("failing_receivers")
    await admin.send("PATCH", `/admin/destinations/${id}`, { active: false })
    expect(await found(admin)).not.toHaveProperty("failing_receivers")
    await admin.send("DELETE", `/admin/destinations/${id}`)
  })

  describe("a rule that denies far more often than in the week before", () => {
    const denied = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) expect((await acme.execute(request({ route_id: "mails" }))).status).toBe(422)
    }
    test("is found from ten times an average day on, with both numbers", async () => {
      clock.advance(AFTER_DAYS * WINDOW_MS)
      await denied(7)
      clock.advance(2 * WINDOW_MS)
      await denied(9)
      expect(await found(admin)).not.toHaveProperty("denying_rules")
      await denied(1)
      clock.advance(61_000)
      expect((await found(admin)).denying_rules).toEqual({
        count: 1,
        first: [{ rule_id: "no-mails", runs: 10, runs_before: 7 }],
      })
    })
    test("is none in the first week, with which nothing can be compared", async () => {
      clock.advance(AFTER_DAYS * WINDOW_MS)
      await denied(12)
      expect(await found(admin)).not.toHaveProperty("denying_rules")
    })
  })

  describe("a wait", () => {
    const sizeNow = async (): Promise<number> => numberAt(await answered(admin), "log_size")

    test("ends when the log has grown", async () => {
      const size = await sizeNow()
      const waiting = admin.get(`/attention?after=${size}&wait=20`)
      await acme.execute(request())
      expect(numberAt((await waiting).body, "log_size")).toBeGreaterThan(size)
    })

    test("ends after its seconds, and at once where the log is longer already", async () => {
      const size = await sizeNow()
      const before = performance.now()
      await admin.get(`/attention?after=${size}&wait=1`)
      expect(performance.now() - before).toBeGreaterThan(990)
      await admin.get(`/attention?after=${size - 1}&wait=20`)
      expect(performance.now() - before).toBeLessThan(10_000)
    })

    test("is one for each caller: a further one ends the one before", async () => {
      const size = await sizeNow()
      const first = admin.get(`/attention?after=${size}&wait=20`)
      const before = performance.now()
      const second = admin.get(`/attention?after=${size}&wait=1`)
      await first
      expect(performance.now() - before).toBeLessThan(900)
      await second
    })

    test("has bounds", async () => {
      const sentence = expectRefused(await admin.get("/attention?after=1&wait=21"), 400)
      expect(sentence).toBe("wait must be an integer from 0 to 20.")
    })
  })
})
