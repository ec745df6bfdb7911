/** `/console` in a real browser: a day's work of an operator and an auditor. docs/console.md. */
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import type { BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor, type Visit } from "../harness/browser.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { numberAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

/** All that a visitor loads with a first page, compressed as it is sent. */
const MAX_PAGE_BYTES = 100_000
const MINUTE_MS = 60_000

const service = standingService()
let admin: Holder
let customer: Holder
let denied = 0
let ok = 0

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  ok = numberAt((await customer.execute(request())).body, "run_id")
  denied = numberAt((await customer.execute(request({ payload: `see ${EICAR}` }))).body, "run_id")
})

describe("the pages of the console", () => {
  test("send a visitor without a session to the page that signs in, and back to where he wanted to go", async () => {
    const answer = await service().request("/console/runs?status=ok", { redirect: "manual" })
    expect([answer.status, answer.headers.get("location")]).toEqual([
      303,
      "/console/sign-in?next=%2Fconsole%2Fruns%3Fstatus%3Dok",
    ])
    const page = await (await service().request("/console/sign-in?next=https://evil.example/")).text()
    expect(page).toContain('name="next" value="/console"')
  })

  test("refuse a form that another site sends", async () => {
    for (const headers of [
      { "Sec-Fetch-Site": "cross-site" },
      { Origin: "https://evil.example" },
      { Origin: "null" },
      {},
    ]) {
      const body = new URLSearchParams({ key: admin.secret ?? "" })
      const answer = await service().request("/console/sign-in", { method: "POST", headers, body })
      expect(answer.status).toBe(403)
      expect(answer.headers.get("set-cookie")).toBeNull()
    }
  })

  test("have no script and no style in them, and a policy that allows none", async () => {
    const answer = await service().request("/console/sign-in")
    const text = await answer.text()
    expect(text.match(/\sstyle=|\son\w+=|<style|javascript:/g) ?? []).toEqual([])
    const policy = answer.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("script-src 'self'; style-src 'self'")
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(answer.headers.get("cache-control")).toBe("no-store")
  })
})

describe.skipIf(!HAS_CHROMIUM)(`the console in ${CHROMIUM}`, () => {
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  const visits: Visit[] = []

  const signIn = async (key: string, options?: BrowserContextOptions): Promise<Page> => {
    service().clock.advance(MINUTE_MS)
    const made = await visit("/console", options)
    visits.push(made)
    await made.page.fill("#key", key)
    await made.page.click("main button")
    await made.page.waitForSelector("h1:has-text('Overview')")
    return made.page
  }
  const open = async (page: Page, path: string): Promise<void> => {
    await page.goto(address() + path)
  }

  /** No page broke its policy or threw. A refused sign-in and a page that is not there are reported by the browser as well. */
  afterAll(() => {
    const complaints = visits.flatMap(({ complaints: all }) => all.filter(text => !/status of 40[34]/.test(text)))
    expect(complaints).toEqual([])
  })

  test("a wrong key is refused in words for people; a key leaves nothing behind in the browser", async () => {
    const made = await visit("/console")
    visits.push(made)
    await made.page.fill("#key", "rsk_nonsense")
    await made.page.click("main button")
    expect(await made.page.locator("[role=alert]").innerText()).toBe("This is no valid key of this service.")
    const page = await signIn(customer.secret ?? "")
    const held = await page.evaluate(() =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        location.href,
        document.cookie,
        document.documentElement.outerHTML,
      ]),
    )
    expect(held).not.toContain(customer.secret)
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: "runseal-session", httpOnly: true, sameSite: "Lax" })
  })

  test("a customer finds why a run was refused, and the browser verifies it", async () => {
    const page = await signIn(customer.secret ?? "")
    await page.click("nav >> text=Runs")
    await page.click("text=Denied")
    expect(page.url()).toContain("status=pepg_deny")
    await page.click(`td a:has-text("${denied}")`)
    expect(await page.locator("h1").innerText()).toContain(`Run ${denied} was denied`)
    expect(await page.locator(".cause").innerText()).toContain("a signature of malicious code")
    expect(await page.locator(".timeline .stop .step").innerText()).toContain("Policy gate")
    await page.waitForSelector(".verdict")
    expect(await page.locator(".verdict").innerText()).toContain("VERIFIED AND ANCHORED")
    await expectAccessible(page, "a run")
  })

  test("a record that was changed is not verified, whatever the server shows", async () => {
    const page = await signIn(customer.secret ?? "")
    await page.route(`**/runs/${ok}/artifacts`, async route => {
      const answer = await route.fetch()
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replace(/"route_id":"[^"]*"/g, '"route_id":"forged"'),
      })
    })
    await open(page, `/console/runs/${ok}`)
    await page.waitForSelector(".verdict")
    expect(await page.locator(".verdict").innerText()).toContain("FAILED")
  })

  test("the log is audited in the browser, and remembered", async () => {
    const page = await signIn(customer.secret ?? "")
    await open(page, "/console/log")
    await page.click("text=Audit the log")
    await page.waitForSelector(".good-text")
    await customer.execute(request())
    await page.click("text=Audit the log")
    await page.waitForSelector("text=It still begins with")
    await expectAccessible(page, "log health")
  })

  test("an administrator makes a key, and its secret is shown once", async () => {
    const page = await signIn(admin.secret ?? "")
    await open(page, "/console/keys")
    await page.fill("main input[name=name]", "made-here")
    await page.click("text=Make a key")
    const secret = await page.locator(".secret").innerText()
    expect((await visitWith(secret)).status).toBe(200)
    await open(page, "/console/keys")
    expect(await page.content()).not.toContain(secret)
    expect(await page.locator("table").innerText()).toContain("customer:made-here")
    await expectAccessible(page, "keys")
  })

  const visitWith = (secret: string): Promise<Response> =>
    service().request("/runs", { headers: { "X-Service-Key": secret } })

  test("an administrator rotates a leaked key: the old secret is refused at once, and its session ends", async () => {
    const leaked = await mint(service(), CUSTOMER, admin)
    const theirs = await signIn(leaked.secret ?? "")
    const page = await signIn(admin.secret ?? "")
    await open(page, `/console/keys/${leaked.id}`)
    await page.check("[name=leaked]")
    await page.click("text=Rotate the secret")
    const secret = await page.locator(".secret").innerText()
    expect((await visitWith(secret)).status).toBe(200)
    expect((await visitWith(leaked.secret ?? "")).status).toBe(401)
    await page.reload()
    expect(await page.locator(".secret").count()).toBe(0)
    await page.goBack()
    await page.goForward()
    expect((await visitWith(secret)).status).toBe(200)
    await open(theirs, "/console/runs")
    expect(await theirs.locator("[role=status]").innerText()).toContain("The session has ended")
    await open(page, "/console/audit")
    expect(await page.locator("table").innerText()).toContain("key.rotate")
  })

  test("an administrator tries a policy before it decides, and puts it in force", async () => {
    const page = await signIn(admin.secret ?? "")
    await open(page, "/console/policies")
    const policy = JSON.parse(await page.inputValue("textarea"))
    const stricter = {
      ...policy,
      rules: [...policy.rules, { id: "no-more", effect: "deny", when: 'context.bound.route_id != "x"' }],
    }
    await page.fill("textarea", JSON.stringify(stricter))
    await page.click("text=What would change?")
    expect(await page.locator(".diff .new").allInnerTexts()).toContainEqual(expect.stringContaining('"id": "no-more"'))
    expect(await page.locator(".figures-line").innerText()).toMatch(/[1-9]\d*\s+newly refused/)
    for (const at of ["Home", "End"]) {
      await page.keyboard.press(at)
      expect(await page.locator("text=Put it in force").isVisible()).toBe(true)
    }
    await expectAccessible(page, "a dry run")
    await page.check("[name=sure]")
    await page.click("text=Put it in force")
    expect(await page.locator(".notice").innerText()).toContain("It is in force")
    expect((await customer.execute(request())).body).toMatchObject({ error_stage: "PEPG" })
  })

  test("a policy that was typed is not lost with the session: who signs in again reads what it would change", async () => {
    const short = await mint(service(), { ...ADMIN, name: "short" }, admin)
    const page = await signIn(short.secret ?? "")
    await open(page, "/console/policies")
    const policy = { policy_id: "typed-for-long", policy_name: "T", required_attested_fields: [], rules: [] }
    await page.fill("textarea", JSON.stringify(policy))
    // Live pages of the others would ask over the end of their sessions, and be answered with 401.
    for (const other of visits) if (other.page !== page) await other.page.close()
    service().clock.advance(31 * MINUTE_MS)
    await page.click("text=What would change?")
    expect(await page.locator("main").innerText()).toContain("Nothing was done yet.")
    await expectAccessible(page, "an ended session")
    await page.fill("#key", "rsk_nonsense")
    await page.click("text=Sign in and send it")
    expect(await page.locator("[role=alert]").innerText()).toContain("no valid key")
    await page.fill("#key", short.secret ?? "")
    await page.click("text=Sign in and send it")
    expect(await page.locator("h1").innerText()).toBe("What would change")
    expect(await page.inputValue("textarea")).toContain("typed-for-long")
  })

  test("figures of the overview lead to their lists", async () => {
    const page = await signIn(admin.secret ?? "")
    const column = page.locator(".chart a").last()
    await column.locator(".hover").hover()
    expect(await column.locator("text").innerHTML()).toMatch(/^\d+ \w+ \d\d:00 · [1-9]\d* runs? · passed/)
    expect(await column.locator("text").isVisible(), "its figures are shown under the pointer").toBe(true)
    const fills = await page
      .locator(".outcomes .swatch rect")
      .evaluateAll(all => all.map(one => one.getAttribute("fill")))
    expect(new Set(fills).size, "each outcome has a colour and a pattern of its own").toBe(OUTCOME_KINDS.length)
    const denied = page.locator(".outcomes tr:has-text('Denied')")
    const denials = Number(await denied.locator(".figure").first().innerText())
    await denied.locator("a").click()
    expect(page.url()).toContain("status=pepg_deny")
    expect(await page.locator("tbody tr").count()).toBe(denials)
    await open(page, "/console?range=24h")
    const rule = page.locator("section:has(h2:has-text('Denied by')) .bars a").first()
    const runs = Number(await rule.locator(".figure").innerText())
    await rule.click()
    expect(page.url()).toContain("rule_id=")
    expect(await page.locator("tbody tr").count()).toBe(runs)
    await open(page, "/console?range=90d")
    await page.click("summary:has-text('Figures')")
    await page.click("details tbody a >> nth=-1")
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(0)
    await open(page, "/console?range=30d")
    await expectAccessible(page, "the overview")
  })

  test("a receiver that does not answer shows, is paused, and is left behind; an auditor sees how far it is", async () => {
    const page = await signIn(admin.secret ?? "")
    await open(page, "/console/deliveries")
    expect(await page.locator(".empty").innerText()).toContain("delivered to nobody")
    await page.fill("[name=url]", "https://events.invalid/siem")
    await page.fill("main [name=name]", "siem")
    await page.click("text=Deliver events there")
    expect(await page.locator(".secret").innerText()).toMatch(/^whsec_/)
    await expectAccessible(page, "deliveries")
    await page.click("td a:has-text('siem')")
    await page.click("text=Send a test event")
    expect(await page.locator(".notice.bad").first().innerText()).toContain("it cannot be reached")
    await page.click("button:has-text('Rotate the secret')")
    expect(await page.locator(".secret").innerText()).toMatch(/^whsec_/)
    await page.fill("[name=from]", "0")
    await page.click("button:has-text('Set the position')")
    expect(await page.locator(".notice.good").innerText()).toContain("The next position to deliver is 0")
    await page.click("button:has-text('Pause')")
    expect(await page.locator(".heading .label").innerText()).toContain("paused")
    await expectAccessible(page, "a delivery")
    const auditor = await mint(service(), { name: "audit", scope: "auditor" }, admin)
    const theirs = await signIn(auditor.secret ?? "")
    await open(theirs, page.url().slice(address().length))
    expect(await theirs.locator("main").innerText()).toContain("of the log")
    expect(await theirs.content()).not.toContain("events.invalid")
    for (const path of ["", "/runs", "/permits", "/budgets", "/policies", "/log", "/deliveries", "/audit"]) {
      await open(theirs, `/console${path}`)
      expect(await theirs.locator("[role=alert]").count(), path).toBe(0)
      await expectAccessible(theirs, path)
    }
    await page.check("[name=sure]")
    await page.click("button:has-text('Delete')")
    expect(await page.locator(".notice.good").innerText()).toContain("Deleted")
  })

  test("every page of an administrator is accessible and fits", async () => {
    const page = await signIn(admin.secret ?? "", { viewport: { width: 320, height: 800 } })
    for (const path of [
      "",
      "/runs",
      "/runs?key=2&route_id=nothing",
      `/runs/${ok}`,
      "/permits",
      "/budgets",
      "/policies",
      "/keys",
      "/keys/2",
      "/deliveries",
      "/audit",
    ]) {
      await open(page, `/console${path}`)
      await expectAccessible(page, path)
      const [wide = 0, room = 0] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      expect(wide, path).toBeLessThanOrEqual(room)
    }
  })

  test("a form with the token of another session changes nothing", async () => {
    const page = await signIn(admin.secret ?? "")
    await open(page, "/console/keys")
    await page.locator("main input[name=csrf]").evaluate(field => field.setAttribute("value", "0".repeat(64)))
    await page.fill("main input[name=name]", "forged")
    await page.click("text=Make a key")
    expect(await page.locator("main form .notice").innerText()).toContain("Nothing was done: send it once more.")
    expect(await page.inputValue("main input[name=name]")).toBe("forged")
    expect(await page.locator("table").innerText()).not.toContain("forged")
  })

  test("a key that is revoked ends the session that is using it", async () => {
    const short = await mint(service(), CUSTOMER, admin)
    const page = await signIn(short.secret ?? "")
    await admin.send("DELETE", `/admin/keys/${short.id}`)
    await open(page, "/console/runs")
    expect(await page.locator("[role=status]").innerText()).toContain("The session has ended")
  })

  test.each([
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 800 } }],
  ] as const)("every page of a customer is accessible and fits: %s", async (_, options) => {
    const page = await signIn(customer.secret ?? "", options)
    for (const path of ["", "/runs", "/runs?status=macc_halt", `/runs/${denied}`, "/permits", "/log", "/nowhere"]) {
      await open(page, `/console${path}`)
      await expectAccessible(page, path)
      const [wide = 0, room = 0] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      expect(wide, path).toBeLessThanOrEqual(room)
    }
  })

  test("the first page is small, and paper shows the content alone", async () => {
    const page = await signIn(customer.secret ?? "")
    let bytes = 0
    const session = await page.context().newCDPSession(page)
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", { cacheDisabled: true })
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await open(page, "/console")
    await page.waitForLoadState("networkidle")
    expect(bytes).toBeGreaterThan(1000)
    expect(bytes).toBeLessThan(MAX_PAGE_BYTES)
    await page.emulateMedia({ media: "print" })
    expect(await page.getByRole("navigation", { name: "Console" }).isVisible()).toBe(false)
    expect(await page.locator("h1").isVisible()).toBe(true)
  })

  test("new runs are followed without a gap, say what lists say, and older ones go on behind them", async () => {
    const follower = await mint(service(), { name: "follower", tier: "production", observe: true }, admin)
    const make = async (): Promise<number> =>
      numberAt((await follower.execute(request({ enforcement: "observe" }))).body, "run_id")
    const made = [await make()]
    const pages = [await signIn(admin.secret ?? ""), await signIn(follower.secret ?? "")]
    for (const page of pages) await open(page, `/console/runs${page === pages[0] ? `?key=${follower.id}` : ""}`)
    // More than an answer holds.
    for (let i = 0; i < 70; i++) made.unshift(await make())
    for (const page of pages) await page.click("text=Follow new runs")
    for (const page of pages) {
      await page.waitForSelector("tr.new")
      const numbers = (): Promise<readonly number[]> =>
        page
          .locator("tbody tr td:first-child")
          .allInnerTexts()
          .then(texts => texts.map(Number))
      const shown = await numbers()
      expect(shown).toEqual(made.slice(0, shown.length))
      expect(await page.locator("tr.new .label.info").first().innerText()).toBe("only observed")
      await page.click("text=Older runs")
      expect([...shown, ...(await numbers())]).toEqual(made)
    }
    expect(await pages[1]?.locator("#total").innerText()).toBe("71 runs")
  })

  test("works by keyboard: the first stop skips the navigation", async () => {
    const page = await signIn(customer.secret ?? "")
    await page.keyboard.press("Tab")
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content")
    await page.keyboard.press("Enter")
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main")
  })
})
