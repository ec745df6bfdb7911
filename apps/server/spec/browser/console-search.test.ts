/** docs/console.md, "Finding", in a real browser: the search's shortcut, what is copied, and times of the visitor's own zone. */
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let admin: Holder

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  await admin.execute(request())
  await admin.execute(request({ payload: EICAR }))
})

describe.skipIf(!HAS_CHROMIUM)(`finding in ${CHROMIUM}`, () => {
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  const signIn = async (): Promise<Page> => {
    const options = { permissions: ["clipboard-read", "clipboard-write"], timezoneId: "Asia/Tokyo", locale: "en-GB" }
    const { page } = await visit("/console", options)
    await page.fill("#key", admin.secret ?? "")
    await page.click("main button")
    await page.waitForSelector("h1:has-text('Overview')")
    return page
  }

  test("/ leads to the search from anywhere, and is a letter inside a field", async () => {
    const page = await signIn()
    await page.keyboard.press("/")
    await page.keyboard.type("2")
    await page.keyboard.press("Enter")
    await page.waitForURL(/\/console\/runs\/2$/)
    await page.goto(`${address()}/console/runs`)
    await page.click('input[name="route_id"]')
    await page.keyboard.type("a/b")
    expect(await page.inputValue('input[name="route_id"]')).toBe("a/b")
    expect(await page.inputValue('input[name="q"]')).toBe("")
  })

  test("a hash, a command for curl and one for the verifier are copied whole", async () => {
    const page = await signIn()
    await page.goto(`${address()}/console/runs/2`)
    const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
    const hash = textAt((await admin.get("/admin/runs/2")).body, "payload_hash")
    await page.click(`[data-copy="${hash}"] + button`)
    expect(await copied()).toBe(hash)
    await page.click("text=Copy as curl")
    expect(await copied()).toBe(
      `curl -sS '${address()}/admin/runs/2/auditor.zip' -H "X-Service-Key: $KEY" -o runseal-run-2-auditor.zip`,
    )
    await page.click("text=Copy as verifier command")
    expect(await copied()).toBe("verifier runseal-run-2-auditor.zip")
    for (const button of await page.$$("button.copy")) {
      const box = await button.boundingBox()
      expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(24)
    }
  })

  test("a time under the pointer is the visitor's own, too", async () => {
    const page = await signIn()
    await page.goto(`${address()}/console/runs`)
    const time = page.locator("tbody time").first()
    await time.hover()
    expect(await time.getAttribute("title")).toMatch(/^\d+ May 2026, 21:\d\d:\d\d \(Asia\/Tokyo\); 2026-05-04T12:/)
  })

  test("the file for the auditor is loaded under its name", async () => {
    const page = await signIn()
    await page.goto(`${address()}/console/runs/1`)
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=One file for the auditor")])
    expect(download.suggestedFilename()).toBe("runseal-run-1-auditor.zip")
  })
})
