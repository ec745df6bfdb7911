/** Rules over what is done: acts are read of the payload, sealed, and decided on. docs/policy-and-review.md, "Act tables". */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { canonicalize, type JsonObject } from "@runseal/canonical"
import { withhold } from "@runseal/core/artifacts/declared-sections"
import { type Sections, sectionsSchema } from "@runseal/core/artifacts/sections"
import { decidesAgain } from "@runseal/policy/decide-again"
import { loadPolicy } from "@runseal/policy/load-policy"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import * as v from "valibot"
import { expect, test } from "vitest"
import { openDatabase } from "../src/store/driver/database.ts"
import { hasDueEvents, OPERATOR_COMMAND } from "../src/store/tables/admin-events.ts"
import { addPolicy } from "../src/store/tables/policy-versions.ts"
import { eachDatabase } from "./database/databases.ts"
import { asking, closed, costing, openedId, permitAt } from "./harness/asked-permits.ts"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { openService, standingService, type TestService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

const ACTS = [
  {
    name: "transfer",
    routes: ["payments/transfer"],
    closed: ["/arguments"],
    names: {
      amount: { at: "/arguments/amount", type: "decimal", min: "0.01" },
      currency: { at: "/arguments/currency", type: "ascii" },
    },
  },
]
const policyOf = (policy_id: string, limit: string): JsonObject => ({
  policy_id,
  policy_name: policy_id,
  required_attested_fields: [],
  acts: ACTS,
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    { id: "others", effect: "allow", routes: ["claims/*"] },
    {
      id: "large",
      effect: "deny",
      act: "transfer",
      when: `context.act.amount.greaterThan(decimal("${limit}"))`,
    },
  ],
})
const transfer = (amount: unknown, changes: JsonObject = {}): JsonObject => ({
  route_id: "payments/transfer",
  payload: JSON.stringify({ tool: "transfer", arguments: { amount, currency: "EUR" } }),
  ...changes,
})

eachDatabase("a policy that reads acts", open => {
  const service = standingService(() => ({ open, policy: policyOf("payments", "10000.0") }))
  const run = (changes: JsonObject) => service().execute(request(changes))

  test("admits below its limit and denies above it, and seals what it read", async () => {
    const small = await run(transfer("9999.99"))
    expect(small.status, small.text).toBe(200)
    const large = await run(transfer(12_500))
    expect(large).toMatchObject({ status: 422, body: { deny_receipt: { fired_rule_id: "large" } } })
    const { body: bundle } = await service().get(`/runs/${numberAt(large.body, "run_id")}/artifacts`)
    const act = objectAt(bundle, "sections", "act")
    expect(act).toMatchObject({
      table: "transfer",
      values: [
        { name: "amount", at: "/arguments/amount", type: "decimal", value: "12500.0" },
        { name: "currency", value: "EUR" },
      ],
      unreadable: [],
    })
    expect(objectAt(bundle, "sections", "policy_evaluation")).toMatchObject({
      act_hash: textAt(act, "hash"),
      context_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      facts: { tokens: 0 },
    })
  })

  test("says which rule refused, what it read and whose word that is, in the answer and in the record", async () => {
    const { body } = await run(transfer(12_500))
    const explanation = {
      reason: "RULE_DENIED",
      rule_id: "large",
      read: [{ name: "act.amount", value: "12500.0", word: "act", compared: "> 10000.0" }],
    }
    expect(body).toMatchObject({
      error: "The policy gate denied the run before any kernel ran. Cause: rule large of the policy.",
      explanation,
    })
    expect(body.explanation).toEqual(explanation)
    const id = numberAt(body, "run_id")
    expect((await service().get(`/runs/${id}`)).body.explanation).toEqual(explanation)
    const refused = await service().post("/permits", asking(transfer(12_500)))
    expect(refused).toMatchObject({ status: 422, body: { explanation } })
    const observed = await run(transfer(12_500, { enforcement: "observe" }))
    expect(observed).toMatchObject({ status: 200, body: { ok: true, explanation } })
    const unreadable = await run(transfer(1e-7))
    expect(unreadable.body).toMatchObject({
      error: expect.stringMatching(/ Cause: the payload is not as the act table of the policy says: act\.amount\.$/),
      explanation: { reason: "ACT_UNREADABLE", rule_id: "policy-engine", missing: ["act.amount"] },
    })
    expect((await run(transfer(1))).body).not.toHaveProperty("explanation")
  })

  test("denies an act that is not as its table says, and a route that nobody named", async () => {
    for (const payload of [
      "Approve it.",
      '{"arguments":{"Amount":1,"amount":1,"currency":"EUR"}}',
      '{"arguments":{"amount":1e3,"currency":"EUR"}}',
    ])
      expect(await run({ route_id: "payments/transfer", payload })).toMatchObject({
        status: 422,
        body: { deny_receipt: { decision_reason_code: "ACT_UNREADABLE", fired_rule_id: "policy-engine" } },
      })
    expect(await run(transfer(1, { route_id: "payments/Transfer" }))).toMatchObject({
      status: 422,
      body: { deny_receipt: { decision_reason_code: "DEFAULT_DENY" } },
    })
    expect((await run({ route_id: "claims/triage", payload: "no JSON" })).status).toBe(200)
  })

  test("reads a payload of a mebibyte alike", async () => {
    const memo = "x".repeat(700_000)
    const payload = JSON.stringify({ memo, arguments: { amount: 20_000, currency: "EUR" } })
    expect(await run({ route_id: "payments/transfer", payload })).toMatchObject({
      status: 422,
      body: { deny_receipt: { fired_rule_id: "large" } },
    })
  })

  test("is decided again from each record alone, and not where the record is retold", async () => {
    const decideAgain = decidesAgain([parsePolicyDocument(policyOf("payments", "10000.0"))])
    const byAnother = decidesAgain([parsePolicyDocument(policyOf("payments", "1.0"))])
    const sealed = async (changes: JsonObject): Promise<{ readonly sections: Sections }> => {
      const { body } = await run(changes)
      const { body: artifacts } = await service().get(`/runs/${numberAt(body, "run_id")}/artifacts`)
      return { sections: v.parse(sectionsSchema, artifacts.sections) }
    }
    const unreadable = { route_id: "payments/transfer", payload: "no JSON" }
    for (const changes of [transfer(1), transfer(12_500), unreadable, request({ route_id: "elsewhere" })]) {
      const record = await sealed(changes)
      expect(decideAgain(record)).toEqual({ from: "facts" })
      expect(decideAgain(record, textAt(changes, "payload"))).toEqual({ from: "payload" })
      expect(decideAgain(record, "another")).toEqual({ differs: ["payload_hash"] })
      expect(byAnother(record)).toEqual({ differs: ["policy_hash"] })
    }
    const denied = await sealed(transfer(12_500))
    const { policy_evaluation: evaluation, act } = denied.sections
    if (evaluation === undefined || act === undefined) throw new Error("a denied act has both")
    const retold = (sections: Partial<Sections>) => decideAgain({ sections: { ...denied.sections, ...sections } })
    expect(
      retold({ policy_evaluation: { ...evaluation, decision: "allow", decision_reason_code: "RULE_ALLOWED" } }),
    ).toEqual({ differs: ["decision", "decision_reason_code"] })
    expect(retold({ policy_evaluation: { ...evaluation, fired_rule_id: "other" } })).toEqual({
      differs: ["fired_rule_id"],
    })
    const small = {
      ...act,
      values: [{ name: "amount", at: "/arguments/amount", type: "decimal" as const, value: "1.0" }],
    }
    expect(retold({ act: small })).toMatchObject({ differs: expect.arrayContaining(["context_hash", "decision"]) })
    expect(retold({ act: withhold(act) })).toEqual({ undecided: "act is withheld, and rule large reads it" })
  })

  test("closes a permit as its opening was decided, whatever is loaded meanwhile", async () => {
    const admin = await mint(service(), ADMIN)
    const id = await openedId(admin, transfer(9000))
    await admin.post("/admin/policies", { policy: policyOf("strict", "1.0") })
    expect((await admin.post("/permits", asking(transfer(9000)))).status).toBe(422)
    const { db, clock, deps } = service()
    const versions = ["2.0", "3.0"].map(limit => {
      const document = policyOf("payments", limit)
      const { policy_id, policy_name, policy_hash } = loadPolicy(document)
      return { policy_id, policy_name, policy_hash, source: "api" as const, document: canonicalize(document) }
    })
    for (let load = 0; load < 150; load++)
      for (const version of versions) await addPolicy(db, version, OPERATOR_COMMAND, clock.nowMs())
    await until("the last is in force", () => deps.policies.inForce().row.version > 300)
    await until("their events are in the log", async () => !(await hasDueEvents(db)))
    const { body } = await closed(admin, id, costing(5))
    const { body: permit } = await admin.get(`/permits/${id}`)
    const evaluation = objectAt(permit, "opening", "sections", "policy_evaluation")
    expect(textAt(objectAt(body, "allow_token"), "policy_hash")).toBe(textAt(evaluation, "policy_hash"))
  })
})

test("a permit is closed by the policy of its opening where the scan was set otherwise meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-scans-"))
  const started = async <T>(
    limit: string,
    mcdMode: "enforce" | "observe",
    ask: (service: TestService) => Promise<T>,
  ) => {
    const service = await openService({
      open: () => openDatabase({ kind: "pglite", dataDir: folder }),
      keysDir: join(folder, "keys"),
      policy: policyOf("payments", limit),
      config: { mcdMode },
    })
    return await ask(service).finally(service.close)
  }
  const open = async (service: TestService) => {
    const id = await openedId(service, transfer(9000))
    const opening = objectAt(await permitAt(service, id), "opening", "sections", "policy_evaluation")
    return { id, hash: textAt(opening, "policy_hash") }
  }
  const enforced = await started("10000.0", "enforce", open)
  const observed = await started("10000.0", "observe", open)
  expect(observed.hash).not.toBe(enforced.hash)
  await started("1.0", "enforce", async service => {
    expect((await service.post("/permits", asking(transfer(9000)))).status).toBe(422)
    for (const { id, hash } of [enforced, observed])
      expect(textAt((await closed(service, id, costing(5))).body, "allow_token", "policy_hash")).toBe(hash)
  })
  rmSync(folder, { recursive: true, force: true })
})

eachDatabase("an operator who fears that rules are tried out", open => {
  const service = standingService(() => ({
    open,
    policy: policyOf("payments", "10000.0"),
    config: { explain: "admins" },
  }))

  test("shows what a rule read to administrators alone", async () => {
    const admin = await mint(service(), ADMIN)
    const customer = await mint(service(), { name: "acme", tier: "production" }, admin)
    const auditor = await mint(service(), { name: "audit", scope: "auditor" }, admin)
    const { body } = await customer.execute(request(transfer(12_500)))
    const bare = { reason: "RULE_DENIED", rule_id: "large" }
    expect(body.explanation).toEqual(bare)
    const id = numberAt(body, "run_id")
    expect((await customer.get(`/runs/${id}`)).body.explanation).toEqual(bare)
    expect((await auditor.get(`/admin/runs/${id}`)).body.explanation).toEqual(bare)
    const read = [{ name: "act.amount", value: "12500.0", word: "act", compared: "> 10000.0" }]
    expect((await admin.get(`/admin/runs/${id}`)).body.explanation).toEqual({ ...bare, read })
  })
})

eachDatabase("a policy with an act table that no rule reads a value of", open => {
  const frozen = { ...policyOf("frozen", "1.0"), rules: [{ id: "frozen", effect: "deny" }] }
  const service = standingService(() => ({ open, policy: frozen }))

  test("denies an act that is not as its table says before it asks a rule", async () => {
    const run = (amount: number) => service().execute(request(transfer(amount)))
    expect(await run(1)).toMatchObject({ status: 422, body: { deny_receipt: { fired_rule_id: "frozen" } } })
    expect(await run(1e-7)).toMatchObject({
      status: 422,
      body: { deny_receipt: { decision_reason_code: "ACT_UNREADABLE" } },
    })
  })

  test("is decided again where the act is shown, and not without it", async () => {
    const admin = await mint(service(), ADMIN)
    const named = { ...frozen, rules: [{ id: "transfers", effect: "allow", act: "transfer" }] }
    for (const policy of [frozen, named]) {
      await admin.post("/admin/policies", { policy })
      const decideAgain = decidesAgain([parsePolicyDocument(policy)])
      for (const amount of [1, 1e-7]) {
        const { body } = await admin.execute(request(transfer(amount)))
        const { body: bundle } = await admin.get(`/runs/${numberAt(body, "run_id")}/artifacts`)
        const sections = v.parse(sectionsSchema, bundle.sections)
        expect(decideAgain({ sections })).toEqual({ from: "facts" })
        const { act } = sections
        if (act === undefined) throw new Error("a run of a table's route has an act")
        expect(decideAgain({ sections: { ...sections, act: withhold(act) } })).toEqual({
          undecided: "act is withheld, and one that cannot be read is denied before a rule is asked",
        })
      }
    }
  })
})
