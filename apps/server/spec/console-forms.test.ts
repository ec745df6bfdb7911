/** docs/console.md, "Forms": a form that was refused holds what was typed, and one that was sent after the session's end is sent when its holder signs in again. */
import { beforeAll, expect, test } from "vitest"
import { hiddenFields, textOf } from "./harness/console-pages.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { listAt, numberAt, objectAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
const MINUTE_MS = 60_000
let admin: Holder
let cookie = ""

type Fields = Readonly<Record<string, string>>

const post = async (path: string, fields: Fields, as = cookie): Promise<Response> =>
  service().request(path, {
    method: "POST",
    headers: { Cookie: as, "Sec-Fetch-Site": "same-origin" },
    body: new URLSearchParams(fields),
    redirect: "manual",
  })

const pageOf = async (path: string, as = cookie): Promise<string> =>
  (await service().request(path, { headers: { Cookie: as } })).text()

const cookiesOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map(one => one.split(";")[0])
    .join("; ")

const signIn = async ({ secret = "" }: Holder): Promise<string> => {
  service().clock.advance(MINUTE_MS)
  return cookiesOf(await post("/console/sign-in", { key: secret, next: "/console" }, ""))
}

/** The forms of a page. */
const formsOn = (page: string): readonly string[] =>
  [...page.matchAll(/<form method="post"[\s\S]*?<\/form>/g)].map(([form]) => form)

/** The form of a page that has a text. */
const formWith = (page: string, text: string): string => formsOn(page).find(form => form.includes(text)) ?? ""

/** Sends the form that has a text, with what was typed in it. */
const send = async (path: string, text: string, typed: Fields, as = cookie): Promise<Response> =>
  post(path, { ...hiddenFields(formWith(await pageOf(path, as), text)), ...typed }, as)

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  cookie = await signIn(admin)
})

test("a new key that is refused holds every field as it was typed, and says why above them", async () => {
  const typed = {
    name: 'a "name" & <more>',
    scope: "auditor",
    tier: "production",
    rate_limit: "many",
    notes: "seen by ops",
    observe: "yes",
    reads: "2, x",
  }
  const page = await (await send("/console/keys", "Make a key", typed)).text()
  const form = formWith(page, "Make a key")
  expect(form).toMatch(/^<form [^>]*><div class="notice bad" role="alert">/)
  expect(page.match(/role="alert"/g)).toHaveLength(1)
  expect(form).toContain('value="a &quot;name&quot; &amp; &lt;more&gt;"')
  expect(form).toContain('<option value="auditor" selected>')
  expect(form).toContain("<option selected>production")
  for (const [name, value] of [
    ["rate_limit", "many"],
    ["notes", "seen by ops"],
    ["reads", "2, x"],
  ])
    expect(form, name).toMatch(new RegExp(`<input name="${name}"[^>]* value="${value}">`))
  expect(form).toMatch(/name="observe" value="yes" checked>/)
  expect(form).not.toMatch(/name="share" value="yes" checked/)
  expect(form).toContain("<details open>")
})

test("of several forms of a page, the one that was sent is filled", async () => {
  const key = await mint(service(), { ...CUSTOMER, name: "kept" }, admin)
  const path = `/console/keys/${key.id}`
  const page = await (await send(path, "Save", { name: "other", rate_limit: "0" })).text()
  expect(formWith(page, "Save")).toMatch(/role="alert"[\s\S]*value="other"/)
  expect(formWith(page, ">Revoke<")).not.toContain("role=")
  expect(textOf(page)).toContain("customer:kept")
})

test("what was typed for a delivery, a position and a policy is there after a refusal", async () => {
  const made = await admin.post("/admin/destinations", { url: "https://kept.invalid/" })
  const id = numberAt(made.body, "destination", "id")
  for (const [path, button, typed] of [
    ["/console/deliveries", "Deliver events there", { url: "nonsense", name: "siem", outcomes: "pepg_deny" }],
    [`/console/deliveries/${id}`, "Set the position", { from: "later" }],
    ["/console/policies", "What would change?", { policy: "{ 'typed': 1 }", last: "77", action: "try" }],
    ["/console/policies", "What would change?", { policy: '{"policy_id": "x"}', last: "78", action: "try" }],
  ] as const) {
    const form = formWith(await (await send(path, button, typed)).text(), button)
    expect(form, path).toContain('class="notice bad"')
    for (const [name, value] of Object.entries(typed))
      if (name !== "action") expect(textOf(form.replaceAll("<", " <").replaceAll(/[<>]/g, " ")), name).toContain(value)
  }
})

test("a policy that reads an attribute that there is not is refused with its name, and with those that there are", async () => {
  const rules = [{ id: "r", effect: "allow", when: "context.declared has attested.actor && true" }]
  const policy = JSON.stringify({ policy_id: "p", policy_name: "P", required_attested_fields: [], rules })
  const page = await (await send("/console/policies", "What would change?", { policy, action: "try" })).text()
  expect(textOf(page)).toContain("there is no attribute context.declared.attested.actor, only context.declared")
})

test("an earlier policy is tried before it decides again, and is then put in force", async () => {
  const before = objectAt((await admin.get("/admin/policies?limit=1")).body, "policies", 0, "policy")
  const rules = [{ id: "nothing", effect: "deny" }]
  const policy = { policy_id: "closed", policy_name: "Closed", required_attested_fields: [], rules }
  expect((await admin.post("/admin/policies", { policy })).status).toBe(201)
  const page = await (await send("/console/policies", "Put this one back in force", { action: "again" })).text()
  expect(textOf(page)).toMatch(/What would change Nothing has changed yet/)
  expect(page).toMatch(/class="old">− [^<]*&quot;nothing&quot;/)
  const bar = formWith(page, "Put it in force")
  const done = await post("/console/policies", {
    ...hiddenFields(bar),
    policy: JSON.stringify(before),
    action: "load",
    sure: "yes",
  })
  expect(done.status).toBe(303)
  expect(objectAt((await admin.get("/admin/policies?limit=1")).body, "policies", 0, "policy")).toEqual(before)
})

test("a rotation asks how long the old secret lives; that it ends at once needs a tick", async () => {
  const key = await mint(service(), { ...CUSTOMER, name: "rotated" }, admin)
  const made = await admin.post("/admin/destinations", { url: "https://rotated.invalid/" })
  const paths = [`/console/keys/${key.id}`, `/console/deliveries/${numberAt(made.body, "destination", "id")}`]
  const works = async ({ secret = "" }: Holder): Promise<boolean> =>
    (await service().request("/runs", { headers: { "X-Service-Key": secret } })).status === 200
  for (const path of paths)
    for (const overlap_hours of ["", "0", "169", "1.5", "all"]) {
      const page = await (await send(path, "Rotate the secret", { overlap_hours })).text()
      expect(formWith(page, "Rotate the secret"), path).toContain(
        "for how many hours the old secret still works, 1 to 168",
      )
      expect(formWith(page, "Rotate the secret"), path).toContain(`value="${overlap_hours}"`)
    }
  expect(formWith(await pageOf(paths[0] ?? ""), "Rotate the secret")).toContain(
    'min="1" max="168" step="1" required value="24"',
  )
  expect(await works(key)).toBe(true)
  for (const path of paths) expect((await send(path, "Rotate the secret", { overlap_hours: "2" })).status).toBe(303)
  expect(await works(key)).toBe(true)
  service().clock.advance(121 * MINUTE_MS)
  cookie = await signIn(admin)
  expect(await works(key)).toBe(false)
  const other = await mint(service(), { ...CUSTOMER, name: "leaked" }, admin)
  expect(
    (await send(`/console/keys/${other.id}`, "Rotate the secret", { overlap_hours: "2", leaked: "yes" })).status,
  ).toBe(303)
  expect(await works(other)).toBe(false)
})

/** A form for a new key that is sent after its session has ended. @returns the page that it leads to */
async function sentLate(holder: Holder, name: string): Promise<{ readonly page: string; readonly as: string }> {
  const as = await signIn(holder)
  const form = hiddenFields(formWith(await pageOf("/console/keys", as), "Make a key"))
  service().clock.advance(31 * MINUTE_MS)
  const late = await post("/console/keys", { ...form, name, scope: "", tier: "" }, as)
  expect(late.status).toBe(403)
  return { page: await late.text(), as }
}

const keyNames = async (): Promise<readonly string[]> =>
  listAt((await admin.get("/admin/keys")).body, "keys").map(key => JSON.stringify(key))

test("a form of an ended session is sent once its holder has signed in again, and its secret is shown to it", async () => {
  const { page, as } = await sentLate(admin, "sent-late")
  expect((await keyNames()).join()).not.toContain("sent-late")
  const held = hiddenFields(formWith(page, "Sign in and send it"))
  expect(held).toMatchObject({ next: "/console/keys", "held.name": "sent-late" })
  const wrong = await post("/console/sign-in", { ...held, key: "rsk_nonsense" }, as)
  expect(wrong.status).toBe(403)
  expect(hiddenFields(formWith(await wrong.text(), "Sign in and send it"))).toEqual(held)
  const done = await post("/console/sign-in", { ...held, key: admin.secret ?? "" }, as)
  expect([done.status, done.headers.get("location")]).toEqual([303, "/console/keys"])
  const shown = await pageOf("/console/keys", cookiesOf(done))
  expect(shown).toMatch(/class="secret"[^>]*>rsk_/)
  expect((await keyNames()).join()).toContain("sent-late")
})

test("a page that refreshes itself takes no secret from the page that somebody opens", async () => {
  cookie = await signIn(admin)
  const done = await send("/console/deliveries", "Deliver events there", { url: "https://new.invalid/", name: "siem" })
  const as = `${cookie}; ${cookiesOf(done)}`
  const headers = { Cookie: as, "X-Unattended": "1" }
  const unattended = await service().request("/console/deliveries", { headers })
  expect(unattended.headers.getSetCookie()).toEqual([])
  expect(await unattended.text()).not.toContain('class="secret"')
  expect(await pageOf("/console/deliveries", as)).toContain('class="secret"')
})

test("a decision on an approval that is held is named, and asks for a press", async () => {
  const path = `/console/approval?id=apr-${"0".repeat(32)}`
  for (const [fields, does] of [
    [{ decision: "reject" }, "rejects"],
    [{ decision: "passkey" }, "approves"],
    [{ action: "delete_comments" }, "deletes comments on"],
  ] as const) {
    const late = await post(path, { ...fields, by: "key 1" }, "")
    expect(late.status).toBe(403)
    const text = textOf(await late.text())
    expect(text).toContain(`What you sent ${does} the request apr-000`)
    expect(text).not.toContain("what you typed is sent")
  }
})

test("an approver whose form is not sent reads so on the first page that it sees", async () => {
  const named = { name: "of anna", scope: "approver", person: "anna", groups: ["treasury"] }
  const approver = await mint(service(), named, admin)
  service().clock.advance(MINUTE_MS)
  const fields = {
    key: approver.secret ?? "",
    next: "/console/approvals",
    "held.by": "key 1",
    "held.decision": "approve",
  }
  const answer = await post("/console/sign-in", fields, "")
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/approvals"])
  expect(await pageOf("/console/approvals", cookiesOf(answer))).toContain("was not sent")
})

test.each(["/console/keys", "/console/sign-in"])("a form that nobody can read is refused at %s", async path => {
  const headers = { "Sec-Fetch-Site": "same-origin", "Content-Type": "multipart/form-data" }
  const answer = await service().request(path, { method: "POST", headers, body: "x" })
  expect(answer.status).toBe(400)
  expect(await answer.text()).toContain("The form cannot be read.")
})

test("a form of an ended session is neither sent nor shown for anybody else", async () => {
  const other = await mint(service(), { ...ADMIN, name: "other" }, admin)
  const { page, as } = await sentLate(admin, "of-admin")
  const held = hiddenFields(formWith(page, "Sign in and send it"))
  const answer = await post("/console/sign-in", { ...held, key: other.secret ?? "" }, as)
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console"])
  const shown = await pageOf("/console", cookiesOf(answer))
  expect(shown).toContain("was not sent")
  expect(shown).not.toContain("of-admin")
  expect((await keyNames()).join()).not.toContain("of-admin")
})

test("a page of an earlier session of the same key shows what was typed, and does nothing; one of another key shows nothing", async () => {
  const form = hiddenFields(formWith(await pageOf("/console/keys", await signIn(admin)), "Make a key"))
  const other = await mint(service(), { ...ADMIN, name: "third" }, admin)
  const typed = { ...form, name: "typed-before" }
  const again = await (await post("/console/keys", typed, await signIn(admin))).text()
  expect(formWith(again, "Make a key")).toMatch(/send it once more[\s\S]*value="typed-before"/)
  const refused = await post("/console/keys", typed, await signIn(other))
  expect(refused.status).toBe(403)
  expect(await refused.text()).not.toContain("typed-before")
  expect((await keyNames()).join()).not.toContain("typed-before")
})

test("a form with more fields than are held is not held", async () => {
  const { as } = await sentLate(admin, "many")
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`field${i}`, "x"]))
  const answer = await post("/console/keys", many, as)
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("too large to be held")])
})

test("a sign-in that is held in a sign-in holds none in turn: one request opens no row of sessions", async () => {
  const fields = ["key", "next", "by"].map(
    name => [name, { key: admin.secret ?? "", next: "/console/sign-in", by: `key ${admin.id}` }[name]] as const,
  )
  const row = Array.from({ length: 5 }, (_, depth) =>
    fields.map(([name, value = ""]) => [`${"held.".repeat(depth)}${name}`, value]),
  )
  service().clock.advance(MINUTE_MS)
  const answer = await post("/console/sign-in", Object.fromEntries(row.flat()), "")
  expect(answer.headers.getSetCookie().filter(one => one.startsWith("runseal-session=")).length).toBeLessThanOrEqual(2)
})
