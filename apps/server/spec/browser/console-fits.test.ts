/** Every page of the console, on a telephone and on a large screen, in light and in dark, for each role: it fits, and everybody can use it. */
import type { JsonObject } from "@runseal/canonical"
import type { BrowserContextOptions, Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { expectAccessible } from "../harness/accessible.ts"
import { asking, closed, openedId } from "../harness/asked-permits.ts"
import { HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

/** Room on the right of the content of a wide screen, as a share of the screen, which is more than a margin. */
const EMPTY_SHARE = 0.25
const MINUTE_MS = 60_000
const LONG_NAME = "Directorate for Payment Systems, Settlement Oversight"
const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["payments/*"],
      names: {
        amount: { at: "/amount", type: "decimal" },
        payee: { at: "/payee", type: "ascii" },
      },
    },
  ],
  rules: [
    { id: "other-work", effect: "allow", routes: ["work/*"] },
    { id: "transfers", effect: "allow", act: "transfer" },
    {
      id: "no-transfer-above-fifty-thousand-euro-without-the-treasurer",
      effect: "deny",
      act: "transfer",
      when: 'context.act.amount.greaterThan(decimal("50000.0"))',
    },
    {
      id: "two-people",
      effect: "require_approval",
      act: "transfer",
      when: 'context.act.amount.greaterThan(decimal("10000.0"))',
      approval: { by: ["treasury"], count: 2, within_seconds: 3600, end_user: "optional" },
    },
  ],
}
const transfer = (amount: string): JsonObject => ({
  route_id: "payments/transfer",
  payload: JSON.stringify({ amount, payee: "DE02120300000000202051", memo: "Invoice 4711" }),
})

const service = standingService(() => ({ policy: POLICY, config: { approvals: "on" } }))
let holders: Readonly<Record<"admin" | "auditor" | "customer" | "approver", Holder>>
let paths: Readonly<Record<keyof typeof holders, readonly string[]>>

beforeAll(async () => {
  const admin = await mint(service(), ADMIN)
  const customer = await mint(service(), { name: LONG_NAME, tier: "production", observe: true }, admin)
  const auditor = await mint(service(), { name: "audit", scope: "auditor" }, admin)
  const approver = await mint(
    service(),
    { name: "anna", scope: "approver", person: "anna", groups: ["treasury"] },
    admin,
  )
  holders = { admin, auditor, customer, approver }
  const runs = [{}, { payload: EICAR }, transfer("60000.00"), { payload: EICAR, enforcement: "observe" }]
  const ids: number[] = []
  for (const changes of runs)
    ids.push(numberAt((await customer.execute(request({ route_id: "work/a", ...changes }))).body, "run_id"))
  const permit = await openedId(customer, transfer("80.00"))
  await closed(customer, await openedId(customer, transfer("90.00")), { outcome: "failed", code: "TIMED_OUT" })
  const asked = await customer.post("/permits", asking(transfer("12500.00")))
  expect(asked.status, asked.text).toBe(202)
  await admin.post("/admin/destinations", {
    url: "https://events.invalid/siem",
    name: "siem of the settlement oversight",
  })
  await customer.post(`/runs/${ids[0]}/publish`)
  await admin.post(`/admin/runs/${ids[1]}/share`, {})
  const ofRuns = ids.map(id => `/runs/${id}`)
  const own = ["", "/runs", ...ofRuns, "/permits", `/permits/${permit}`, "/log"]
  const deployment = [
    ...own,
    "/runs?status=pepg_deny",
    "/shared",
    "/budgets",
    "/policies",
    "/deliveries",
    "/deliveries/1",
    "/audit",
  ]
  paths = {
    customer: own,
    auditor: deployment,
    admin: [...deployment, "/keys", `/keys/${customer.id}`, "/approvals", "/passkeys", "/nowhere"],
    approver: ["/approvals", `/approval?id=${textAt(asked.body, "approval_id")}`],
  }
})

describe.skipIf(!HAS_CHROMIUM)("the console on every screen", () => {
  const { address, visit } = standingVisitor(() => createApp(service().deps))

  const signIn = async ({ secret = "" }: Holder, options: BrowserContextOptions): Promise<Page> => {
    service().clock.advance(MINUTE_MS)
    const { page } = await visit("/console", options)
    await page.fill("#key", secret)
    await page.click("main button")
    await page.waitForURL(url => !url.pathname.endsWith("/sign-in"))
    return page
  }
  /** How far the page reaches beyond the screen, and how much of it is empty beside the content. */
  const room = (page: Page): Promise<{ readonly over: number; readonly empty: number }> =>
    page.evaluate(() => {
      const main = document.querySelector("main")?.getBoundingClientRect()
      return {
        over: document.documentElement.scrollWidth - innerWidth,
        empty: (innerWidth - (main?.right ?? 0)) / innerWidth,
      }
    })

  test.each([
    ["a telephone", { viewport: { width: 360, height: 740 } }],
    ["a telephone at night", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
    ["a large screen", { viewport: { width: 1920, height: 1080 } }],
    ["a laptop at night", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" }],
  ] as const)(
    "fits and is accessible on %s",
    async (_, options) => {
      for (const role of ["admin", "auditor", "customer", "approver"] as const) {
        const page = await signIn(holders[role], options)
        for (const path of paths[role]) {
          await page.goto(`${address()}/console${path}`)
          const { over, empty } = await room(page)
          expect(over, `${role} ${path}`).toBeLessThanOrEqual(0)
          expect(empty, `${role} ${path}`).toBeLessThan(EMPTY_SHARE)
          await expectAccessible(page, `${role} ${path}`)
        }
        await page.context().close()
      }
    },
    240_000,
  )
})
