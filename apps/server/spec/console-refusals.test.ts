/** A refused run in the console: its list and its page say why and who, to everybody who may see it. docs/console.md. */
import type { JsonObject } from "@runseal/canonical"
import { beforeAll, expect, test } from "vitest"
import { closed, openedId } from "./harness/asked-permits.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { numberAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["bank/*"],
      names: { amount: { at: "/amount", type: "decimal" }, payee: { at: "/payee", type: "ascii" } },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    { id: "others", effect: "allow", routes: [`${request().route_id}`, "claims/*"] },
    {
      id: "large",
      effect: "deny",
      act: "transfer",
      description: "Transfers above 10,000 need two people.",
      when: 'context.act.amount.greaterThan(decimal("10000.0")) && context.declared.approver_count < 2',
    },
  ],
}

const service = standingService(() => ({ policy: POLICY }))
let admin: Holder
let customer: Holder
let refused: number
let visitors: readonly (readonly [name: string, cookie: string])[]

const signIn = async ({ secret }: Holder): Promise<string> => {
  const session = await service().request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: secret }),
  })
  return (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}
/** A page as a reader reads it. */
async function textOf(path: string, cookie: string): Promise<string> {
  const answer = await service().request(path, { headers: { Cookie: cookie } })
  expect(answer.status, path).toBe(200)
  return (await answer.text())
    .replaceAll(/<wbr>/g, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
}

const LARGE = request({
  route_id: "bank/transfer",
  payload: JSON.stringify({ amount: 12_500, payee: "DE02" }),
  attested_context: { attested: true, actor_id: "treasury-agent-07" },
  authorization_chain: { approvers: [{ actor_id: "j.doe" }], human_in_loop: { required: true, performed: false } },
  request_substance: { cost: { total_tokens: 3530 } },
})

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), { ...CUSTOMER, observe: true }, admin)
  const auditor = await mint(service(), { name: "audit", scope: "auditor" }, admin)
  await customer.execute(request())
  refused = numberAt((await customer.execute(LARGE)).body, "run_id")
  await customer.execute(request({ enforcement: "observe" }))
  visitors = [
    ["administrator", await signIn(admin)],
    ["auditor", await signIn(auditor)],
    ["customer", await signIn(customer)],
  ]
})

test("the head of a refused run says who, what, why, when and how many tokens, to everybody who may see it", async () => {
  for (const [visitor, cookie] of visitors) {
    const page = await textOf(`/console/runs/${refused}`, cookie)
    for (const line of [
      `Who actor treasury-agent-07 (declared); key api-key-${customer.id} (customer:${CUSTOMER.name})`,
      "What transfer on bank/transfer: amount 12,500.00, payee DE02",
      "Why Transfers above 10,000 need two people. amount 12,500.00 (act), above 10,000.00; approvals 1 of 2 (declared); human in the loop: no (declared)",
      "Tokens 3,530 declared",
    ])
      expect(page, visitor).toContain(line)
  }
})

test("a list says who acted: the actor, and to those who see all keys the key by its name", async () => {
  for (const [visitor, cookie] of visitors) {
    const page = await textOf("/console/runs?rule_id=large", cookie)
    const key = visitor === "customer" ? "" : ` customer:${CUSTOMER.name}`
    expect(page, visitor).toContain(`a rule of the policy large treasury-agent-07${key} bank/transfer`)
  }
})

test("a run leads to the ones beside it in the list that it was found in", async () => {
  for (const [visitor, cookie] of visitors) {
    const page = async (path: string) => (await service().request(path, { headers: { Cookie: cookie } })).text()
    const all = await page(`/console/runs/${refused}`)
    expect(all, visitor).toContain(`<a rel="prev" href="/console/runs/${refused + 1}">`)
    expect(all, visitor).toContain(`<a rel="next" href="/console/runs/${refused - 1}">`)
    const found = await page(`/console/runs/${refused}?status=pepg_deny`)
    expect(found, visitor).not.toMatch(/rel="(prev|next)"/)
    expect(found, visitor).toContain('<a href="/console/runs?status=pepg_deny">Runs of this search</a>')
  }
})

test("lists are filtered by what was only observed, and by acts that failed", async () => {
  const failed = await openedId(customer, { route_id: "claims/payout" })
  const run = numberAt((await closed(customer, failed, { outcome: "failed", code: "TIMED_OUT" })).body, "run_id")
  const [, [, cookie] = ["", ""]] = visitors
  const listed = async (query: string) => {
    const answer = await service().request(`/console/runs?${query}`, { headers: { Cookie: cookie } })
    return [...(await answer.text()).matchAll(/<td[^>]*><a href="\/console\/runs\/(\d+)\?/g)].map(([, id]) =>
      Number(id),
    )
  }
  expect(await listed("closing_outcome=failed")).toEqual([run])
  expect(await listed("closing_outcome=completed")).toEqual([])
  expect(await listed("enforcement=observe")).toEqual([refused + 1])
  const wrong = await service().request("/console/runs?enforcement=none", { headers: { Cookie: cookie } })
  expect(wrong.status).toBe(400)
})

test("a search that the service refuses is not read as the end of its list", async () => {
  for (const [name, cookie] of visitors) {
    const page = await textOf(`/console/runs/${refused}?route_id=${"x".repeat(3000)}`, cookie)
    expect(page, name).toContain("Newer run could not be looked up")
    expect(page, name).toContain("Older run could not be looked up")
  }
  for (const [name, cookie] of visitors)
    expect(await textOf(`/console/runs/${refused}`, cookie), name).not.toContain("could not be looked up")
})
