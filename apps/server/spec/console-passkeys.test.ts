/** docs/console.md, "Passkeys": what its pages hold, as the server sends them. The browser's part is in spec/browser. */
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { enrolmentDigest } from "@runseal/core/formulas/signed-decision"
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { assertion, testPasskey } from "../../../libs/core/test/fixtures/passkeys.ts"
import { machineClock } from "./harness/clock.ts"
import { hiddenFields, textOf } from "./harness/console-pages.ts"
import { trusting } from "./harness/hostile-provider.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import {
  CONSOLE_ORIGIN,
  type Gone,
  type SignInBrowser,
  signInBrowser,
  signInConfig,
  standingProvider,
} from "./harness/sign-in-browser.ts"
import { standingService } from "./harness/test-service.ts"

const PATH = "/console/passkeys"
const MINUTE_MS = 60_000
const GROUPS = new Map([
  ["anna", ["treasury"]],
  ["olga", ["ops"]],
  ["rita", ["audit"]],
])

const provider = standingProvider(account => GROUPS.get(account) ?? [])
const roles = new Map([
  ["treasury", "approver"],
  ["ops", "admin"],
  ["audit", "auditor"],
] as const)
const service = standingService(() => ({
  clock: machineClock(),
  config: { ...signInConfig(provider().issuer, roles), ...trusting(provider().issuer) },
}))
// So many sign-ins in one minute would be refused.
afterEach(() => service().clock.advance(MINUTE_MS))
let admin: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
})

const newBrowser = (): SignInBrowser => signInBrowser(service, { "Sec-Fetch-Site": "same-origin" })
async function signedIn(
  account: string,
  next = PATH,
): Promise<{ readonly browser: SignInBrowser; readonly page: Gone }> {
  const browser = newBrowser()
  return { browser, page: await browser.signInAs(account, next) }
}
/** Sends a form of a page, and follows to the page that it leads to. */
async function sent(browser: SignInBrowser, page: Gone, fields: Readonly<Record<string, string>>): Promise<Gone> {
  const { location, ...answer } = await browser.step(page.url, { ...hiddenFields(page.text), ...fields })
  return location === undefined ? answer : browser.go(location)
}
let made = 0
/** A key of its own each time, which signs what the form of enrolment asks for. */
function enrolment(subject: string, name: string): Readonly<Record<string, string>> {
  const { key, signer } = testPasskey(subject, { seed: `console ${++made}` })
  const own = { key: { ...key, issuer: provider().issuer, origin: CONSOLE_ORIGIN, rp_id: "localhost" }, signer }
  const { authenticator_data, client_data_json, signature } = assertion(own, enrolmentDigest(own.key))
  const credential_id = encodeBase64(utf8Encode(`credential ${made}`))
  const { public_key } = key
  return { action: "enrol", name, credential_id, public_key, authenticator_data, client_data_json, signature }
}
const idIn = (page: Gone): string => /<code>([0-9a-f]{64})<\/code>/.exec(page.text)?.[1] ?? ""

/** Each test begins with a passkey of Anna that waits. */
let anna: SignInBrowser
let enrolled: Gone
let id: string
beforeEach(async () => {
  const first = await signedIn("anna")
  anna = first.browser
  enrolled = await sent(anna, first.page, enrolment("anna", "telephone of anna"))
  id = idIn(enrolled)
})
afterEach(async () => {
  await admin.send("DELETE", `/passkeys/${id}`)
})

test("a person enrols a passkey, and has its keys as a file of approver keys", () => {
  const shown = textOf(enrolled.text)
  expect(shown).toMatch(/The passkey is enrolled\. It counts from .* UTC, or when an administrator confirms it\./)
  expect(shown).toMatch(/Yours telephone of anna ○ counts from /)
  expect(shown).toContain('{ "kind": "vfa.approver_keys.v1", "keys": [ { "issuer": "http')
  expect(shown).toContain("This page is the operator's, and could show the key of another device.")
  expect(shown).not.toContain("Of other people")
  expect(enrolled.text).toContain(`href="${PATH}" aria-current="page"`)
  expect(enrolled.text).toMatch(/<form [^>]*class="enrol"[^>]* data-subject="anna"[^>]* data-rp-id="localhost"/)
  expect(enrolled.text).toContain('name="make" disabled>')
})

test("a name with characters that are not seen shows them by their numbers", async () => {
  const page = await anna.go(PATH)
  const after = await sent(anna, page, enrolment("anna", "phone \u200bof\u202e"))
  expect(after.text).toContain('phone <b class="char">U+200B</b>of<b class="char">U+202E</b>')
  await admin.send("DELETE", `/passkeys/${idIn(after)}`)
})

test("a refusal is shown on the page of the form, and nothing is enrolled", async () => {
  const other = enrolment("anna", "a telephone of nobody")
  const wrong = { ...other, public_key: enrolment("anna", "third").public_key ?? "" }
  const after = await sent(anna, await anna.go(PATH), wrong)
  expect(after.text).toContain('role="alert"')
  expect(textOf((await anna.go(PATH)).text)).not.toContain("of nobody")
})

test("an administrator who signed in is shown on the overview that passkeys wait, and confirms them first of all", async () => {
  const { browser, page } = await signedIn("olga", "/console")
  expect(textOf(page.text)).toMatch(/Needs attention .*1 passkey waits to be confirmed anna Confirm/)
  expect(textOf(page.text)).toContain("Passkeys 1 to be confirmed")
  const list = await browser.go(PATH)
  expect(textOf(list.text)).toMatch(/Of other people .*read you its id.* anna ○ counts from .* Confirm .* Yours/)
  const after = await sent(browser, list, { action: "confirm", passkey_id: id })
  expect(textOf(after.text)).toMatch(/The passkey of anna counts from now on\..* anna ✓ counts .*Confirmed by olga/)
  expect((await browser.go("/console")).text).not.toContain("to be confirmed")
  expect(textOf((await anna.go(PATH)).text)).toContain("telephone of anna ✓ counts")
})

test("nobody confirms the own passkey; a key of an administrator confirms none, and revokes", async () => {
  const { browser, page } = await signedIn("olga")
  const own = await sent(browser, page, enrolment("olga", "key of olga"))
  const [, mine = ""] = own.text.split("<h2>Yours</h2>")
  expect(mine).toContain("key of olga")
  expect(mine).not.toContain('value="confirm"')
  const keyed = newBrowser()
  await keyed.step("/console/sign-in", { key: admin.secret ?? "", next: PATH })
  const list = await keyed.go(PATH)
  expect(textOf(list.text)).toContain("An administrator who signed in confirms those that wait. A key cannot.")
  expect(list.text).not.toContain('value="confirm"')
  expect(list.text).not.toContain("New passkey")
  const after = await sent(keyed, list, { action: "revoke", passkey_id: idIn({ ...own, text: mine }) })
  expect(textOf(after.text)).toMatch(/The passkey is revoked\..*revoked passkeys? olga – revoked/)
})

test("a person revokes its own passkey, which is folded up from then on", async () => {
  const after = await sent(anna, enrolled, { action: "revoke", passkey_id: id })
  expect(textOf(after.text)).toMatch(
    /The passkey is revoked\. Yours .*revoked passkeys? .* telephone of anna – revoked/,
  )
  expect(after.text).not.toContain("vfa.approver_keys.v1")
})

test("an auditor reads the passkeys of all people and changes none of them", async () => {
  const { page } = await signedIn("rita")
  const [others = ""] = page.text.split("<h2>Yours</h2>")
  expect(others).toContain(id)
  expect(others).not.toMatch(/value="(?:confirm|revoke)"/)
})

test("five minutes after the sign-in a form leads to the sign-in, and back", async () => {
  service().clock.advance(6 * MINUTE_MS)
  const led = await sent(anna, enrolled, enrolment("anna", "too late"))
  expect(led.url.pathname).toBe("/console/sign-in")
  expect(textOf(led.text)).toContain("You signed in more than 5 minutes ago. Nothing was changed")
  expect(led.url.searchParams.get("next")).toBe(PATH)
})

test("the key of an approver has no passkeys", async () => {
  const { secret = "" } = await mint(
    service(),
    { name: "key of mia", scope: "approver", person: "mia", groups: ["treasury"] },
    admin,
  )
  const browser = newBrowser()
  await browser.step("/console/sign-in", { key: secret, next: "/console/approvals" })
  expect((await browser.go("/console/approvals")).text).not.toContain(PATH)
  expect((await browser.go(PATH)).status).toBe(403)
})
