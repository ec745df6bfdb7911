/** People sign in to the console with a real OpenID provider, in a real browser, from one site to another. docs/console.md, "Signing in". */
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { HAS_CHROMIUM, standingVisitor, type Visit } from "../harness/browser.ts"
import { ADMIN, mint } from "../harness/key-holders.ts"
import { signInConfig, standingSite } from "../harness/sign-in-browser.ts"
import { standingService } from "../harness/test-service.ts"

const GROUPS = new Map([
  ["grace", ["ops"]],
  ["alan", ["treasury"]],
])

describe.skipIf(!HAS_CHROMIUM)("a person at a browser", () => {
  const { provider, port, origin } = standingSite(account => GROUPS.get(account) ?? [])
  const roles = new Map([
    ["ops", "admin"],
    ["treasury", "approver"],
  ] as const)
  const service = standingService(() => ({ config: signInConfig(provider().issuer, roles, origin()) }))
  beforeAll(() => mint(service(), ADMIN))
  const { visit } = standingVisitor(() => createApp(service().deps), port)

  /** From the page that signs in to the page of the console. */
  async function signIn(page: Page, account: string): Promise<void> {
    await page.getByRole("link", { name: /^Sign in with/ }).click()
    await page.locator("input[name=login]").fill(account)
    await page.locator("input[name=password]").fill("any")
    await page.getByRole("button").first().click()
    await page.getByRole("button").first().click()
    await page.waitForURL(`${origin()}/**`)
  }
  /** What the policy of a page refused. The provider's own pages load fonts that this machine does not reach. */
  const own = ({ complaints }: Visit): readonly string[] => complaints.filter(text => /policy/i.test(text))

  test("signs in, is led to the page that was wanted, and signs out of this service alone", async () => {
    const visited = await visit(`${origin()}/console/runs?status=ok`)
    const { page } = visited
    await signIn(page, "grace")
    expect(page.url()).toBe(`${origin()}/console/runs?status=ok`)
    expect(await page.locator(".who strong").textContent()).toBe("grace")
    await page.getByRole("button", { name: "Sign out" }).click()
    expect(await page.getByRole("status").textContent()).toContain("goes on")
    // It does: nobody is asked for a name.
    await page.getByRole("link", { name: /^Sign in with/ }).click()
    await page.waitForURL(`${provider().issuer}/interaction/**`)
    expect(await page.locator("input[name=login]").count()).toBe(0)
    await page.getByRole("button").first().click()
    await page.waitForURL(`${origin()}/console`)
    expect(own(visited)).toEqual([])
  })

  test("a link from another site opens a page with the session; a form, a frame and a start from there do not", async () => {
    const { page } = await visit(`${origin()}/console`)
    await signIn(page, "grace")
    const from = async (markup: string): Promise<void> => {
      await page.goto(`${provider().issuer}/.well-known/openid-configuration`)
      await page.evaluate(text => {
        document.body.innerHTML = text
      }, markup)
    }
    await from(`<a id="go" href="${origin()}/console/log">go</a>`)
    await page.click("#go")
    await page.waitForURL(`${origin()}/console/log`)
    expect(await page.locator(".who strong").textContent()).toBe("grace")

    await from(`<form method="post" action="${origin()}/console/sign-out"><button id="go">go</button></form>`)
    await page.click("#go")
    await page.getByText("This form came from another site").waitFor()

    await from(`<a id="go" href="${origin()}/console/sign-in/provider">go</a>`)
    await page.click("#go")
    await page.waitForURL(`${origin()}/console/sign-in?**`)

    await from(`<iframe src="${origin()}/console"></iframe>`)
    await page.waitForTimeout(500)
    expect(await page.frames()[1]?.content()).not.toContain("Overview")

    await page.goto(`${origin()}/console`)
    expect(await page.locator(".who strong").textContent(), "the session stays").toBe("grace")
  })

  test.each([
    ["a decision waits for a press", "alan", `/console/approval?id=apr-${"0".repeat(32)}`, true],
    ["any other form is sent by itself", "grace", "/console/keys", false],
  ])("of forms that are held for a sign-in, %s", async (_, account, action, waits) => {
    const { page } = await visit(`${origin()}/console/sign-in`)
    await page.evaluate(
      ([to, by]) => {
        const form = Object.assign(document.createElement("form"), { method: "post", action: to })
        const fields = { by, csrf: "", once: crypto.randomUUID(), decision: "approve" }
        for (const [name, value] of Object.entries(fields))
          form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }))
        document.body.append(form)
        form.submit()
      },
      [action, `${provider().issuer} ${account}`],
    )
    await page.getByRole("heading", { name: "The session has ended" }).waitFor()
    const other = await page.context().newPage()
    await other.goto(`${origin()}/console/sign-in`)
    await signIn(other, account)
    await page.bringToFront()
    const posts: string[] = []
    page.on("request", asks => asks.method() === "POST" && posts.push(asks.url()))
    const asked = page.waitForResponse(/\/session$/)
    await page.evaluate(() => window.dispatchEvent(new Event("focus")))
    await asked
    if (waits) {
      expect(await page.locator("#held input[name=csrf][value]:not([value=''])").count()).toBe(1)
      await page.getByText("What you sent approves the request apr-").waitFor()
      expect(posts).toEqual([])
      await page.getByRole("button", { name: "Send it now" }).click()
    }
    await expect.poll(() => posts).toEqual([`${origin()}${action}`])
  })

  test("sees approvals and the own passkeys alone as an approver, on a telephone too", async () => {
    const phone = { viewport: { width: 360, height: 740 } }
    const { page } = await visit(`${origin()}/console`, phone)
    await signIn(page, "alan")
    expect(page.url()).toBe(`${origin()}/console/approvals`)
    await page.getByText("No approval waits for you.").waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    for (const path of ["runs", "log", "audit", "keys"]) {
      await page.goto(`${origin()}/console/${path}`)
      await page.getByText("An approver sees approvals and the own passkeys, and nothing else.").waitFor()
    }
  })

  test("without a role reads why, and has no session", async () => {
    const { page } = await visit(`${origin()}/console`)
    await signIn(page, "mallory")
    await page.getByText("none of your groups has a role here").waitFor()
    expect((await page.context().cookies(origin())).map(({ name }) => name)).toEqual([])
  })
})
