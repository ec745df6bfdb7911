/** People enrol passkeys and approve with them, in a real browser with an authenticator of software. docs/console.md, "Passkeys". */
import { type JsonObject, type JsonValue, utf8Encode } from "@runseal/canonical"
import { verifyDocument } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { asking } from "../harness/asked-permits.ts"
import { HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { at, listAt, textAt } from "../harness/read-answer.ts"
import { signInConfig, standingSite } from "../harness/sign-in-browser.ts"
import { standingService } from "../harness/test-service.ts"

const GROUPS = new Map([
  ["anna", ["treasury"]],
  ["ben", ["treasury"]],
  ["carl", ["treasury"]],
  ["olga", ["ops"]],
])
const PHONE = { viewport: { width: 360, height: 740 } }
const approval = { by: ["treasury"], count: 2, within_seconds: 3600, end_user: "optional" }
const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  rules: [
    {
      id: "two-passkeys",
      routes: ["payments/transfer"],
      effect: "require_approval",
      approval: { ...approval, proof: "passkey" },
    },
    { id: "two-people", routes: ["payments/small"], effect: "require_approval", approval },
  ],
}
let invoices = 0
const transfer = (): string =>
  JSON.stringify({ amount: "12500.00", currency: "EUR", payee: "DE02", invoice: ++invoices })

describe.skipIf(!HAS_CHROMIUM)("people with passkeys", () => {
  const { provider, port, origin } = standingSite(account => GROUPS.get(account) ?? [])
  const roles = new Map([
    ["treasury", "approver"],
    ["ops", "admin"],
  ] as const)
  const service = standingService(() => ({
    policy: POLICY,
    // A sign-in and the time that is left are judged by the clock of the machine.
    clock: { nowMs: Date.now, advance: () => undefined },
    config: { ...signInConfig(provider().issuer, roles, origin()), approvals: "on" },
  }))
  let agent: Holder
  beforeAll(async () => {
    agent = await mint(service(), { ...CUSTOMER, tier: "production" }, await mint(service(), ADMIN))
  })
  const { visit } = standingVisitor(() => createApp(service().deps), port)

  /** A person who has signed in, on a telephone with an authenticator of its own. */
  async function signedIn(account: string, path = "/console/passkeys"): Promise<Page> {
    const { page } = await visit(`${origin()}${path}`, PHONE)
    const devtools = await page.context().newCDPSession(page)
    await devtools.send("WebAuthn.enable")
    await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.getByRole("link", { name: /^Sign in with/ }).click()
    await page.locator("input[name=login]").fill(account)
    await page.locator("input[name=password]").fill("any")
    await page.getByRole("button").first().click()
    await page.getByRole("button").first().click()
    await page.waitForURL(`${origin()}${path}`)
    return page
  }
  const pressed = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click()
  async function expectFits(page: Page, what: string): Promise<void> {
    expect(await page.evaluate(() => document.documentElement.scrollWidth), what).toBeLessThanOrEqual(360)
    await expectAccessible(page, what)
  }
  async function enrolled(account: string): Promise<Page> {
    const page = await signedIn(account)
    await expectFits(page, "a page without passkeys")
    await page.getByLabel("Name, to know it by").fill(`telephone of ${account}`)
    await pressed(page, "Make a passkey")
    await page.getByText("The passkey is made. Sign with it now").waitFor()
    await pressed(page, "Sign with it")
    await page.getByText("The passkey is enrolled. It counts from").waitFor()
    await expectFits(page, "an enrolled passkey")
    return page
  }
  /** An administrator confirms the passkey that has this id. */
  async function confirmed(admin: Page, id: string): Promise<void> {
    const passkey = admin.locator("li.card", { hasText: id })
    await passkey.getByLabel("Its person read me this id").check()
    await passkey.getByRole("button", { name: "Confirm", exact: true }).click()
    await admin.getByText("counts from now on.").waitFor()
  }
  let anna: Page
  let ben: Page
  beforeAll(async () => {
    anna = await enrolled("anna")
    ben = await enrolled("ben")
    const olga = await signedIn("olga", "/console")
    await olga.getByText("2 passkeys wait to be confirmed").waitFor()
    await olga.getByRole("link", { name: "Confirm", exact: true }).click()
    await expectFits(olga, "passkeys that wait")
    for (const page of [anna, ben]) await confirmed(olga, await page.locator("li.card code").innerText())
    await expectFits(olga, "passkeys that count")
  })

  async function asked(route_id = "payments/transfer"): Promise<{ readonly id: string; readonly address: string }> {
    const { status, text, body } = await agent.post("/permits", asking({ route_id, payload: transfer() }))
    expect(status, text).toBe(202)
    return { id: textAt(body, "approval_id"), address: textAt(body, "address") }
  }
  /** Up to the click. */
  async function read(page: Page, address: string): Promise<void> {
    await page.goto(address)
    await page.getByText("The payload is the one that was sealed").waitFor()
    await page.locator("#payload-end").scrollIntoViewIfNeeded()
    await page.getByText("and its end was shown").waitFor()
  }
  const decisionsOf = async (id: string): Promise<readonly JsonValue[]> =>
    listAt((await agent.get(`/approvals/${id}`)).body, "decisions")

  test("a person has its own keys as a file of approver keys, and enrols no passkey twice on one device", async () => {
    await anna.goto(`${origin()}/console/passkeys`)
    await anna.getByText("✓ counts").waitFor()
    const file: unknown = JSON.parse(await anna.locator("pre.whole-text").innerText())
    const place = { origin: origin(), rp_id: "localhost" }
    const key = {
      issuer: provider().issuer,
      subject: "anna",
      public_key: expect.stringMatching(/^[\w+/]{122}==$/),
      ...place,
    }
    expect(file).toEqual({ kind: "vfa.approver_keys.v1", keys: [key] })
    await anna.getByLabel("Name, to know it by").fill("once more")
    await pressed(anna, "Make a passkey")
    await anna.getByText("This device has a passkey of yours already.").waitFor()
  })

  test("two persons approve with passkeys, and the opening of the permit has what they signed", async () => {
    const { id, address } = await asked()
    for (const [page, news] of [
      [anna, "You approved. Others have to approve as well."],
      [ben, "You approved, and it is enough: the permit can be collected."],
    ] as const) {
      await read(page, address)
      expect(await page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(0)
      await expectFits(page, "a request that asks for passkeys")
      await page.getByText("Add a comment").click()
      await page.getByLabel("Comment").fill("Invoice 4711 is checked.\n\nBoth pages. \u00e9\u{1f58a}  ")
      await pressed(page, "Approve with a passkey")
      await page.getByText(news).waitFor()
      expect(await page.locator(".decisions").innerText()).toContain("with a passkey")
      await expectFits(page, "an approved request")
    }
    const { status, body } = await agent.send("POST", `/approvals/${id}/permit`)
    expect(status).toBe(201)
    const opening = at(body, "opening")
    const report = verifyDocument(opening, [service().deps.trust])
    expect("unreadable" in report ? report : report.verdict).toBe(VERDICTS.opening)
    const decisions = listAt(opening, "sections", "approvals", "decisions")
    expect(decisions.map(one => [at(one, "proof"), at(one, "person", "subject"), at(one, "passkey", "rp_id")])).toEqual(
      [
        ["passkey", "anna", "localhost"],
        ["passkey", "ben", "localhost"],
      ],
    )
  })

  test("where a rule takes any proof there are both buttons; a passkey takes the place of a plain approval", async () => {
    const { id, address } = await asked("payments/small")
    await read(anna, address)
    await pressed(anna, "Approve")
    await anna
      .getByText("You approved this with a sign-in: approve it with a passkey if a rule asks for one.")
      .waitFor()
    await read(anna, address)
    await pressed(anna, "Approve with a passkey")
    await anna.getByText("You approved. Others have to approve as well.").waitFor()
    expect((await decisionsOf(id)).map(one => at(one, "proof"))).toEqual(["passkey"])
  })

  test("a person without a passkey cannot approve where one is asked for, and can reject", async () => {
    const { id, address } = await asked()
    const carl = await signedIn("carl", new URL(address).pathname + new URL(address).search)
    await carl.getByText("A rule asks for a passkey of yours, and you have none that counts.").waitFor()
    expect(await carl.getByRole("button", { name: /^Approve/ }).count()).toBe(0)
    await expectFits(carl, "a request that the person cannot approve")
    await pressed(carl, "Reject")
    await carl.getByText("You rejected. The request is over.").waitFor()
    expect((await decisionsOf(id)).map(one => at(one, "decision"))).toEqual(["reject"])
  })

  test("a page that was altered approves nothing: another digest, another end, another payload with its own hash", async () => {
    const { id, address } = await asked()
    await read(anna, address)
    await anna.locator("input[name=request_digest]").evaluate(input => input.setAttribute("value", "0".repeat(64)))
    await pressed(anna, "Approve with a passkey")
    await anna.getByText("Nothing was decided").first().waitFor()
    await read(anna, address)
    const later = { name: "data-expires-at", value: "2100-01-01T00:00:00.000Z" }
    await anna
      .locator("button[value=passkey]")
      .evaluate((button, { name, value }) => button.setAttribute(name, value), later)
    await pressed(anna, "Approve with a passkey")
    await anna.getByText("Nothing was decided").first().waitFor()
    const other = utf8Encode(transfer())
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", new Uint8Array(other))).toString("hex")
    await anna.route(address, async route => {
      const response = await route.fetch()
      const body = (await response.text())
        .replace(/data-payload="[^"]*"/, `data-payload="${Buffer.from(other).toString("base64")}"`)
        .replace(/data-hash="[^"]*"/, `data-hash="${hash}"`)
      await route.fulfill({ response, body })
    })
    await read(anna, address)
    await anna.unroute(address)
    await pressed(anna, "Approve with a passkey")
    await anna.getByText("Nothing was decided").first().waitFor()
    expect(await decisionsOf(id)).toEqual([])
    await read(anna, address)
    await pressed(anna, "Approve with a passkey")
    await anna.getByText("You approved. Others have to approve as well.").waitFor()
  })

  test("a revoked passkey approves nothing more", async () => {
    const { id, address } = await asked()
    await read(ben, address)
    const passkeys = await ben.context().newPage()
    await passkeys.goto(`${origin()}/console/passkeys`)
    await passkeys.locator("summary", { hasText: "Revoke" }).click()
    await pressed(passkeys, "Revoke this passkey")
    await passkeys.getByText("The passkey is revoked.").waitFor()
    await expectFits(passkeys, "a revoked passkey")
    await pressed(ben, "Approve with a passkey")
    await ben.getByText("Nothing was decided").first().waitFor()
    expect(await decisionsOf(id)).toEqual([])
  })
})
