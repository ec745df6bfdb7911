/** Policies that another admin has to load too. docs/policy-and-review.md, "A policy that another admin confirms". */
import type { JsonObject } from "@runseal/canonical"
import { beforeAll, expect, test } from "vitest"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { expectRefused, objectAt, textAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService(() => ({ config: { approvePolicy: "on" } }))
const policy = (policy_id: string): JsonObject => ({
  policy_id,
  policy_name: "Everything",
  required_attested_fields: [],
  rules: [{ id: "all", effect: "allow" }],
})
let [one, other]: Holder[] = []
const inForce = (): string => service().deps.policies.inForce().row.policy_id
const load = (who: Holder | undefined, policy_id: string) =>
  who === undefined ? Promise.reject(new Error("no admin")) : who.post("/admin/policies", { policy: policy(policy_id) })

beforeAll(async () => {
  one = await mint(service(), ADMIN)
  other = await mint(service(), { ...ADMIN, name: "second" }, one)
})

test("a policy waits until another admin loads the same document, and the first one cannot confirm it", async () => {
  const before = inForce()
  const proposed = await load(one, "strict")
  expect(proposed).toMatchObject({ status: 202, body: { policy_id: "strict", proposed_by: "api-key-1" } })
  expect((await load(one, "strict")).status).toBe(202)
  expect(inForce()).toBe(before)
  const { body } = (await other?.get("/admin/policies")) ?? {}
  expect(objectAt(body, "proposed", 0)).toMatchObject({ policy: policy("strict"), proposed_by_name: "ops" })

  expect(await load(other, "strict")).toMatchObject({
    status: 201,
    body: { policy_id: "strict", loaded_by: "api-key-2" },
  })
  expect(inForce()).toBe("strict")
  expect((await other?.get("/admin/policies"))?.body).not.toHaveProperty("proposed")
  expect((await load(one, "strict")).status).toBe(200)

  const audit = (await one?.get("/admin/audit"))?.text ?? ""
  expect(audit).toContain("policy.propose")
  expect(audit).toContain("policy.load")
})

test("a proposal is over after a day, and another document is another proposal", async () => {
  await load(one, "late")
  service().clock.advance(86_400_000)
  expect((await load(other, "late")).status).toBe(202)
  expect((await load(one, "other")).status).toBe(202)
  expect((await load(one, "late")).status).toBe(201)
  expect(textAt((await load(other, "other")).body, "policy_id")).toBe("other")
})

test("of two admins who load at once one proposes and one confirms", async () => {
  const answers = await Promise.all([load(one, "raced"), load(other, "raced")])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 202])
  expect(inForce()).toBe("raced")
})

test("at most sixteen wait", async () => {
  const answers = []
  for (let at = 0; at < 18; at++) answers.push(await load(one, `many-${at}`))
  expect(answers.slice(0, 16).map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 202))
  const [last] = answers.slice(-1)
  if (last !== undefined) expectRefused(last, 400)
})
