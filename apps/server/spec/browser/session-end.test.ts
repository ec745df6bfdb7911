/** docs/console.md, "Forms": the end of a session is warned of, and what was typed outlives it, in a real browser. */
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const MINUTE_MS = 60_000

describe.skipIf(!HAS_CHROMIUM)(`the end of a session in ${CHROMIUM}`, () => {
  const service = standingService()
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  let admin: Holder
  let other: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    other = await mint(service(), { ...ADMIN, name: "other" }, admin)
  })

  const enter = async (page: Page, { secret = "" }: Holder): Promise<void> => {
    await page.fill("#key", secret)
    await page.click("main button")
    await page.waitForSelector("h1:has-text('Overview')")
  }
  /** A page with a name typed for a new key, and time that passes for it and the service alike. */
  async function typing(
    name: string,
  ): Promise<{ readonly page: Page; readonly pass: (minutes: number) => Promise<void> }> {
    service().clock.advance(MINUTE_MS)
    const { page } = await visit("/console")
    await enter(page, admin)
    await page.clock.install()
    await page.goto(`${address()}/console/keys`)
    await page.fill("main input[name=name]", name)
    const pass = async (minutes: number): Promise<void> => {
      service().clock.advance(minutes * MINUTE_MS)
      await page.clock.fastForward(minutes * MINUTE_MS)
    }
    return { page, pass }
  }
  /** Another window of the same browser. */
  const elsewhere = async (page: Page, as: Holder): Promise<void> => {
    service().clock.advance(MINUTE_MS)
    const second = await page.context().newPage()
    await second.goto(`${address()}/console/sign-in`)
    await enter(second, as)
    await page.bringToFront()
    await page.evaluate(() => window.dispatchEvent(new Event("focus")))
  }
  const notice = "#session-end"

  test("is warned of two minutes before, and staying signed in takes one press", async () => {
    const { page, pass } = await typing("stayed")
    await pass(26)
    expect(await page.isVisible(notice)).toBe(false)
    await pass(2)
    await page.waitForSelector(`${notice}:has-text("The session ends in")`)
    await expectAccessible(page, "a warning")
    await page.click("text=Stay signed in")
    await page.waitForSelector(notice, { state: "hidden" })
    await pass(10)
    await page.click("text=Make a key")
    expect(await page.locator(".notice").first().innerText()).toContain("stayed")
  })

  test("leaves what was typed, which is sent from the same page once its holder has signed in elsewhere", async () => {
    const { page, pass } = await typing("survived")
    await pass(31)
    await page.waitForSelector(`${notice}:has-text("The session has ended")`)
    await elsewhere(page, admin)
    await page.waitForSelector(notice, { state: "hidden" })
    expect(await page.inputValue("main input[name=name]")).toBe("survived")
    await page.click("text=Make a key")
    expect(await page.locator(".notice").first().innerText()).toContain("survived")
  })

  test("comes also where new runs are followed: nobody uses the session then", async () => {
    const customer = await mint(service(), { ...CUSTOMER, tier: "production" }, admin)
    await customer.execute(request({}))
    const { page, pass } = await typing("not-typed")
    await page.goto(`${address()}/console/runs`)
    await page.click("text=Follow new runs")
    for (const minutes of [10, 10, 11]) {
      const asked = page.waitForResponse(/admin\/runs/)
      await pass(minutes)
      await asked
    }
    await page.waitForSelector(`${notice}:has-text("The session has ended")`)
    await page.waitForSelector(`#tail:has-text("The session has ended: load the page again.")`)
  })

  test("gives a page of one holder to no other", async () => {
    const { page, pass } = await typing("never-sent")
    await pass(31)
    await elsewhere(page, other)
    await page.click("text=Make a key")
    expect(await page.locator("h1").innerText()).toBe("This form was opened by somebody else")
    await page.goto(`${address()}/console/keys`)
    expect(await page.locator("table").innerText()).not.toContain("never-sent")
  })
})
