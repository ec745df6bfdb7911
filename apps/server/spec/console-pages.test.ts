/** docs/console.md: what the pages of the console hold, as the server sends them. The browser's part is in spec/browser. */
import { beforeAll, expect, test } from "vitest"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { numberAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
let admin: Holder
let customer: Holder
let cookie = ""

const pageOf = async (path: string, as = cookie): Promise<string> => {
  const answer = await service().request(path, { headers: { Cookie: as } })
  expect(answer.status, path).toBe(200)
  return answer.text()
}

const signIn = async ({ secret }: Holder): Promise<string> => {
  const session = await service().request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: secret }),
  })
  return (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  cookie = await signIn(admin)
})

test("an auditor of named keys is led to no page that is refused to it", async () => {
  const auditor = await mint(service(), { name: "audit", scope: "auditor", reads: [customer.id] }, admin)
  const as = await signIn(auditor)
  const page = await pageOf("/console", as)
  expect(page).toContain("auditor of 1 key")
  const places = [...page.matchAll(/<li><a href="(\/console[^"?]*)"/g)].flatMap(([, path]) => path ?? [])
  expect(places).toContain("/console/budgets")
  for (const path of places) await pageOf(path, as)
})

test("a text of a caller cannot change the order of a line or hide in it", async () => {
  const route_id = "pay\u202eelbafas\u202c/\u200bx"
  const run = numberAt((await customer.execute(request({ route_id }))).body, "run_id")
  for (const path of ["/console", "/console/runs", `/console/runs/${run}`]) {
    const page = await pageOf(path)
    expect(page, path).toContain("pay\\u{202e}elbafas\\u{202c}/\\u{200b}x")
    expect(page, path).not.toMatch(/[\u202a-\u202e\u200b\u2066-\u2069]/)
  }
})

test("a field of a form holds a text as it is, so that saving it changes nothing", async () => {
  const notes = "a \u200d b"
  const made = await mint(service(), { name: "noted", notes }, admin)
  const page = await pageOf(`/console/keys/${made.id}`)
  expect(page).toContain(`name="notes" value="${notes}"`)
  expect(page).toContain("<dd>a \\u{200d} b</dd>")
})

test("a long declared text is cut, and opens", async () => {
  const attested_context = { attested: true, decision_note: "n".repeat(10_000) }
  const run = numberAt((await customer.execute(request({ attested_context }))).body, "run_id")
  expect(await pageOf(`/console/runs/${run}`)).toContain("all 10,000 characters")
})

test("a run that a rule denied shows what the rule says", async () => {
  const rules = [
    { id: "all", effect: "allow" },
    { id: "no-exports", effect: "deny", description: "Exports stay at home.", when: 'context.route_id == "export"' },
  ]
  const policy = { policy_id: "exports", policy_name: "Exports", required_attested_fields: [], rules }
  expect((await admin.send("POST", "/admin/policies", { policy })).status).toBe(201)
  const run = numberAt((await customer.execute(request({ route_id: "export" }))).body, "run_id")
  const page = await pageOf(`/console/runs/${run}`)
  expect(page).toContain("Exports stay at home.")
  expect(page).toContain("context.route_id == &quot;export&quot;")
})

test("admin audit leads to the actions of one kind and of one subject, and to the export", async () => {
  expect(await pageOf("/console/audit")).toContain('href="/admin/audit/export"')
  const rotated = await mint(service(), { name: "rotated" }, admin)
  await admin.send("POST", `/admin/keys/${rotated.id}/rotate`, {})
  const page = await pageOf(`/console/audit?subject_kind=key&subject_id=${rotated.id}`)
  expect(page.match(/class="event"/g)).toHaveLength(2)
  expect((await pageOf("/console/audit?action=key.rotate")).match(/class="event"/g)).toHaveLength(1)
})

test("open permits of a key are a list", async () => {
  expect(await pageOf("/console/budgets")).toContain(`/console/permits?key=${customer.id}&amp;state=open`)
  expect(await pageOf(`/console/permits?key=${customer.id}&state=open`)).toContain(`Those of key ${customer.id}`)
})
