/** docs/console.md, "Approvals": what its pages hold, as the server sends them. The browser's part is in spec/browser. */
import type { JsonObject } from "@runseal/canonical"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import { afterEach, beforeAll, expect, test } from "vitest"
import { asking } from "./harness/asked-permits.ts"
import { machineClock } from "./harness/clock.ts"
import { hiddenFields, textOf } from "./harness/console-pages.ts"
import { trusting } from "./harness/hostile-provider.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { textAt } from "./harness/read-answer.ts"
import {
  type Gone,
  type SignInBrowser,
  signInBrowser,
  signInConfig,
  standingProvider,
} from "./harness/sign-in-browser.ts"
import { standingService } from "./harness/test-service.ts"

const MINUTE_MS = 60_000
const HOSTILE = "DE02\u202e\u200bU+200B"
const GROUPS = new Map([
  ["anna", ["treasury"]],
  ["ben", ["treasury"]],
  ["carl", ["board"]],
  ["grace", ["ops", "treasury"]],
])
const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["payments/*"],
      names: {
        amount: { at: "/arguments/amount", type: "decimal" },
        payee: { at: "/arguments/payee", type: "ascii" },
        cc: { at: "/arguments/cc", type: "strings", optional: true },
      },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    {
      id: "two-people",
      effect: "require_approval",
      act: "transfer",
      approval: { by: ["treasury"], count: 2, within_seconds: 3600, end_user: "optional" },
    },
    {
      id: "notes",
      routes: ["notes"],
      effect: "require_approval",
      approval: { by: ["board"], count: 1, within_seconds: 600, end_user: "optional" },
    },
  ],
}

const provider = standingProvider(account => GROUPS.get(account) ?? [])
const roles = new Map([
  ["treasury", "approver"],
  ["board", "approver"],
  ["ops", "admin"],
] as const)
const service = standingService(() => ({
  policy: POLICY,
  clock: machineClock(),
  config: { ...signInConfig(provider().issuer, roles), ...trusting(provider().issuer), approvals: "on" },
}))
// So many sign-ins in one minute would be refused.
afterEach(() => service().clock.advance(MINUTE_MS))
let admin: Holder
let agent: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  agent = await mint(service(), { ...CUSTOMER, tier: "production" }, admin)
})

let cents = 0
async function asked(payload: string, route_id = "payments/transfer"): Promise<string> {
  const answer = await agent.post("/permits", asking({ route_id, payload }))
  expect(answer.status, answer.text).toBe(202)
  return textAt(answer.body, "approval_id")
}
const transfer = (more: JsonObject = {}): string =>
  JSON.stringify({ arguments: { amount: `10001.${String(++cents).padStart(2, "0")}`, payee: "DE02", ...more } })

const newBrowser = (): SignInBrowser => signInBrowser(service, { "Sec-Fetch-Site": "same-origin" })
async function signedIn(account: string): Promise<SignInBrowser> {
  const browser = newBrowser()
  await browser.signInAs(account, "/console/approvals")
  return browser
}
const pageOf = (id: string): string => `/console/approval?id=${id}`

/** Sends the form of a page as the browser does. */
async function decided(browser: SignInBrowser, page: Gone, decision: string, comment = ""): Promise<Gone> {
  const { location, ...answer } = await browser.step(page.url, { ...hiddenFields(page.text), decision, comment })
  return location === undefined ? answer : browser.go(location)
}

/** Sends the form that deletes comments. */
async function deleted(browser: SignInBrowser, page: Gone): Promise<Gone> {
  const { location, ...answer } = await browser.step(page.url, {
    ...hiddenFields(page.text),
    action: "delete_comments",
  })
  return location === undefined ? answer : browser.go(location)
}

test("the list shows a person what waits: route, act, who asks, how many approved", async () => {
  const payload = transfer()
  const id = await asked(payload)
  const anna = await signedIn("anna")
  const { text } = await anna.go("/console/approvals")
  expect(text).toContain(`href="${pageOf(id)}"`)
  const shown = textOf(text)
  expect(shown).toContain("payments/transfer")
  expect(shown).toMatch(/amount 10001\.\d+ payee DE02 Asked by customer:acme/)
  expect(shown).toContain("0 of 2 approved")
  const none = await (await signedIn("carl")).go("/console/approvals")
  expect(none.text).toContain("No approval waits for you.")
  const page = await anna.go(pageOf(id))
  const after = await decided(anna, page, "approve")
  expect(textOf(after.text)).toContain("You approved. Others have to approve as well.")
  expect(textOf((await anna.go("/console/approvals")).text)).toMatch(
    /No approval waits for you\. You decided, others have not yet .*1 of 2 approved/,
  )
})

test("the end user is shown, and reads that others decide", async () => {
  const { access_token } = await provider().signIn("ben")
  const answer = await service().postRaw(
    "/permits",
    JSON.stringify(asking({ route_id: "payments/transfer", payload: transfer() })),
    { "Content-Type": "application/json", "X-Service-Key": agent.secret ?? "", [END_USER_HEADER]: access_token },
  )
  const id = textAt(answer.body, "approval_id")
  const [anna, ben] = [await signedIn("anna"), await signedIn("ben")]
  expect(textOf((await anna.go("/console/approvals")).text)).toContain("End user ben")
  expect(textOf((await anna.go(pageOf(id))).text)).toMatch(/End user ben of http.* Your decision/)
  const own = textOf((await ben.go(pageOf(id))).text)
  expect(own).toContain("You are the end user of this request: others decide on it.")
  expect(own).not.toContain("Your decision")
})

test("a key of an approver decides for the person that it names; that person's sign-in is stronger", async () => {
  const id = await asked(transfer())
  const named = { name: "key of anna", scope: "approver", person: "anna", groups: ["treasury"] }
  const { secret = "" } = await mint(service(), named, admin)
  const browser = newBrowser()
  await browser.step("/console/sign-in", { key: secret, next: "/console/approvals" })
  const after = await decided(browser, await browser.go(pageOf(id)), "approve")
  const shown = textOf(after.text)
  expect(shown).toContain("by anna")
  expect(shown).toContain("with the key key of anna, by the word of its operator")
  expect(shown).toContain("Until the permit is given you can still reject it.")
  expect(after.text).not.toContain('value="approve"')
  const anna = await signedIn("anna")
  const page = await anna.go(pageOf(id))
  expect(textOf(page.text)).toContain("approve it here if a rule wants a sign-in")
  expect(textOf((await decided(anna, page, "approve")).text)).toMatch(
    /1 of 2 approved.* As one of treasury; with a sign-in/,
  )
})

test("a page shows the values of the act, the rules, the terms and every member of the payload", async () => {
  const notes = Array.from({ length: 80 }, (_, index) => `line ${index}`)
  const payload = JSON.stringify({
    arguments: { amount: "10001.1", payee: "DE02", cc: ["a", "b"], note: "n".repeat(2000), big: 0, "a/b": { "": [] } },
    notes,
    __proto__x: null,
  }).replace('"big":0', '"big":1.50e3')
  const id = await asked(payload)
  const shown = textOf((await (await signedIn("anna")).go(pageOf(id))).text)
  for (const part of [
    "The act: transfer amount decimal 10001.1 at /arguments/amount cc strings a, b at /arguments/cc payee ascii DE02 at /arguments/payee",
    "two-people 2 persons of treasury, within 60 minutes",
    "Nobody has approved yet.",
    "Asked by key customer:acme",
    "End user none",
    "Audience payments.example",
    "n".repeat(2000),
    "big: 1.50e3",
    'a/b: "": [ ]',
    "__proto__x: null",
    ...notes,
    // note, big, the empty list, 80 notes and the last one
    "84 members that no rule reads, of 88.",
    `End of the payload, ${new TextEncoder().encode(payload).length.toLocaleString("en-US")} bytes.`,
  ])
    expect(shown).toContain(part)
})

test("characters that are not seen are shown by their numbers, in names and values; a text of a caller is never one of them", async () => {
  const payload = transfer({ [`pay\u200dee`]: HOSTILE, tab: "a\tb\u00a0c\u3164" })
  const { text } = await (await signedIn("anna")).go(pageOf(await asked(payload)))
  expect(text).toContain('pay<b class="char">U+200D</b>ee')
  expect(text).toContain('DE02<b class="char">U+202E U+200B</b>U+200B')
  expect(text).toContain('a<b class="char">U+0009</b>b<b class="char">U+00A0</b>c<b class="char">U+3164</b>')
  expect(text).not.toMatch(/[\u202a-\u202e\u200b-\u200f\u2066-\u2069]/)
  expect(text).not.toContain("\\u{")
})

test("a payload that is no JSON is shown as a text, and one with the same member twice as well", async () => {
  const carl = await signedIn("carl")
  for (const payload of ["first line\r\nsecond \u202eline", '{"amount": 1, "amount": 2}']) {
    const { text } = await carl.go(pageOf(await asked(payload, "notes")))
    expect(text).toContain("It is not read as JSON")
    const shown = textOf(text)
    if (payload.startsWith("{")) expect(shown).toContain(payload)
    else expect(text).toContain('first line<b class="char">U+000D U+000A</b><br>second <b class="char">U+202E</b>line')
    expect(shown).toContain("No act table reads payloads of this route")
  }
})

test("two persons approve; the page says so, and the permit is collected", async () => {
  const id = await asked(transfer())
  for (const [account, news] of [
    ["anna", "Others have to approve as well"],
    ["ben", "the permit can be collected"],
  ] as const) {
    const browser = await signedIn(account)
    const page = await browser.go(pageOf(id))
    const after = await decided(browser, page, "approve", "Checked.\r\nTwice.")
    expect(after.status).toBe(200)
    expect(textOf(after.text)).toContain(news)
    expect(after.text).toContain("Checked.<br>Twice.<br>")
  }
  expect((await agent.send("POST", `/approvals/${id}/permit`)).status).toBe(201)
  const grace = await (await signedIn("grace")).go(pageOf(id))
  const shown = textOf(grace.text)
  for (const part of [
    "Approved by anna, ben: 2 of 2",
    "It is not stored any more",
    "nothing can be decided any more",
    "approved, permit given",
  ])
    expect(shown).toContain(part)
  expect(grace.text, "a person of another role has the page too").toContain(
    'href="/console/approvals" aria-current="page"',
  )
})

test("a rejection ends it, and is shown with the next request for the same act", async () => {
  const payload = transfer()
  const id = await asked(payload)
  const ben = await signedIn("ben")
  const stale = await ben.go(pageOf(id))
  const anna = await signedIn("anna")
  const after = await decided(anna, await anna.go(pageOf(id)), "reject", "Not this account.")
  expect(textOf(after.text)).toContain("You rejected. The request is over.")
  const late = await decided(ben, stale, "approve", "I was late")
  expect(late.status).toBe(409)
  expect(textOf(late.text)).toMatch(
    /Nothing was decided The request has ended .* The request changed or is over since its page was loaded\..* Load the request again .*I was late/,
  )
  service().clock.advance(61 * MINUTE_MS)
  const again = await asked(payload)
  expect(textOf((await (await signedIn("ben")).go(pageOf(again))).text)).toMatch(
    /The same act was rejected before ✗ rejected by anna .*Not this account\./,
  )
})

test("who commented deletes the own comment, an administrator those of all; nobody else has the button", async () => {
  const id = await asked(transfer())
  const commented = async (account: string, comment: string): Promise<SignInBrowser> => {
    const browser = await signedIn(account)
    await decided(browser, await browser.go(pageOf(id)), "approve", comment)
    return browser
  }
  const [anna, ben] = [await commented("anna", "Invoice 4711."), await commented("ben", "Seen by Ben.")]
  const page = await anna.go(pageOf(id))
  expect(page.text.match(/value="delete_comments"/g)).toHaveLength(1)
  expect(textOf(page.text)).toMatch(/Invoice 4711\. Delete my comment .* Seen by Ben\. Your decision/)
  expect(textOf((await deleted(anna, page)).text)).toContain("The comment is deleted.")
  const shown = textOf((await ben.go(pageOf(id))).text)
  expect(shown).not.toContain("Invoice 4711.")
  expect(shown).toContain("Seen by Ben.")
  expect((await anna.go(pageOf(id))).text).not.toContain("delete_comments")

  const grace = await signedIn("grace")
  const all = await grace.go(pageOf(id))
  expect(textOf(all.text)).toContain("Delete all comments")
  expect(textOf((await deleted(grace, all)).text)).toContain("The comments are deleted.")
  expect((await grace.go(pageOf(id))).text).not.toMatch(/Seen by Ben|delete_comments/)

  const other = await asked(transfer())
  const anna2 = await signedIn("anna")
  await decided(anna2, await anna2.go(pageOf(other)), "approve", "Only mine.")
  const bens = await ben.go(pageOf(other))
  expect(bens.text).toContain("Only mine.")
  expect(bens.text).not.toContain("delete_comments")
  // Who makes up the form deletes nothing of others.
  await deleted(ben, bens)
  expect((await ben.go(pageOf(other))).text).toContain("Only mine.")
})

test("what the caller declared is on the page with every character, as the caller's word", async () => {
  const authorization_chain = { approvers: [{ actor_id: "boss\u202e" }], ticket: "T-1" }
  const answer = await agent.post(
    "/permits",
    asking({ route_id: "payments/transfer", payload: transfer(), authorization_chain }),
  )
  const { text } = await (await signedIn("anna")).go(pageOf(textAt(answer.body, "approval_id")))
  expect(textOf(text)).toMatch(/Declared by the caller .* authorization chain .*ticket: "?T-1/)
  expect(text).toContain('boss<b class="char">U+202E</b>')
  const plain = await (await signedIn("anna")).go(pageOf(await asked(transfer())))
  expect(textOf(plain.text)).toContain("Declared by the caller The caller declared nothing beside the payload.")
})

test("much that was declared is shown as a text: an agent cannot make a page that takes seconds", async () => {
  const ticks = Array.from({ length: 40_000 }, () => 7)
  const answer = await agent.post(
    "/permits",
    asking({ route_id: "payments/transfer", payload: transfer(), authorization_chain: { ticks, end: "e\u202e" } }),
  )
  const { text } = await (await signedIn("anna")).go(pageOf(textAt(answer.body, "approval_id")))
  expect(text.match(/<li>/g)?.length).toBeLessThan(50)
  expect(textOf(text)).toContain(`"ticks":[${ticks.join(",")}]`)
  expect(text).toContain('<b class="char">U+202E</b>')
})

test("a decision names the document that was shown", async () => {
  const id = await asked(transfer())
  const anna = await signedIn("anna")
  const page = await anna.go(pageOf(id))
  const other = page.text.replace(
    /name="request_digest" value="[^"]*"/,
    `name="request_digest" value="${"0".repeat(64)}"`,
  )
  expect((await decided(anna, { ...page, text: other }, "approve")).status).toBe(409)
  expect(textOf((await anna.go(pageOf(id))).text)).toContain("Nobody has decided yet.")
})

test("after 15 minutes a decision leads to the sign-in, and back to the request", async () => {
  const id = await asked(transfer())
  const anna = await signedIn("anna")
  const page = await anna.go(pageOf(id))
  service().clock.advance(16 * MINUTE_MS)
  const led = await decided(anna, page, "approve")
  expect(led.url.pathname).toBe("/console/sign-in")
  expect(textOf(led.text)).toContain("You signed in more than 15 minutes ago")
  const back = await anna.signInAs("anna", led.url.searchParams.get("next") ?? "")
  expect(`${back.url.pathname}${back.url.search}`).toBe(pageOf(id))
  expect(textOf((await decided(anna, back, "approve")).text)).toContain("You approved.")
})

test("who is not signed in is led to the sign-in and back to the request; who may not see it finds none", async () => {
  const id = await asked(transfer())
  const stranger = newBrowser()
  const led = await stranger.go(pageOf(id))
  expect(led.url.searchParams.get("next")).toBe(pageOf(id))
  const back = await stranger.signInAs("anna", led.url.searchParams.get("next") ?? "")
  expect(textOf(back.text)).toContain("The whole payload")
  expect((await (await signedIn("carl")).go(pageOf(id))).status).toBe(404)
  expect((await stranger.go("/console/approval?id=apr-1")).status).toBe(404)
})

test("Approve is inactive until a script has checked the payload; no other site can send the form", async () => {
  const id = await asked(transfer())
  const { text } = await (await signedIn("anna")).go(pageOf(id))
  expect(text).toContain('value="approve" disabled>')
  expect(text).toMatch(/<form [^>]*class="decide"[^>]* data-hash="[0-9a-f]{64}" data-payload="[\w+/=]+"/)
})
