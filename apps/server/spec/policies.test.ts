/** Policies that change while the service runs: docs/api.md, "Policies", and decision 0186. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { loadPolicy } from "@runseal/policy/load-policy"
import { afterAll, describe, expect, test } from "vitest"
import { openDatabase } from "../src/store/driver/database.ts"
import { eachDatabase, newPostgresUrl, postgresStart, postgresTitle } from "./database/databases.ts"
import { asking, closed, costing, openedId } from "./harness/asked-permits.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { openService, standingService, type TestService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

const policyOf = (policy_id: string, ...rules: readonly JsonObject[]): JsonObject => ({
  policy_id,
  policy_name: policy_id,
  required_attested_fields: [],
  rules: [{ id: "permit-all", effect: "allow" }, ...rules],
})
const OPEN = policyOf("open")
const NO_SPENDING = policyOf("no-spending", {
  id: "deny-spending",
  effect: "deny",
  when: "context.declared.tokens > 10",
})

/** Rules that would make every run several times slower. */
const HEAVY = policyOf(
  "heavy",
  ...Array.from({ length: 64 }, (_, i) => ({
    id: `list-${i}`,
    effect: "deny",
    when: `[${Array.from({ length: 400 }, (_, value) => `"c${value}"`).join(",")}].contains(context.bound.route_id)`,
  })),
)

const asAdmin = (service: TestService): Promise<Holder> => mint(service, ADMIN)

eachDatabase("a policy that is loaded", open => {
  const service = standingService(() => ({ open, policy: OPEN }))

  test("decides the next run, and is in the history with who loaded it", async () => {
    const admin = await asAdmin(service())
    const loaded = await admin.post("/admin/policies", { policy: NO_SPENDING })
    expect(loaded).toMatchObject({ status: 201, body: { changed: true, version: 2, source: "api" } })
    expect(textAt(loaded.body, "policy_hash")).toBe(loadPolicy(NO_SPENDING).policy_hash)
    const denied = await admin.post("/execute", spending(11))
    expect(denied).toMatchObject({ status: 422, body: { deny_receipt: { fired_rule_id: "deny-spending" } } })

    const again = await admin.post("/admin/policies", { policy: NO_SPENDING })
    expect(again).toMatchObject({ status: 200, body: { changed: false, version: 2 } })
    const { body } = await admin.get("/admin/policies")
    expect(listAt(body, "policies")).toMatchObject([
      { version: 2, policy_id: "no-spending", policy: NO_SPENDING, loaded_by: textAt(loaded.body, "loaded_by") },
      { version: 1, policy_id: "open", policy: OPEN, source: "file" },
    ])
    const first = await admin.get("/admin/policies/1")
    expect(first.body).toEqual({ ok: true, ...objectAt(body, "policies", 1) })
    for (const version of ["3", "0", "01", "-1", "x", "9".repeat(20)])
      expect(await admin.get(`/admin/policies/${version}`)).toMatchObject({ status: 404, body: { code: "not_found" } })
    const paged = await admin.get("/admin/policies?limit=1")
    expect(paged.body).toMatchObject({ next: 2 })
    expect(listAt((await admin.get("/admin/policies?limit=1&before=2")).body, "policies")).toHaveLength(1)

    // A condition that is null is no condition that was left out: the rule would match every run.
    const hollow = policyOf("hollow", { id: "hollow", effect: "allow", when: null })
    for (const path of ["/admin/policies", "/admin/policies/dry-run"])
      expect(textAt((await admin.post(path, { policy: hollow })).body, "error")).toContain("rules.1.when")

    // A policy that cannot be used changes nothing.
    const refused = await admin.post("/admin/policies", {
      policy: policyOf("bad", { id: "x", effect: "deny", when: "context.nothing" }),
    })
    expect(refused.status).toBe(400)
    expect(textAt(refused.body, "error")).toContain('Rule "x"')
    const heavy = await admin.post("/admin/policies", { policy: HEAVY })
    expect(heavy.status).toBe(400)
    expect(textAt(heavy.body, "error")).toMatch(/at most 4096 are allowed.*rule "list-0"/)
    expect(listAt((await admin.get("/admin/policies")).body, "policies")).toHaveLength(2)
  })
})

describe("a dry run", () => {
  const service = standingService(() => ({ policy: OPEN }))

  test("says what a candidate would change, by rule and by run, and changes nothing", async () => {
    const spent = await service().execute(spending(11))
    await service().execute(request())
    await service().execute(request({ payload: EICAR }))
    const { body } = await service().post("/admin/policies/dry-run", { policy: NO_SPENDING })
    expect(body).toMatchObject({
      judged: 3,
      changed: 1,
      newly_refused: 1,
      newly_admitted: 0,
      not_judged: 0,
      changes: [
        {
          run_id: numberAt(spent.body, "run_id"),
          outcome_kind: "ok",
          in_force: { decision: "admitted", rule_id: "permit-all" },
          candidate: { decision: "denied", rule_id: "deny-spending", reason: "RULE_DENIED" },
        },
      ],
    })
    expect(listAt(body, "rules")).toContainEqual({ rule_id: "deny-spending", in_force: 0, candidate: 1 })
    expect((await service().execute(spending(11))).status).toBe(200)
  })

  test("judges a refused opening by the tokens that it asked for", async () => {
    const refused = await service().post("/permits", asking({ payload: EICAR, reserve_tokens: 50 }))
    expect(refused.status).toBe(422)
    const { body } = await service().post("/admin/policies/dry-run", { policy: NO_SPENDING, last: 1 })
    // The signature comes before every rule: no policy would admit it.
    expect(body).toMatchObject({ judged: 1, changed: 0 })
  })

  test("judges a closed permit by what was asked before the act, and by what was reported after it", async () => {
    const id = await openedId(service(), { reserve_tokens: 50 })
    await closed(service(), id, costing(5))
    const asked = await service().post("/admin/policies/dry-run", { policy: NO_SPENDING, last: 1 })
    expect(asked.body).toMatchObject({ judged: 1, newly_refused: 1, changes: [{ candidate: { decision: "denied" } }] })
    const few = policyOf("few", { id: "few", effect: "deny", when: "context.declared.tokens == 5" })
    const reported = await service().post("/admin/policies/dry-run", { policy: few, last: 1 })
    expect(reported.body).toMatchObject({ judged: 1, newly_refused: 1, rules: [{ rule_id: "few" }, {}] })
    const opening = policyOf("opening", { id: "opening", effect: "deny", when: "context.declared.tokens == 50" })
    const both = await service().post("/admin/policies/dry-run", { policy: opening, last: 1 })
    expect(both.body).toMatchObject({ judged: 1, newly_refused: 1 })
  })

  test("of a condition that is too deep for the engine is refused, and the next run is decided by the rules in force", async () => {
    const { acts, policies } = service().deps
    const loaded = await policies.load(acts, NO_SPENDING, "file", { actor: "operator-command" })
    expect(loaded).toMatchObject({ changed: true })
    const when = `${"(".repeat(500)}true${")".repeat(500)}`
    const deep = policyOf("deep", { id: "deep", effect: "deny", when })
    const refused = await service().post("/admin/policies/dry-run", { policy: deep })
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid_field" } })
    expect((await service().execute(spending(10))).status).toBe(200)
    expect((await service().execute(spending(11))).body).toMatchObject({
      deny_receipt: { fired_rule_id: "deny-spending" },
    })
  })

  test("of rules that take long is refused with the rule and what it costs", async () => {
    const { status, body } = await service().post("/admin/policies/dry-run", { policy: HEAVY })
    expect(status).toBe(400)
    expect(textAt(body, "error")).toMatch(/steps.*rule "list-0" with \d+\.$/)
  })

  test("of rules that take long for each run holds up nothing else for more than a moment", async () => {
    const long = { payload: "x", attested_context: { decision_note: "n".repeat(60_000) } }
    for (let i = 0; i < 50; i++)
      expect((await service().execute(request({ ...long, route_id: `long-${i}` }))).status).toBe(200)
    const like = Array.from({ length: 25 }, () => 'context.declared.attested.decision_note like "*n*n*b"').join(" || ")
    const when = `context.declared has attested && context.declared.attested has decision_note && (${like})`
    const candidate = policyOf("patterns", { id: "patterns", effect: "deny", when })
    let [last, longest] = [performance.now(), 0]
    const ticking = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    const since = performance.now()
    const { body } = await service().post("/admin/policies/dry-run", { policy: candidate, last: 50 })
    const took = performance.now() - since
    clearInterval(ticking)
    expect(body).toMatchObject({ judged: 50 })
    expect(longest).toBeLessThan(took / 3)
  })

  test("names a missing field", async () => {
    await service().execute(request())
    const candidate = { ...OPEN, policy_id: "strict", required_attested_fields: ["actor_id"] }
    const { body } = await service().post("/admin/policies/dry-run", { policy: candidate, last: 1 })
    expect(objectAt(body, "changes", 0, "candidate")).toEqual({
      decision: "not_admitted",
      missing_fields: ["actor_id"],
    })
  })
})

describe("the policy at a start", () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-policies-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const [policyFile, keysDir] = [join(folder, "policy.json"), join(folder, "keys")]
  const version = ({ deps }: TestService) => {
    const { version, policy_id, source } = deps.policies.inForce().row
    return { version, policy_id, source }
  }

  describe.skipIf(postgresStart.kind === "absent")(`of several processes ${postgresTitle}`, () => {
    test("is a file that is new to the deployment; one of before does not undo what came after it", async () => {
      const url = await newPostgresUrl()
      const open = () => openDatabase({ kind: "postgres", url })
      writeFileSync(policyFile, JSON.stringify(OPEN))
      const first = await openService({ open, keysDir, config: { policyFile } })
      expect(version(first)).toEqual({ version: 1, policy_id: "open", source: "file" })
      writeFileSync(policyFile, JSON.stringify(NO_SPENDING))
      const second = await openService({ open, keysDir, config: { policyFile } })
      expect(version(second)).toEqual({ version: 2, policy_id: "no-spending", source: "file" })
      await until("the first process reads it", () => first.deps.policies.inForce().row.version === 2)

      writeFileSync(policyFile, JSON.stringify(OPEN))
      const third = await openService({ open, keysDir, config: { policyFile } })
      expect(version(third)).toMatchObject({ version: 2, policy_id: "no-spending" })
      expect(third.logLines.join("")).toContain("passed over")
      const fourth = await openService({ open, keysDir })
      expect(version(fourth)).toMatchObject({ version: 2 })
      for (const service of [fourth, third, second, first]) await service.close()
    })
  })
})
