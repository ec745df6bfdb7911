/** docs/api.md, "Shared records": a record is shared with somebody without a key, for some days at most, and no longer. */
import { createHash } from "node:crypto"
import { beforeAll, describe, expect, test } from "vitest"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { newKey, sendKeyed } from "../harness/keyed.ts"
import { type Answer, expectRefused, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { dumpTables, spellings } from "../harness/spellings.ts"
import { standingService } from "../harness/test-service.ts"

const DAY_MS = 86_400_000

const service = standingService()
let admin: Holder
let customer: Holder
let other: Holder
let sharer: Holder
let run = 0
let others = 0

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  other = await mint(service(), { name: "other" }, admin)
  sharer = await mint(service(), { name: "auditor", scope: "auditor", reads: [customer.id], share: true }, admin)
  run = numberAt((await customer.execute(request())).body, "run_id")
  others = numberAt((await other.execute(request())).body, "run_id")
})

const anybody = (): Holder => caller(service())
const share = (by: Holder, id = run, body = {}): Promise<Answer> => by.post(`/admin/runs/${id}/share`, body)
const shared = async (by = admin, id = run, body = {}): Promise<string> =>
  textAt((await share(by, id, body)).body, "token")
const statusOf = async (token: string): Promise<number> => (await anybody().get(`/shared/${token}/bundle.json`)).status

test("who has the address reads the bundle, the report and the page, without a key", async () => {
  const { status, body } = await share(admin)
  const token = textAt(body, "token")
  expect([status, textAt(body, "url")]).toEqual([201, expect.stringMatching(/\/shared\/[0-9a-f]{32}$/)])
  const bundle = await anybody().get(`/shared/${token}/bundle.json`)
  expect(bundle.text).toBe((await customer.get(`/runs/${run}/artifacts`)).text)
  const report = await service().request(`/shared/${token}/report.pdf?format=brief`)
  expect((await report.text()).slice(0, 5)).toBe("%PDF-")
  const page = await service().request(`/shared/${token}`, { headers: { Accept: "text/html" } })
  expect(await page.text()).toMatch(/<h1>Run \d+.*<\/h1>\n<p class="hint">Made .*, shared by ops until .*report\.pdf/)
  for (const answer of [bundle, report, page]) {
    expect(answer.headers.get("cache-control")).toBe("no-store")
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer")
    expect(answer.headers.get("x-robots-tag")).toBe("noindex")
    expect(answer.headers.get("access-control-allow-origin")).toBeNull()
  }
  expectRefused(await anybody().get(`/runs/${run}/bundle.json`), 404, "not_published")
  expectRefused(await anybody().get(`/public/runs/${token}/bundle.json`), 404, "not_published")
})

test("a link that is unknown, expired, revoked or of no form gets one answer", async () => {
  const [revoked, expired] = [await share(admin), await shared(admin, run, { expires_in_seconds: 60 })]
  expect((await admin.send("DELETE", `/admin/shares/${numberAt(revoked.body, "share_id")}`)).status).toBe(200)
  expect(await statusOf(expired)).toBe(200)
  service().clock.advance(60_000)
  const gone = [textAt(revoked.body, "token"), expired, "0".repeat(32), "x", expired.toUpperCase()]
  for (const end of ["/bundle.json", "/report.pdf", ""]) {
    const answers = await Promise.all(gone.map(token => anybody().get(`/shared/${token}${end}`)))
    const sentences = answers.map(answer => expectRefused(answer, 404, "not_shared"))
    expect(new Set(sentences).size, end).toBe(1)
    for (const { headers } of answers) expect(headers.get("cache-control")).toBe("no-store")
  }
  const page = await service().request(`/shared/${expired}`, { headers: { Accept: "text/html" } })
  expect([page.status, await page.text()]).toEqual([404, expect.stringContaining("Nothing is shared here")])
})

test("a link works for a day where nothing else is asked for, and for seven days at most", async () => {
  const { body } = await share(admin)
  const token = textAt(body, "token")
  service().clock.advance(DAY_MS - 60_000)
  expect(await statusOf(token)).toBe(200)
  service().clock.advance(60_000)
  expect(await statusOf(token)).toBe(404)
  expect((await share(admin, run, { expires_in_seconds: 604_800 })).status).toBe(201)
  for (const expires_in_seconds of [0, -1, 1.5, 604_801, "60"])
    expectRefused(await share(admin, run, { expires_in_seconds }), 400, "invalid_field")
  expectRefused(await share(admin, run, { expires: 60 }), 400, "invalid_field")
})

test("an admin key shares every run; an auditor that may share, those it reads; nobody else", async () => {
  for (const id of [run, others]) expect((await share(admin, id)).status).toBe(201)
  expect((await share(sharer)).status).toBe(201)
  expectRefused(await share(sharer, others), 404, "not_found")
  expectRefused(await share(admin, 999_999), 404, "not_found")
  const plain = await mint(service(), { name: "plain", scope: "auditor" }, admin)
  expectRefused(await share(plain), 403, "read_only_key")
  expectRefused(await share(customer), 403, "admin_key_required")
  expectRefused(await share(anybody()), 401)
  expectRefused(await admin.post("/admin/keys", { name: "c", share: true }), 400, "invalid_field")
  expectRefused(await admin.send("PATCH", `/admin/keys/${customer.id}`, { share: true }), 400, "invalid_field")
})

test("a link ends with its key, with the right of its key, and with what the key reads", async () => {
  const by = async (): Promise<readonly [Holder, string]> => {
    const one = await mint(service(), { name: "one", scope: "auditor", reads: [customer.id], share: true }, admin)
    return [one, await shared(one)]
  }
  const changes = [{ share: false }, { share: null }, { reads: [other.id] }] as const
  for (const change of changes) {
    const [one, token] = await by()
    expect(await statusOf(token)).toBe(200)
    expect((await admin.send("PATCH", `/admin/keys/${one.id}`, change)).status).toBe(200)
    expect(await statusOf(token), JSON.stringify(change)).toBe(404)
  }
  const [one, token] = await by()
  await admin.send("DELETE", `/admin/keys/${one.id}`)
  expect(await statusOf(token)).toBe(404)
  const expires_at = new Date(service().clock.nowMs() + 60_000).toISOString()
  const short = await mint(service(), { ...ADMIN, name: "short", expires_at }, admin)
  const last = await shared(short)
  service().clock.advance(60_000)
  expect(await statusOf(last)).toBe(404)
})

describe("the list", () => {
  const ids = (answer: Answer): readonly number[] => listAt(answer.body, "shares").map(row => numberAt(row, "share_id"))

  test("has the links that work, the newest first, of the runs that the caller reads, and no token", async () => {
    const mine = numberAt((await share(sharer)).body, "share_id")
    const theirs = await share(admin, others)
    const listed = await admin.get("/admin/shares")
    expect(ids(listed).slice(0, 2)).toEqual([numberAt(theirs.body, "share_id"), mine])
    expect(listed.text).not.toContain(textAt(theirs.body, "token"))
    expect(listAt(listed.body, "shares")[1]).toMatchObject({ run_id: run, key_id: customer.id, made_by: sharer.id })
    expect(ids(await sharer.get("/admin/shares"))).not.toContain(numberAt(theirs.body, "share_id"))
    expect(ids(await admin.get(`/admin/shares?key=${other.id}`))).toContain(numberAt(theirs.body, "share_id"))
    expect(ids(await admin.get(`/admin/shares?run=${run}&limit=1`))).toEqual([mine])
    const { body } = await admin.get("/admin/shares?limit=1")
    expect(ids(await admin.get(`/admin/shares?limit=1&before=${numberAt(body, "next")}`))).toEqual([mine])
  })

  test("an auditor ends its own links, an administrator every link; a second time is as the first", async () => {
    const [mine, theirs] = [await share(sharer), await share(admin)]
    const path = (answer: Answer) => `/admin/shares/${numberAt(answer.body, "share_id")}`
    expectRefused(await sharer.send("DELETE", path(theirs)), 404, "not_found")
    expectRefused(await admin.send("DELETE", "/admin/shares/999999"), 404, "not_found")
    for (const by of [sharer, admin, sharer])
      expect((await by.send("DELETE", path(mine))).body).toMatchObject({ ok: true, revoked: true })
    expect(ids(await admin.get("/admin/shares"))).not.toContain(numberAt(mine.body, "share_id"))
    expect(await statusOf(textAt(theirs.body, "token"))).toBe(200)
  })
})

test("what is shared and ended is a sealed event, also where it is ended twice, with no token and no hash of one; the database has the hash alone", async () => {
  const { body } = await share(sharer)
  const [token, share_id] = [textAt(body, "token"), numberAt(body, "share_id")]
  for (const by of [admin, sharer]) await by.send("DELETE", `/admin/shares/${share_id}`)
  const audit = await admin.get(`/admin/audit?subject_kind=run&subject_id=${run}&limit=2`)
  const state = { share_id, expires_at: textAt(body, "expires_at") }
  expect(listAt(audit.body, "events")).toMatchObject([
    { action: "run.unshare", who: { actor: `api-key-${admin.id}` }, before: state, sealed: {} },
    { action: "run.share", who: { actor: `api-key-${sharer.id}` }, after: state, sealed: {} },
  ])
  const hash = createHash("sha256").update(token).digest("hex")
  for (const secret of [token, hash]) expect(audit.text).not.toContain(secret)
  const stored = await dumpTables(service().db, 13)
  expect(spellings(token).filter(one => stored.includes(one))).toEqual([])
  expect(stored).toContain(hash)
})

test("a link is made once under an idempotency key", async () => {
  const key = newKey()
  const path = `/admin/runs/${run}/share`
  expect((await sendKeyed(service(), path, key, {}, admin.secret)).status).toBe(201)
  expectRefused(await sendKeyed(service(), path, key, {}, admin.secret), 409, "already_done")
})
