/** docs/console.md: what the pages of the console hold, as the server sends them. The browser's part is in spec/browser. */
import type { JsonObject } from "@runseal/canonical"
import { verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { beforeAll, describe, expect, test } from "vitest"
import { closed, openedId } from "./harness/asked-permits.ts"
import { trustOf } from "./harness/auditor.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { listAt, numberAt, objectAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
let admin: Holder
let customer: Holder
let cookie = ""

/** A page without the names of columns that its cells repeat for narrow screens. */
const pageOf = async (path: string, as = cookie): Promise<string> => {
  const answer = await service().request(path, { headers: { Cookie: as } })
  expect(answer.status, path).toBe(200)
  return (await answer.text()).replaceAll(/ data-label="[^"]*"/g, "")
}

/** What a reader reads of markup. */
const textOfMarkup = (markup: string): string =>
  markup
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ([,:])/g, "$1")
    .trim()

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
  customer = await mint(service(), { ...CUSTOMER, observe: true }, admin)
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
    // Where a line may break between words.
    const page = (await pageOf(path)).replaceAll("<wbr>", "")
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

test("a run that a rule denied shows how the rule is described, and what it read", async () => {
  const rules = [
    { id: "all", effect: "allow" },
    {
      id: "no-exports",
      effect: "deny",
      description: "Exports stay at home.",
      when: 'context.bound.route_id == "export"',
    },
  ]
  const policy = { policy_id: "exports", policy_name: "Exports", required_attested_fields: [], rules }
  expect((await admin.send("POST", "/admin/policies", { policy })).status).toBe(201)
  const run = numberAt((await customer.execute(request({ route_id: "export" }))).body, "run_id")
  for (const page of [
    await pageOf(`/console/runs/${run}`),
    await pageOf(`/console/runs/${run}`, await signIn(customer)),
  ]) {
    expect(page).toContain("Exports stay at home.")
    expect(textOfMarkup(page)).toContain("route id export (bound)")
  }
})

test("the list of runs says why each was refused, in words and with the name that its record has", async () => {
  const rules = [
    { id: "all", effect: "allow" },
    { id: "no-exports", effect: "deny", when: 'context.bound.route_id like "why/*"' },
  ]
  const required_attested_fields = ["actor_id"]
  const policy = { policy_id: "why", policy_name: "Why", required_attested_fields, rules }
  expect((await admin.send("POST", "/admin/policies", { policy })).status).toBe(201)
  const attested_context = { actor_id: "ada" }
  const observed: JsonObject = { attested_context, enforcement: "observe" }
  for (const [route_id, changes, cell] of [
    ["why/rule", { attested_context }, "a rule of the policy no-exports"],
    ["why/seen", observed, "a rule of the policy no-exports"],
    ["field", {}, "required fields are missing actor_id"],
    ["allowed", { attested_context }, ""],
  ] as const) {
    await customer.execute(request({ route_id, ...changes }))
    const rows = (await pageOf(`/console/runs?route_id=${route_id}`)).split("<tr>").slice(2)
    expect(rows, route_id).toHaveLength(1)
    expect(/<td class="why">(.*?)<\/td>/.exec(rows.join(""))?.[1]?.replaceAll(/<[^>]+>/g, ""), route_id).toBe(cell)
  }
  await admin.send("POST", "/admin/policies", { policy: { ...policy, required_attested_fields: [] } })
})

test("the policy in force is read rule by rule, with whose word each rests on, and its act tables", async () => {
  const before = objectAt((await admin.get("/admin/policies?limit=1")).body, "policies", 0, "policy")
  const amount = { at: "/arguments/amount", type: "decimal", min: "0.01", max: "1000.00" }
  const names = { amount, payee: { at: "/to", type: "ascii", case: "upper", optional: true } }
  const policy = {
    policy_id: "transfers",
    policy_name: "Transfers",
    required_attested_fields: [],
    acts: [{ name: "transfer", routes: ["payments/*"], closed: [""], names }],
    rules: [
      {
        id: "small",
        effect: "allow",
        description: "Small <sums>.",
        act: "transfer",
        when: 'context.act.amount.lessThan(decimal("10.0")) && context.declared.approver_count < 2',
      },
      { id: "never", effect: "deny", routes: ["shell/*"] },
      { id: "nobody", effect: "deny" },
    ],
  }
  expect((await admin.send("POST", "/admin/policies", { policy })).status).toBe(201)
  const page = (await pageOf("/console/policies")).replaceAll("<wbr>", "")
  const cards = page.split('<li class="rule">').slice(1).map(textOfMarkup)
  expect(cards).toEqual([
    expect.stringMatching(
      /^✓ allow small Small <sums>\. context\.act\.amount\.lessThan\(decimal\("10\.0"\)\) && context\.declared\.approver_count < 2 Act transfer Rests on act\.amount: read by the service from the payload bound\.route_id: bound by the run or permit declared\.approver_count: declared by the caller$/,
    ),
    "■ deny never Routes shell/* Rests on bound.route_id: bound by the run or permit",
    expect.stringMatching(/^■ deny nobody Rests on nothing: it applies to every run /),
  ])
  expect(cards[2]).toContain(
    "Act table transfer Routes payments/* Closed the payload What the service reads of transfer Name Pointer Type Bounds Required amount /arguments/amount decimal 0.01 to 1000.00 yes payee /to ascii, upper case no Text {",
  )
  expect((await admin.send("POST", "/admin/policies", { policy: before })).status).toBe(201)
})

test("admin audit leads to the actions of one kind and of one subject, and to the export", async () => {
  expect(await pageOf("/console/audit")).toContain('href="/admin/audit/export"')
  const rotated = await mint(service(), { name: "rotated" }, admin)
  await admin.send("POST", `/admin/keys/${rotated.id}/rotate`, {})
  const page = await pageOf(`/console/audit?subject_kind=key&subject_id=${rotated.id}`)
  expect(page.match(/<tr><td>/g)).toHaveLength(2)
  expect((await pageOf("/console/audit?action=key.rotate")).match(/<tr><td>/g)).toHaveLength(1)
})

test("open permits of a key are a list", async () => {
  expect(await pageOf("/console/budgets")).toContain(`/console/permits?key=${customer.id}&amp;state=open`)
  expect(await pageOf(`/console/permits?key=${customer.id}&state=open`)).toContain(`Those of key ${customer.id}`)
})

type Fields = Readonly<Record<string, string>>

const post = (path: string, as: string, fields: Fields, to = service()): Promise<Response> =>
  Promise.resolve(
    to.request(path, {
      method: "POST",
      headers: { Cookie: as, "Sec-Fetch-Site": "same-origin" },
      body: new URLSearchParams(fields),
      redirect: "manual",
    }),
  )

/** The hidden fields of the forms of a page. */
const tokensOn = (page: string): Fields => ({
  csrf: /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "",
  once: /name="once" value="([^"]+)"/.exec(page)?.[1] ?? "",
})

/** Sends a form as its page does. */
const sendForm = async (path: string, as: string, fields: Fields): Promise<Response> =>
  post(path, as, { ...tokensOn(await pageOf(path, as)), ...fields })

/** The page that a form leads to, loaded with the cookies that its answer sets, as a browser does. */
async function pageAfter(answer: Response, as = cookie, from = service()): Promise<string> {
  expect(answer.status).toBe(303)
  const set = answer.headers.getSetCookie().map(one => one.split(";")[0])
  const Cookie = [as, ...set].join("; ")
  const page = await from.request(answer.headers.get("location") ?? "", { headers: { Cookie } })
  expect(page.status).toBe(200)
  return page.text()
}

const secretOn = (page: string): string | undefined => /<code class="secret"[^>]*>([^<]+)/.exec(page)?.[1]

/** The numbers of the runs that a page lists. */
const runsOn = (page: string): readonly number[] =>
  [...page.matchAll(/<td><a href="\/console\/runs\/(\d+)[?"]/g)].map(([, id]) => Number(id))

test("a run that was only observed is nowhere said to be denied or stopped", async () => {
  const body = request({ payload: `see ${EICAR}`, enforcement: "observe", route_id: "observed" })
  const run = numberAt((await customer.execute(body)).body, "run_id")
  const page = await pageOf(`/console/runs/${run}`)
  expect(page).toContain(`<title>Run ${run}, observed: it would have been denied; nothing was stopped`)
  expect(page).not.toMatch(/was denied ?<|stopped the run/)
  expect(page).toContain("would have stopped it")
  for (const list of ["/console", "/console/runs?route_id=observed"])
    expect(await pageOf(list), list).toContain('<span class="label info">only observed</span>')
  const file = await pageOf("/console/runs.csv?route_id=observed")
  expect(file).toMatch(
    /,enforcement,reason,rule_id,why,who,key_name\r\n.*,observe,MCD_SIGNATURE_MATCH,MCD-SC-\d{3},[^,]+,,customer:\w+\r\n$/,
  )
})

test("a run whose act failed says so wherever it is shown, and is not green", async () => {
  const permit = await openedId(customer, { route_id: "failed-act" })
  const answer = await closed(customer, permit, { outcome: "failed", code: "TIMED_OUT" })
  const run = numberAt(answer.body, "run_id")
  const page = await pageOf(`/console/runs/${run}`)
  expect(page).toContain(
    `Run ${run} was admitted, checked and sealed; its act failed: TIMED_OUT, no result came in time`,
  )
  expect(page).toContain('class="outcome warn"')
  for (const list of ["/console", "/console/runs?route_id=failed-act"])
    expect(await pageOf(list), list).toContain('<span class="label bad">act failed</span>')
  const asCustomer = await signIn(customer)
  for (const as of [cookie, asCustomer])
    for (const path of ["/console/permits", "/console/permits?state=closed", `/console/permits/${permit}`])
      expect(await pageOf(path, as), path).toMatch(
        /<span class="label info"><span aria-hidden="true">●<\/span> closed<\/span> <span class="label bad">act failed<\/span>/,
      )
})

test("the documents of a permit are loaded each by itself, and verify", async () => {
  const trust = await trustOf(service())
  const open = await openedId(customer)
  expect(verifyText(await pageOf(`/console/permits/${open}/opening.json`), [trust])).toMatchObject({
    verdict: VERDICTS.opening,
  })
  const { text: answer } = await customer.get(`/permits/${open}`)
  expect(verifyText(answer, [trust]), "so does the answer of the API").toMatchObject({ verdict: VERDICTS.opening })
  const missing = await service().request(`/console/permits/${open}/end.json`, { headers: { Cookie: cookie } })
  expect(missing.status).toBe(404)
})

test("no filter is changed or left out", async () => {
  const ids: number[] = []
  for (const route_id of ["spaced", "spaced ", " "])
    ids.push(numberAt((await customer.execute(request({ route_id }))).body, "run_id"))
  const [plain, spaced, space] = ids
  expect(runsOn(await pageOf("/console/runs?route_id=spaced"))).toEqual([plain])
  expect(runsOn(await pageOf("/console/runs?route_id=spaced+"))).toEqual([spaced])
  expect(runsOn(await pageOf("/console/runs?route_id=+"))).toEqual([space])
  expect(await pageOf(`/console/runs?key=0${customer.id}`)).toContain(`<option value="${customer.id}" selected>`)
  const asCustomer = await signIn(customer)
  const refused = [
    [cookie, "/console/runs?status=ok&status=pepg_deny", "status must be given once."],
    [cookie, "/console?range=1y", "range must be one of"],
    [cookie, "/console/permits?key=x", "key must be a number."],
    [asCustomer, `/console/runs?key=${admin.id}`, "This list has no such filter"],
    [asCustomer, `/console/permits?key=${admin.id}`, "This list has no such filter"],
  ] as const
  for (const [Cookie, path, sentence] of refused) {
    const answer = await service().request(path, { headers: { Cookie } })
    expect([answer.status, await answer.text()], path).toEqual([400, expect.stringContaining(sentence)])
  }
})

test("an empty filter is none, and an empty list says of what it is", async () => {
  for (const path of ["/console/permits?key=", "/console/audit?action="])
    expect(await pageOf(path)).not.toContain("Those of")
  expect(await pageOf("/console/permits?key=77")).toContain("No permit of key 77 was opened yet.")
})

test("outcomes have the numbers that the other filters leave", async () => {
  expect(await pageOf("/console/runs")).toMatch(/All <span class="count">[1-9]/)
  expect(await pageOf("/console/runs?route_id=nowhere")).toMatch(/All <span class="count">0/)
})

test("a customer's older pages hold each run once, though new ones came meanwhile", async () => {
  const many = await mint(service(), { name: "many", tier: "production" }, admin)
  const as = await signIn(many)
  const made: number[] = []
  const make = async (): Promise<number> => made.push(numberAt((await many.execute(request())).body, "run_id"))
  for (let i = 0; i < 103; i++) await make()
  const seen: number[] = []
  for (let path = "/console/runs"; path !== ""; ) {
    const page = await pageOf(path, as)
    seen.push(...runsOn(page))
    path = (/rel="next" href="([^"]+)"/.exec(page)?.[1] ?? "").replaceAll("&amp;", "&")
    await make()
  }
  expect(seen).toEqual(made.slice(0, 103).reverse())
})

test("admin audit names an administrator by its key, since two may have the same name", async () => {
  const twin = await mint(service(), ADMIN, admin)
  await mint(service(), { name: "by-twin" }, twin)
  expect(await pageOf("/console/audit?action=key.create")).toContain(`api-key-${twin.id} (${ADMIN.name})`)
})

test("signing out on a page of an earlier session ends the one of now", async () => {
  const first = await signIn(admin)
  const page = await pageOf("/console", first)
  const second = await signIn(admin)
  const csrf = /name="csrf" value="([^"]*)"/.exec(page)?.[1] ?? ""
  const answer = await service().request("/console/sign-out", {
    method: "POST",
    headers: { Cookie: second, "Sec-Fetch-Site": "same-origin" },
    body: new URLSearchParams({ csrf }),
    redirect: "manual",
  })
  expect(answer.headers.get("location")).toBe("/console/sign-in")
  expect((await service().request("/session", { headers: { Cookie: second } })).status).toBe(401)
})

test("a key that has no run stays the filter of the next search", async () => {
  expect(await pageOf("/console/runs?key=77")).toContain('<option value="77" selected>key 77</option>')
})

test("an auditor of all keys is made by that word", async () => {
  const answer = await sendForm("/console/keys", cookie, { name: "of-all", scope: "auditor", reads: "all" })
  expect(secretOn(await pageAfter(answer))).toMatch(/^rsk_/)
})

test("a form that makes or kills a secret does it once, however often it is sent, and its secret is shown once", async () => {
  const target = await mint(service(), { name: "twice" }, admin)
  const made = await admin.post("/admin/destinations", { url: "https://twice.invalid/" })
  const id = numberAt(made.body, "destination", "id")
  const forms = [
    ["/console/keys", { name: "made-once", scope: "", tier: "" }],
    [`/console/keys/${target.id}`, { action: "rotate", leaked: "yes" }],
    ["/console/deliveries", { url: "https://once.invalid/", name: "once", kind: "webhook", format: "standard" }],
    [`/console/deliveries/${id}`, { action: "rotate", leaked: "yes" }],
  ] as const
  for (const [path, fields] of forms) {
    const sent = { ...tokensOn(await pageOf(path)), ...fields }
    const first = await post(path, cookie, sent)
    const news = first.headers.getSetCookie().join()
    expect(news, path).toMatch(/^runseal-news=[^;]+; Max-Age=60; Path=\/console\/[^;]+; HttpOnly; SameSite=Strict$/)
    const secret = secretOn(await pageAfter(first))
    expect(secret, path).toMatch(/^(?:rsk|whsec)_/)
    // What the page says is removed with it; neither the address nor the cookie has the secret in it.
    expect(`${first.headers.get("location")}${news}`).not.toContain(secret)
    expect(secretOn(await pageOf(path)), path).toBeUndefined()
    const events = await eventCount()
    const again = await pageAfter(await post(path, cookie, sent))
    expect(again, path).toContain("It was not done again.")
    expect(secretOn(again), path).toBeUndefined()
    expect(await eventCount(), path).toBe(events)
    if (secret?.startsWith("rsk_"))
      expect((await service().request("/runs", { headers: { "X-Service-Key": secret } })).status).toBe(200)
  }
})

const eventCount = async (): Promise<number> =>
  listAt((await admin.get("/admin/audit?limit=500")).body, "events").length

test("what a form did is said to its own session alone, and never by a cookie that another made", async () => {
  const answer = await sendForm("/console/keys", cookie, { name: "told" })
  const [news = ""] = answer.headers.getSetCookie().map(one => one.split(";")[0] ?? "")
  const another = await signIn(admin)
  for (const [as, value] of [
    [another, news],
    [cookie, `${news.slice(0, -8)}AAAAAAA=`],
    [cookie, "runseal-news=forged"],
  ])
    expect(secretOn(await pageOf("/console/keys", `${as}; ${value}`))).toBeUndefined()
  expect(secretOn(await pageOf(`/console/keys/${admin.id}`, `${cookie}; ${news}`))).toBeUndefined()
  expect(secretOn(await pageOf("/console/keys", `${cookie}; ${news}`))).toMatch(/^rsk_/)
})

test("who rotates the own key stays signed in, and sees the new secret", async () => {
  const own = await mint(service(), { ...ADMIN, name: "own" }, admin)
  const as = await signIn(own)
  const answer = await sendForm(`/console/keys/${own.id}`, as, { action: "rotate", leaked: "yes" })
  expect((await service().request("/session", { headers: { Cookie: as } })).status).toBe(401)
  const session = answer.headers.getSetCookie().find(one => one.startsWith("runseal-session="))
  const page = await pageAfter(answer, session?.split(";")[0])
  const secret = secretOn(page)
  expect((await service().request("/runs", { headers: { "X-Service-Key": secret ?? "" } })).status).toBe(200)
})

test("a form that changed something leads to a page; one that was refused is answered in place", async () => {
  const target = await mint(service(), { name: "changed" }, admin)
  const path = `/console/keys/${target.id}`
  const saved = await pageAfter(await sendForm(path, cookie, { action: "change", name: "changed", notes: "n" }))
  expect(saved).toContain("Saved.")
  expect(await pageAfter(await sendForm(path, cookie, { action: "revoke" }))).toContain("The key is revoked.")
  const refused = await sendForm("/console/keys", cookie, { name: "" })
  expect([refused.status, await refused.text()]).toEqual([200, expect.stringContaining('role="alert"')])
  const { once, ...bare } = tokensOn(await pageOf("/console/keys"))
  expect(once).not.toBe("")
  const without = await post("/console/keys", cookie, { ...bare, name: "without" })
  expect([without.status, await without.text()]).toEqual([400, expect.stringContaining("The form has no token.")])
})

test("the page of a run says whether it is published, and where", async () => {
  const run = numberAt((await admin.execute(request())).body, "run_id")
  const path = `/console/runs/${run}`
  expect(await pageOf(path)).toMatch(/value="publish"[\s\S]*Not published\./)
  const url = /Published: <a href="([^"]+)"/.exec(
    await pageAfter(await sendForm(path, cookie, { action: "publish" })),
  )?.[1]
  expect(url).toMatch(/^http:\/\/.*\/public\/runs\/[0-9a-f]{32}$/)
  const page = await pageOf(path)
  expect(page).toContain(`<a href="${url}">its page</a>`)
  expect(page).not.toContain('value="publish"')
  await sendForm(path, cookie, { action: "unpublish" })
  expect(await pageOf(path)).toContain("Not published.")
  const next = numberAt((await admin.execute(request())).body, "run_id")
  expect(await pageOf(`/console/runs/${next}`)).toContain("Not published.")
})

test("without a session a file is refused, not replaced by a page, and a form changes nothing", async () => {
  const ended = "runseal-session=ended"
  for (const file of ["csv", "ndjson"])
    expect((await service().request(`/console/runs.${file}`, { headers: { Cookie: ended } })).status).toBe(403)
  const headers = { Cookie: ended, "Sec-Fetch-Site": "same-origin" }
  const answer = await service().request("/console/policies", {
    method: "POST",
    headers,
    body: new URLSearchParams({}),
  })
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("Nothing was done yet.")])
})

describe("behind a proxy that ends TLS", () => {
  const behind = standingService(() => ({ config: { baseUrl: "https://runs.example" } }))

  test("the address of a published run is that of the service", async () => {
    const operator = await mint(behind(), ADMIN)
    const run = numberAt((await operator.execute(request())).body, "run_id")
    const session = await behind().request("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ key: operator.secret }),
    })
    const Cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
    const page = await (await behind().request(`/console/runs/${run}`, { headers: { Cookie } })).text()
    const answer = await post(`/console/runs/${run}`, Cookie, { ...tokensOn(page), action: "publish" }, behind())
    expect(answer.headers.get("set-cookie")).toContain("; Secure")
    expect(await pageAfter(answer, Cookie, behind())).toMatch(
      /Published: <a href="https:\/\/runs\.example\/public\/runs\/[0-9a-f]{32}">/,
    )
  })
})

test("all links that work and all published runs are a list, where each is ended, once", async () => {
  const sharing = await mint(service(), { name: "sharing", scope: "auditor", share: true }, admin)
  const run = numberAt((await customer.execute(request())).body, "run_id")
  const own = numberAt((await admin.execute(request())).body, "run_id")
  await admin.post(`/admin/runs/${own}/publish`)
  const share = async (by: Holder): Promise<number> =>
    numberAt((await by.post(`/admin/runs/${run}/share`, {})).body, "share_id")
  const [mine, theirs, ended] = [await share(admin), await share(sharing), await share(admin)]
  await admin.send("DELETE", `/admin/shares/${ended}`)
  const endings = (page: string): readonly string[] =>
    [...page.matchAll(/<button name="(share|run)" value="(\d+)"/g)].map(([, name, id]) => `${name} ${id}`)
  expect(endings(await pageOf("/console/shared"))).toEqual([`share ${theirs}`, `share ${mine}`, `run ${own}`])
  const asAuditor = await signIn(sharing)
  const page = await pageOf("/console/shared", asAuditor)
  expect(page).toContain(`<td>${mine}</td><td><a href="/console/runs/${run}">`)
  expect(endings(page), "an auditor ends its own").toEqual([`share ${theirs}`])
  const sent = { ...tokensOn(page), share: `${theirs}` }
  const counts: number[] = []
  for (let i = 0; i < 2; i++) {
    const again = await pageAfter(await post("/console/shared", asAuditor, sent), asAuditor)
    expect(again).toContain(`Nothing is read under link ${theirs} any more.`)
    counts.push(await eventCount())
  }
  expect(counts[1]).toBe(counts[0])
  const after = await pageAfter(await sendForm("/console/shared", cookie, { run: `${own}` }))
  expect(after).toContain(`Run ${own} is not published any more.`)
  expect(endings(after)).toEqual([`share ${mine}`])
  expect(await pageOf("/console")).toContain('<a href="/console/shared"')
  expect(await pageOf("/console", await signIn(customer))).not.toContain("/console/shared")
})
