/** docs/api.md, "GET /": an index for programs, a page for people. */
import { describe, expect, test } from "vitest"
import { createApp } from "../src/app.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "./harness/browser.ts"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { expectRefused, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
const BROWSER = { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }

test("a program gets links, mode, log size and the fingerprints of the trust document", async () => {
  const { status, body, headers } = await service().get("/")
  expect(status).toBe(200)
  expect(headers.get("vary")).toContain("Accept")
  expect(body).toMatchObject({ service: "runseal", mode: "open", log: { origin: service().deps.logOrigin, size: 1 } })
  const trust = await service().get("/.well-known/runseal-trust.json")
  expect(body.fingerprints).toEqual(listAt(trust.body, "service_keys").map(key => textAt(key, "key_id")))
  for (const link of Object.values(objectAt(body, "links")))
    expect((await service().get(new URL(String(link)).pathname)).status, String(link)).toBe(200)
})

test("a browser gets a page without a script, which leads to an admin key while there is none", async () => {
  const response = await service().request("/", BROWSER)
  const page = await response.text()
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
  expect(response.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'self'; font-src 'self'; img-src data:; base-uri 'none'; /,
  )
  expect(page).not.toMatch(/<script|javascript:|\son\w+=|style=/i)
  expect(page).toContain('"scope": "admin"'.replaceAll('"', "&quot;"))
  expect(page).toContain('<a href="console">')
  expect(page).toContain('<link rel="icon" href="data:image/svg+xml,')
  expect((await service().get("/console/assets/site.css")).status).toBe(200)
  expect(page).toContain('<pre tabindex="0"><code>curl')
  for (const [, href = ""] of page.matchAll(/<a href="([^"]+)"/g))
    expect((await service().get(`/${href}`)).status, href).toBe(200)
})

test("a link to the page may have parameters of others; a program is told that there are none", async () => {
  const response = await service().request("/?utm_source=mail", BROWSER)
  expect({ status: response.status, type: response.headers.get("content-type") }).toEqual({
    status: 200,
    type: "text/html; charset=utf-8",
  })
  expect(expectRefused(await service().get("/?utm_source=mail"), 400)).toBe("This endpoint takes no query parameters.")
})

test("once there is a key, both say that the service is locked", async () => {
  await mint(service(), ADMIN)
  expect((await service().get("/")).body.mode).toBe("locked")
  const page = await (await service().request("/", BROWSER)).text()
  expect(page).toContain("Locked mode")
  expect(page).toContain("--mint-admin-key")
})

describe.skipIf(!HAS_CHROMIUM)(`in ${CHROMIUM}`, () => {
  const { visit } = standingVisitor(() => ({ fetch: createApp(service().deps).fetch }))

  test("the page fits a phone, follows the dark theme and complains of nothing", async () => {
    const { page, asked, complaints } = await visit("/", {
      viewport: { width: 390, height: 844 },
      colorScheme: "dark",
    })
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Run attestation service")
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(16, 20, 26)")
    // Itself, its style sheet and the typeface, of its own service.
    expect(new Set(asked.map(address => new URL(address).host)).size).toBe(1)
    expect(asked.length).toBeLessThanOrEqual(5)
    expect(complaints).toEqual([])
    if (process.env.RUNSEAL_SCREENSHOTS) await page.screenshot({ path: `${process.env.RUNSEAL_SCREENSHOTS}/index.png` })
  })
})
