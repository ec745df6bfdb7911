/** `GET /public/runs/{token}`: a published run for people, verified in their own browser. */
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { closed, openedId } from "../harness/asked-permits.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, numberAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { choose, shown } from "../harness/verify-page-parts.ts"

const service = standingService(() => ({ config: { rateLimit: 2, anonymousRateLimit: 2 } }))
let admin: Holder
let run_id = 0
let token = ""
const UNKNOWN = "0".repeat(32)
const BROWSER = { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }

beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  run_id = numberAt((await admin.execute(request())).body, "run_id")
  token = textAt((await admin.post(`/admin/runs/${run_id}/publish`)).body, "token")
})

describe("the page of a published run", () => {
  test("is the page of /verify, with its policy, and names run, outcome, publisher and time", async () => {
    const verify = await service().get("/verify")
    const { status, headers, text } = await service().get(`/public/runs/${token}`)
    expect(status).toBe(200)
    const day = new Date(service().clock.nowMs()).toISOString().slice(0, 10)
    expect(text).toContain(`<title>Run ${run_id} was admitted, checked and sealed, published by ops, ${day} `)
    expect(text).toContain(`<h1>Run ${run_id} was admitted, checked and sealed</h1>`)
    expect(text).toMatch(/<meta name="description" content="[^"]*published by ops \d{4}-\d\d-\d\d \d\d:\d\d UTC\.">/)
    const body = (page: string): string | undefined => page.split("<noscript>")[1]
    expect(body(text)).toBe(body(verify.text))
    expect(headers.get("content-security-policy")).toBe(verify.headers.get("content-security-policy"))
    expect(Number(/^public, max-age=(\d+)$/.exec(headers.get("cache-control") ?? "")?.[1])).toBeLessThanOrEqual(3600)
    expect(headers.get("vary")).toBe("Accept")
  })

  test("neither page is limited", async () => {
    for (let i = 0; i < 4; i++)
      for (const path of ["/verify", `/public/runs/${token}`, `/public/runs/${UNKNOWN}`]) {
        const { status, headers } = await service().get(path)
        expect(status, path).not.toBe(429)
        expect(headers.get("ratelimit"), path).toBeNull()
      }
  })

  test.each([UNKNOWN, "x", `${UNKNOWN}0`, UNKNOWN.toUpperCase().replace("0", "A"), "%00", "..%2f..%2fadmin"])(
    "without a run under the token a program gets the envelope, a browser the page: %s",
    async unknown => {
      const path = `/public/runs/${unknown}`
      expectRefused(await service().get(path), 404)
      const page = await service().request(path, BROWSER)
      expect(page.status).toBe(404)
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
      expect(page.headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; style-src 'self'; font-src 'self'; img-src data:; base-uri 'none'/,
      )
      expect(await page.text()).toContain("<h1>Nothing is published here</h1>")
      expect(page.headers.get("cache-control")).toBe("no-store")
    },
  )
})

describe("the page of a published run whose act failed", () => {
  const other = standingService()

  test("says so in its title, its heading and its description", async () => {
    const operator = await mint(other(), ADMIN)
    const { body } = await closed(operator, await openedId(operator), { outcome: "failed", code: "TIMED_OUT" })
    const id = numberAt(body, "run_id")
    const published = textAt((await operator.post(`/admin/runs/${id}/publish`)).body, "token")
    const { text } = await other().get(`/public/runs/${published}`)
    const named = `Run ${id} was admitted, checked and sealed; its act failed`
    expect(text).toContain(`<h1>${named}</h1>`)
    expect(text).toContain(`<title>${named}, published by ops`)
    expect(text).toMatch(/<meta property="og:description" content="[^"]* Its act failed\.">/)
  })
})

describe.skipIf(!HAS_CHROMIUM)(`in ${CHROMIUM}`, () => {
  /** As behind a proxy that serves us under a path of its own. */
  const PREFIX = "/seal"
  const { address, visit } = standingVisitor(() => {
    const app = createApp(service().deps)
    return {
      fetch: ({ url, method, headers }) => app.fetch(new Request(url.replace(PREFIX, ""), { method, headers })),
    }
  })

  test("fetches the bundle and verifies it at once, and says what keys of the same address are worth", async () => {
    const { page, asked, complaints } = await visit(`${PREFIX}/public/runs/${token}`)
    const found = await shown(page, "The published bundle")
    expect(found.verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(found.text).toContain(`Audit bundle of run ${run_id}, outcome ok, held against the keys of`)
    expect(await page.title()).toBe(`Run ${run_id} was admitted, checked and sealed`)
    expect(await page.locator("#result + #inputs").count()).toBe(1)
    expect(await page.locator("#keys").innerText()).toContain("Never rely only on the trust document of the address")
    expect(await page.getByRole("link", { name: "Save its bundle" }).getAttribute("href")).toBe(`${token}/bundle.json`)
    const paths = [`/public/runs/${token}`, "/.well-known/runseal-trust.json", `/public/runs/${token}/bundle.json`]
    expect([...asked].sort()).toEqual(paths.map(path => address() + PREFIX + path).sort())
    expect(complaints).toEqual([])
  })

  test("says nothing of the run where its record fails, or where the visitor gives another file", async () => {
    const named = `Run ${run_id} was admitted`
    const served = (await service().get(`/public/runs/${token}/bundle.json`)).text
    const forged = served.replace(/"route_id":"[^"]*"/, '"route_id":"forged"')
    const { page } = await visit(`${PREFIX}/public/runs/${token}`)
    await shown(page, "The published bundle")
    await choose(page, "document", { name: "forged.json", bytes: forged })
    expect((await shown(page, "forged.json")).verdict).toBe("FAILED")
    const { page: other } = await visit(`${PREFIX}/verify`)
    await other.route("**/bundle.json", route => route.fulfill({ contentType: "application/json", body: forged }))
    await other.goto(`${address()}${PREFIX}/public/runs/${token}`)
    expect((await shown(other, "The published bundle")).verdict).toBe("FAILED")
    for (const one of [page, other]) {
      expect(await one.title()).toBe("Verify a Runseal record")
      expect(await one.locator("main").innerText()).not.toContain(named)
    }
    expect(await page.locator("main").innerText()).not.toMatch(/[Pp]ublished/)
  })

  test("shows the verdict on a phone without scrolling", async () => {
    const { page } = await visit(`${PREFIX}/public/runs/${token}`, { viewport: { width: 390, height: 844 } })
    await shown(page, "The published bundle")
    const verdict = await page.locator("#result .verdict").boundingBox()
    expect((verdict?.y ?? Number.POSITIVE_INFINITY) + (verdict?.height ?? 0)).toBeLessThan(844)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    if (process.env.RUNSEAL_SCREENSHOTS) await page.screenshot({ path: `${process.env.RUNSEAL_SCREENSHOTS}/phone.png` })
  })

  test("says that nothing is published there, also after the run was withdrawn", async () => {
    await admin.post(`/admin/runs/${run_id}/unpublish`)
    for (const gone of [token, UNKNOWN]) {
      const { page } = await visit(`${PREFIX}/public/runs/${gone}`)
      expect(await page.title()).toBe("Nothing is published here")
      await page.getByRole("link", { name: "verify it in your browser" }).click()
      expect(new URL(page.url()).pathname).toBe(`${PREFIX}/verify`)
    }
  })
})
