/** People approve and reject on a telephone, signed in with a real OpenID provider, in a real browser. docs/console.md, "Approvals". */
import { type JsonObject, utf8Encode } from "@runseal/canonical"
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { asking } from "../harness/asked-permits.ts"
import { HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { at, textAt } from "../harness/read-answer.ts"
import { signInConfig, standingSite } from "../harness/sign-in-browser.ts"
import { standingService } from "../harness/test-service.ts"

const GROUPS = new Map([
  ["anna", ["treasury"]],
  ["ben", ["treasury"]],
])
const PHONE = { viewport: { width: 360, height: 740 } }
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
        currency: { at: "/arguments/currency", type: "ascii" },
        payee: { at: "/arguments/payee", type: "ascii" },
      },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    {
      id: "two-people",
      effect: "require_approval",
      act: "transfer",
      when: 'context.act.amount.greaterThan(decimal("10000.0"))',
      approval: { by: ["treasury"], count: 2, within_seconds: 3600, end_user: "optional" },
    },
  ],
}
/** So many lines that the end of the payload is far below the screen. */
const transfer = (amount: string): string =>
  JSON.stringify({
    arguments: {
      amount,
      currency: "EUR",
      payee: "DE02120300000000202051",
      [`re\u200bference`]: "Invoice 4711 \u202egnp.exe",
      lines: Array.from({ length: 40 }, (_, index) => ({ article: `article ${index}`, count: index })),
    },
  })

describe.skipIf(!HAS_CHROMIUM)("a person with a telephone", () => {
  const { provider, port, origin } = standingSite(account => GROUPS.get(account) ?? [])
  const service = standingService(() => ({
    policy: POLICY,
    // The page says how much time is left, by the clock of its machine.
    clock: { nowMs: Date.now, advance: () => undefined },
    config: {
      ...signInConfig(provider().issuer, new Map([["treasury", "approver"]] as const), origin()),
      approvals: "on",
    },
  }))
  let agent: Holder
  beforeAll(async () => {
    const admin = await mint(service(), ADMIN)
    agent = await mint(service(), { ...CUSTOMER, tier: "production" }, admin)
  })
  const { visit } = standingVisitor(() => createApp(service().deps), port)

  async function asked(payload: string): Promise<{ readonly id: string; readonly address: string }> {
    const { status, text, body } = await agent.post("/permits", asking({ route_id: "payments/transfer", payload }))
    expect(status, text).toBe(202)
    return { id: textAt(body, "approval_id"), address: textAt(body, "address") }
  }
  /** Follows a link on another site, and signs in where that is asked for. */
  async function open(account: string, address: string): Promise<Page> {
    const { page } = await visit(`${provider().issuer}/.well-known/openid-configuration`, PHONE)
    await page.evaluate(href => {
      const link = document.createElement("a")
      link.href = href
      link.textContent = "go"
      document.body.replaceChildren(link)
    }, address)
    await page.getByText("go", { exact: true }).click()
    await page.waitForURL(`${origin()}/console/sign-in?**`)
    await page.getByRole("link", { name: /^Sign in with/ }).click()
    await page.locator("input[name=login]").fill(account)
    await page.locator("input[name=password]").fill("any")
    await page.getByRole("button").first().click()
    await page.getByRole("button").first().click()
    await page.waitForURL(address)
    return page
  }
  const approve = (page: Page) => page.getByRole("button", { name: "Approve" })
  const isActive = (page: Page): Promise<boolean> => approve(page).isEnabled()
  const width = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)
  const checked = (page: Page) => page.getByText("The payload is the one that was sealed").waitFor()

  test("two persons approve what they saw to its end, from a link on another site, and the permit is collected", async () => {
    const { id, address } = await asked(transfer("12500.00"))
    for (const [account, news] of [
      ["anna", "You approved. Others have to approve as well."],
      ["ben", "You approved, and it is enough: the permit can be collected."],
    ] as const) {
      const page = await open(account, address)
      await checked(page)
      await page.getByText("there is nothing to compare it with").waitFor()
      expect(await isActive(page), "before the end was in view").toBe(false)
      expect(await width(page)).toBeLessThanOrEqual(360)
      expect(await page.locator(".payload .key", { hasText: "ference" }).first().innerText()).toBe("reU+200Bference")
      expect(await page.locator(".payload").innerText()).toContain('"Invoice 4711 U+202Egnp.exe"')
      await page.locator("#payload-end").scrollIntoViewIfNeeded()
      await page.getByText("and its end was shown").waitFor()
      await page.getByText("Add a comment").click()
      await page.getByLabel("Comment").fill("Invoice 4711 is checked.")
      await approve(page).click()
      await page.getByText(news).waitFor()
      expect(await page.locator(".decisions").innerText()).toContain("Invoice 4711 is checked.")
      await expectAccessible(page, `the page of ${account}`)
      await page.goto(`${origin()}/console/approvals`)
      await expectAccessible(page, "the list")
      expect(await width(page)).toBeLessThanOrEqual(360)
    }
    expect((await agent.send("POST", `/approvals/${id}/permit`)).status).toBe(201)
  })

  test("what changed against the last one of its kind is marked, and an approval takes seconds and two taps", async () => {
    const act = (amount: string, payee: string): string =>
      JSON.stringify({ arguments: { amount, currency: "EUR", payee } })
    const first = await asked(act("11000.00", "DE02120300000000202051"))
    const [anna, ben] = [await open("anna", first.address), await open("ben", first.address)]
    const decideOn = async (page: Page): Promise<void> => {
      await page.locator("#payload-end").scrollIntoViewIfNeeded()
      await approve(page).click()
      await page
        .getByText(/^You approved/)
        .first()
        .waitFor()
    }
    for (const page of [anna, ben]) await decideOn(page)
    expect((await agent.send("POST", `/approvals/${first.id}/permit`)).status).toBe(201)
    const second = await asked(act("98000.00", "DE02120300000000202051"))
    const began = performance.now()
    await anna.goto(second.address)
    const changed = anna.locator(".act .changed")
    expect(await changed.count()).toBe(1)
    expect((await changed.innerText()).replaceAll(/\s+/g, " ")).toMatch(
      /amount decimal 98000\.0 changed last time 11000\.0/,
    )
    const size = await changed.locator(".large code").evaluate(one => Number.parseFloat(getComputedStyle(one).fontSize))
    expect(size).toBeGreaterThanOrEqual(24)
    // What is decided is in sight wherever the page is.
    const foot = await anna.getByRole("button", { name: "Reject" }).boundingBox()
    expect(foot?.y).toBeLessThan(PHONE.viewport.height)
    await expectAccessible(anna, "a request with a change")
    await decideOn(anna)
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  test("one person rejects another request at once; who approves then reads that it is over", async () => {
    const { id, address } = await asked(transfer("99999.00"))
    const late = await open("ben", address)
    await checked(late)
    const page = await open("anna", address)
    await page.getByText("Add a comment").click()
    await page.getByLabel("Comment").fill("Not this account.")
    await page.getByRole("button", { name: "Reject" }).click()
    await page.getByText("You rejected. The request is over.").waitFor()
    await late.locator("#payload-end").scrollIntoViewIfNeeded()
    await approve(late).click()
    await late.getByText("The request changed or is over since its page was loaded.").waitFor()
    await late.getByRole("link", { name: "Load the request again" }).click()
    await late.getByText("Not this account.").waitFor()
    const refused = await agent.send("POST", `/approvals/${id}/permit`)
    expect([refused.status, at(refused.body, "explanation", "reason")]).toEqual([422, "APPROVAL_REJECTED"])
  })

  test("a deep payload without blanks is shown whole, and no wider than the screen", async () => {
    const deepest = "[".repeat(60) + JSON.stringify("x".repeat(2000)) + "]".repeat(60)
    const long = `"${"k".repeat(500)}": ${deepest}`
    const payload = `{"arguments": {"amount": "30000.00", "currency": "EUR", "payee": "${"P".repeat(256)}", ${long}}}`
    const { address } = await asked(payload)
    const page = await open("anna", address)
    await checked(page)
    expect(await width(page)).toBeLessThanOrEqual(360)
    const shown = await page.locator(".payload").innerText()
    for (const part of ["x".repeat(2000), "k".repeat(500), "P".repeat(256)]) expect(shown).toContain(part)
    const innermost = await page.locator(".payload code").last().boundingBox()
    expect(innermost?.width).toBeGreaterThan(60)
    await expectAccessible(page, "a deep payload")
  })

  test("a payload of one line is seen at once; another one than was sealed cannot be approved", async () => {
    const payload = JSON.stringify({ arguments: { amount: "20000.00", currency: "EUR", payee: "DE02" } })
    const { address } = await asked(payload)
    const page = await open("anna", address)
    await checked(page)
    await page.locator("#payload-end").scrollIntoViewIfNeeded()
    await expect.poll(() => isActive(page)).toBe(true)
    const other = Buffer.from(utf8Encode(payload.replace("20000", "10000"))).toString("base64")
    await page.route(address, async route => {
      const response = await route.fetch()
      const body = (await response.text()).replace(/data-payload="[^"]*"/, `data-payload="${other}"`)
      await route.fulfill({ response, body })
    })
    await page.reload()
    await page.getByText("The payload on this page is not the one that was sealed.").waitFor()
    await page.locator("#payload-end").scrollIntoViewIfNeeded()
    expect(await isActive(page)).toBe(false)
  })
})
