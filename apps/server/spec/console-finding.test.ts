/** docs/console.md: the search of every page, and what lists of runs say of what they found, as the server sends them. */
import type { JsonObject } from "@runseal/canonical"
import { COUNTED_RUNS_MAX } from "@runseal/core/wire/admin-answers"
import { beforeAll, describe, expect, test } from "vitest"
import { openedId } from "./harness/asked-permits.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { runSql } from "./harness/read-tables.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
let admin: Holder
let customer: Holder
let other: Holder
let permit = ""
const cookies = new Map<Holder, string>()

const signIn = async ({ secret }: Holder): Promise<string> => {
  const session = await service().request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: secret }),
  })
  return (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}
const ask = (path: string, as: Holder = admin): Promise<Response> =>
  service().request(path, { headers: { Cookie: cookies.get(as) ?? "" } })
const find = (q: string, as?: Holder): Promise<Response> => ask(`/console/find?${new URLSearchParams({ q })}`, as)
const placeOf = async (q: string, as?: Holder): Promise<string | null> => (await find(q, as)).headers.get("Location")

const attested = (actor_id: string): JsonObject => ({
  attested_context: { attested: true, actor_id, model_name: "m-1" },
})

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), { ...CUSTOMER, name: "Acme & Sons" }, admin)
  other = await mint(service(), { name: "other", tier: "production" }, admin)
  for (const body of [
    request({ route_id: "payments/transfer", ...attested("ada") }),
    request({ route_id: "payments/refund", ...attested("ada") }),
    request({ route_id: "mail/send", payload: EICAR }),
    request({ route_id: "mail/read", ...attested("mail/read") }),
  ])
    await customer.execute(body)
  await other.execute(request({ route_id: "other/only" }))
  permit = await openedId(customer, { audience: "payments" })
  for (const holder of [admin, customer, other]) cookies.set(holder, await signIn(holder))
})

describe("the search leads straight to", () => {
  test.each([
    ["the number of a run", "3", "/console/runs/3"],
    ["the same, as people write it", " Run 3 ", "/console/runs/3"],
    ["the beginning of a route", "payments/", "/console/runs?route_prefix=payments%2F"],
    ["a route that one run has", "mail/send", "/console/runs/3"],
    ["an actor", "ada", "/console/runs?actor_id=ada"],
    ["the name of a key, in any letters", "acme & sons", "/console/runs?key=2"],
    ["nothing, all runs", " ", "/console/runs"],
  ])("%s", async (_, text, place) => {
    expect(await placeOf(text)).toBe(place)
  })

  test("a permit and an approval", async () => {
    const approval = `apr-${"0".repeat(32)}`
    expect(await placeOf(permit)).toBe(`/console/permits/${permit}`)
    expect(await placeOf(approval)).toBe(`/console/approval?id=${approval}`)
  })

  test("a hash of payload or manifest, and to its beginning", async () => {
    const record = (await admin.get("/admin/runs/2")).body
    expect(await placeOf(textAt(record, "manifest_hash"))).toBe("/console/runs/2")
    expect(await placeOf(textAt(record, "manifest_hash").slice(0, 12))).toBe("/console/runs/2")
    const eicar = textAt((await admin.get("/admin/runs/3")).body, "payload_hash")
    expect(await placeOf(eicar)).toBe("/console/runs/3")
  })
})

test("a text with several meanings shows each with its runs", async () => {
  const page = await (await find("mail/read")).text()
  expect(page).toContain("Routes that begin so <a")
  expect(page).toContain("Actor <a")
  expect(page.match(/href="\/console\/runs\/4"/g)).toHaveLength(2)
})

test("a text that nothing has says what can be found", async () => {
  const answer = await find("<b>nobody</b>")
  expect(answer.status).toBe(200)
  const page = await answer.text()
  expect(page).toContain("Nothing found")
  expect(page).toContain("“&lt;b&gt;nobody&lt;/b&gt;”")
  expect(page).toContain("No run that you may see")
  expect(await (await find("4711")).text()).toContain("Nothing found")
})

test("a customer finds its own runs alone", async () => {
  expect(await placeOf("1", customer)).toBe("/console/runs/1")
  expect(await (await find("1", other)).text()).toContain("Nothing found")
  expect(await placeOf("ada", customer)).toBe("/console/runs?actor_id=ada")
  expect(await (await find("ada", other)).text()).toContain("Nothing found")
  expect(await (await find("other", customer)).text()).toContain("Nothing found")
})

test("every page has the search, and its shortcut", async () => {
  const page = await (await ask("/console/log")).text()
  expect(page).toMatch(/<form class="find" method="get" action="\/console\/find" role="search"/)
  expect(page).toContain('aria-keyshortcuts="/"')
  expect(objectAt((await admin.get("/admin/runs?with=counts")).body.counts)).toMatchObject({ ok: 4, pepg_deny: 1 })
  expect(numberAt((await customer.get("/runs")).body, "total")).toBe(4)
})

test("where the service did not look, the page says so, and not that nothing was found", async () => {
  const few = await mint(service(), { name: "few", tier: "production", rate_limit: 12 }, admin)
  cookies.set(few, await signIn(few))
  const pages = [await find("nothing-there", few), await find("nothing-there", few), await find("nothing-there", few)]
  expect(pages.map(({ status }) => status).at(-1)).toBe(429)
  expect(await pages.at(-1)?.text()).not.toContain("Nothing found")
})

test("a run leads to those before and after it that its reader sees", async () => {
  const page = await (await ask("/console/runs/4")).text()
  expect(page).toContain('rel="prev" href="/console/runs/5"')
  expect(page).toContain('rel="next" href="/console/runs/3"')
  const own = await (await ask("/console/runs/4", customer)).text()
  expect(own).toContain('rel="next" href="/console/runs/3"')
  expect(own).not.toContain('href="/console/runs/5"')
  expect(await (await ask("/console/runs/1")).text()).not.toContain('rel="next"')
})

describe("lists of runs", () => {
  const textIn = async (path: string, as?: Holder): Promise<string> => (await ask(path, as)).text()

  test("keep their counts under every filter, and say how many were found", async () => {
    const page = await textIn("/console/runs?route_prefix=mail%2F")
    expect(page).toMatch(/>All <span class="count">2<\/span>/)
    expect(page).toMatch(/>Denied <span class="count">1<\/span>/)
    expect(page).toContain('id="total">2 runs<')
    const denied = await textIn("/console/runs?route_prefix=mail%2F&status=pepg_deny")
    expect(denied).toMatch(/>All <span class="count">2<\/span>/)
    expect(denied).toContain('id="total">1 run<')
  })

  test("of a time that ends now are a bookmark that moves along", async () => {
    const [, from = ""] = /data-api="\/admin\/runs\?from=([^&]+)/.exec(await textIn("/console/runs?last=24h")) ?? []
    const age = Date.now() - Date.parse(decodeURIComponent(from))
    expect(Math.round(age / 3_600_000)).toBe(24)
    const page = await textIn("/console/runs?last=1h&from=2020-01-01&key=2")
    expect(page).toMatch(/href="\/console\/runs\?last=1h&amp;key=2" aria-current="true">Last hour</)
    expect(page).toContain('name="last" value="1h"')
    expect((await ask("/console/runs?last=2y")).status).toBe(400)
  })

  test("a day is picked, and a time is typed", async () => {
    expect(await textIn("/console/runs?from=2026-05-04")).toMatch(/name="from" type="date" value="2026-05-04"/)
    expect(await textIn("/console/runs?from=2026-05-04T12:00:00Z")).toMatch(
      /name="from" {2}value="2026-05-04T12:00:00Z"/,
    )
  })

  test("complete the values that their runs have", async () => {
    const page = await textIn("/console/runs")
    expect(page).toContain('name="route_id" list="known-route_id"')
    expect(page).toContain('<option value="payments/transfer">')
  })

  test("as CSV hold what the list shows, and what it was filtered by", async () => {
    const [head = "", line = ""] = (await textIn("/console/runs.csv?actor_id=ada&from=2026-05-04")).split("\r\n")
    expect(head).toMatch(/,reason,rule_id,why,who,key_name,actor_id$/)
    expect(line).toMatch(/^2,.*,customer:Acme & Sons,ada$/)
    const denied = (await textIn("/console/runs.csv?status=pepg_deny")).split("\r\n")
    expect(denied[1]).toMatch(/,MCD_SIGNATURE_MATCH,MCD-[A-Z]{2}-\d{3},[^,]+,[^,]*,customer:Acme & Sons$/)
    expect((await textIn("/console/runs.csv", customer)).split("\r\n")).toHaveLength(6)
  })

  test("name the runs whose records are too large to be read with the others; a file reads all of them", async () => {
    const large = await mint(service(), { name: "large", tier: "production" }, admin)
    cookies.set(large, await signIn(large))
    // More than are fetched at once, and in front of them more than one page reads.
    for (let made = 0; made < 30; made++) await large.execute(request(attested("ada")))
    const filler = { request_substance: { origin: { channel: "x".repeat(1_000_000) } } }
    for (let made = 0; made < 10; made++) await large.execute(request({ ...attested("ada"), ...filler }))
    const page = await textIn("/console/runs", large)
    expect(page.match(/record not read/g)).toHaveLength(31)
    const csv = (await textIn("/console/runs.csv", large)).trimEnd().split("\r\n")
    expect(csv).toHaveLength(41)
    for (const line of csv.slice(1)) expect(line).toMatch(/,ada,$/)
    expect(new Set(csv.map(line => line.split(",")[0])).size).toBe(41)
    const ndjson = (await textIn("/console/runs.ndjson", large)).trimEnd().split("\n")
    expect(ndjson.filter(line => line.includes('"who":{"actor_id":"ada"}'))).toHaveLength(40)
  })

  test("with more runs than are counted say so of all outcomes together, and nothing of one of them", async () => {
    const many = await mint(service(), { name: "many", tier: "production" }, admin)
    for (const payload of ["a", EICAR]) await many.execute(request({ route_id: "many/all", payload }))
    await runSql(
      service().db,
      `insert into run (run_id, owner, owner_ordinal, log_index, created_at, outcome_kind, error_stage, program_id, route_id,
         manifest_hash, execution_region, duration_us, disclosure_seed)
       select 1000000 + i, owner, owner_ordinal + 1 + i, 1000000 + i, created_at, outcome_kind, error_stage, program_id, route_id,
         manifest_hash, execution_region, duration_us, disclosure_seed
       from run, generate_series(1, ${COUNTED_RUNS_MAX}) as i where owner = ${many.id} and outcome_kind = 'ok'`,
    )
    const path = "/console/runs?route_prefix=many%2F"
    const [all, denied] = [await textIn(path), await textIn(`${path}&status=pepg_deny`)]
    // These rows have no records, and the tables are checked after each test.
    await runSql(service().db, "delete from run where run_id > 1000000")
    expect(all).toContain('id="total">more than 50,000 runs<')
    expect(denied).toContain(">Runs, newest first</caption>")
    expect(denied).not.toContain("more than")
  })
})
