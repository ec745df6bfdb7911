/** docs/console.md, "Needs attention" and "Live pages", in a real browser. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { parseWitness, type Witness } from "../../src/options/witness.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { openedId } from "../harness/asked-permits.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { machineClock } from "../harness/clock.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { request, spending } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { endWitnesses, startImpostor } from "../harness/witnesses.ts"

const WIDTHS = [390, 1280, 1920]

describe.skipIf(!HAS_CHROMIUM)(`live pages in ${CHROMIUM}`, () => {
  let witnesses: Witness[] = []
  beforeAll(async () => {
    const { option } = await startImpostor("steady.example", ({ body, cosign }, response) =>
      response.end(cosign(/\n\n(.*\n)\n/s.exec(body)?.[1] ?? "")),
    )
    const witness = parseWitness(option)
    witnesses = witness === undefined ? [] : [witness]
  })
  afterAll(endWitnesses)
  // Cosignatures have the time of the machine.
  const service = standingService(() => ({
    clock: machineClock(),
    config: { windowTokenBudget: 1000, runTokenBudget: 1000, witnesses, witnessesNeeded: 1 },
  }))
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  let admin: Holder
  let customer: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    customer = await mint(service(), { name: "mail agent", tier: "production" }, admin)
    await customer.execute(request())
  })
  const signIn = async ({ secret = "" }: Holder, path = "/console") => {
    const made = await visit(path)
    await made.page.fill("#key", secret)
    await made.page.click("main button")
    await made.page.waitForURL(address() + path)
    return made
  }
  const live = (page: Page) => page.locator("#live [role=status]")

  test("a run shows on the overview of itself, and what was opened stays open", async () => {
    const { page, complaints } = await signIn(admin)
    await page.getByText("All is well.").waitFor()
    await page.locator("summary", { hasText: "Figures" }).click()
    await page.locator("summary", { hasText: "Figures" }).focus()
    await customer.execute(request({ route_id: "seen/at-once" }))
    await page.locator(".latest").getByText("seen/at-once").waitFor()
    expect(await page.locator("details[open] summary:focus").innerText()).toBe("Figures of both charts")
    expect(complaints).toEqual([])
    await expectAccessible(page, "the overview, where all is well")
  })

  test("what needs attention comes with its number in the menu and one next step, which leads there", async () => {
    const { page } = await signIn(admin)
    await customer.execute(spending(1000))
    await page.getByRole("heading", { name: "1 budget is full" }).waitFor()
    expect(await page.locator(".places").innerText()).toMatch(/Budgets\s*1/)
    for (const width of WIDTHS)
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
        await expectAccessible(page, `the overview at ${width}, ${colorScheme}`)
      }
    await page.getByRole("link", { name: "Change its limit" }).click()
    await page.getByRole("heading", { level: 1, name: /mail agent/ }).waitFor()
  })

  test("a pause stops it, also on the next page of the window, until it goes on", async () => {
    const { page, asked } = await signIn(admin)
    await page.getByRole("button", { name: "Pause" }).click()
    expect(await live(page).innerText()).toBe("Paused")
    await page.goto(`${address()}/console/permits`)
    expect(await live(page).innerText()).toBe("Paused")
    const before = asked.length
    const other = await mint(service(), { name: "other", tier: "production" }, admin)
    await openedId(other, { route_id: "while/paused" })
    await page.waitForTimeout(1000)
    expect(asked.length).toBe(before)
    await page.getByRole("button", { name: "Go on" }).click()
    await page.getByText("while/paused").waitFor()
  })

  test("two windows of a session wait once, and both are refreshed", async () => {
    const { page, asked } = await signIn(admin)
    const second = await page.context().newPage()
    const askedBySecond: string[] = []
    second.on("request", made => askedBySecond.push(made.url()))
    await page.waitForTimeout(1000)
    await second.goto(`${address()}/console`)
    await customer.execute(request({ route_id: "in/both" }))
    for (const one of [page, second]) await one.locator(".latest").getByText("in/both").waitFor({ state: "attached" })
    const waits = [...asked, ...askedBySecond].filter(url => url.includes("/attention?"))
    expect(waits.length).toBeLessThan(4)
  })

  test("the page says that its session has ended", async () => {
    const { page } = await signIn(customer, "/console/permits")
    await page.context().clearCookies()
    await openedId(await mint(service(), { name: "third", tier: "production" }, admin))
    await page.getByText("The session has ended: load the page again.").waitFor()
  })
})
