/** docs/console.md in a real browser: lists can be read, and the documents of a permit that are loaded there verify. */
import { readFile } from "node:fs/promises"
import { basename } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { closed, openedId } from "../harness/asked-permits.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor } from "../harness/browser.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { printedIn } from "../harness/printed-text.ts"
import { numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { verifyWithCli } from "../harness/verifier.ts"
import { verified } from "../harness/verify-page-parts.ts"

const AUDIENCE = "https://payments.internal.example/transfers"
const ROUTE = "mcp/filesystem/read_text_file"
const POLICY = new URL("../../../../examples/policies/mail.json", import.meta.url)
const DAY_MS = 86_400_000

const service = standingService()
let admin: Holder
let customer: Holder
let permits: Readonly<Record<"open" | "closed" | "failed" | "expired", string>>

beforeAll(async () => {
  await openedId(service(), { audience: "claude-code", reserve_tokens: 20_000 })
  admin = await mint(service(), ADMIN)
  const name = "Directorate for Payment Systems, Settlement Oversight"
  customer = await mint(service(), { name, tier: "production", observe: true }, admin)
  await mint(service(), { name: "Office of the Regulator", scope: "auditor" }, admin)
  for (const changes of [
    {},
    { payload: EICAR },
    { enforcement: "observe" },
    { payload: EICAR, enforcement: "observe" },
  ])
    await customer.execute(request({ route_id: ROUTE, ...changes }))
  await customer.execute(request({ route_id: "r".repeat(90) }))
  const open = (audience: string): Promise<string> => openedId(customer, { audience, route_id: ROUTE })
  const [done, failed, expired] = [await open(AUDIENCE), await open("claude-code"), await open("payments")]
  await closed(customer, done)
  await closed(customer, failed, { outcome: "failed", code: "TIMED_OUT" })
  service().clock.advance(DAY_MS)
  await service().deps.permitEnds.sweep()
  permits = { open: await open(AUDIENCE), closed: done, failed, expired }
  for (const receiver of ["siem", "Settlement Oversight, refusals to the chat of the night shift"])
    await admin.post("/admin/destinations", { url: "https://events.invalid/siem", name: receiver })
  const run = numberAt((await admin.execute(request())).body, "run_id")
  await admin.post(`/admin/runs/${run}/publish`)
  await admin.post(`/admin/runs/${run}/share`, {})
  const policy = parseStrictJson(await readFile(POLICY, "utf8"))
  expect((await admin.send("POST", "/admin/policies", { policy })).status).toBe(201)
})

describe.skipIf(!HAS_CHROMIUM)(`the console in ${CHROMIUM}`, () => {
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  const signIn = async ({ secret = "" }: Holder): Promise<Page> => {
    const { page } = await visit("/console", { viewport: { width: 1280, height: 900 } })
    await page.fill("#key", secret)
    await page.click("main button")
    await page.waitForSelector("h1:has-text('Overview')")
    return page
  }

  test("prints nothing over another thing, breaks no word and shows lists whole at 1280 pixels", async () => {
    const lists = [
      "",
      "/runs",
      "/permits",
      "/shared",
      "/budgets",
      "/policies",
      "/keys",
      "/deliveries",
      "/audit",
      "/log",
    ]
    for (const [by, paths] of [
      [admin, lists],
      [customer, ["", "/runs", "/permits"]],
    ] as const) {
      const page = await signIn(by)
      for (const path of paths) {
        await page.goto(`${address()}/console${path}`)
        const hidden = await page.$$eval(".scroll", found =>
          found.map(({ scrollWidth: all, clientWidth: room }) => all - room),
        )
        expect({ path, ...(await printedIn(page)), hidden: hidden.filter(width => width > 0) }).toEqual({
          path,
          over: [],
          broken: [],
          hidden: [],
        })
      }
    }
  })

  test("loads the opening and the end of a permit, and each verifies on /verify and with the command", async () => {
    const page = await signIn(customer)
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const documentsOf = { open: ["opening"], closed: ["opening"], failed: ["opening"], expired: ["opening", "end"] }
    for (const [state, names] of Object.entries(documentsOf)) {
      const id = permits[state as keyof typeof documentsOf]
      await page.goto(`${address()}/console/permits/${id}`)
      const links = page.locator("a[download]")
      expect(await links.allInnerTexts(), state).toEqual(names)
      for (const [i, name] of names.entries()) {
        const [loaded] = await Promise.all([page.waitForEvent("download"), links.nth(i).click()])
        const bytes = await readFile(await loaded.path())
        expect(loaded.suggestedFilename()).toBe(`runseal-permit-${id.slice(4, 12)}-${name}.json`)
        const verdict = name === "end" ? "PERMIT END VERIFIED AND ANCHORED" : "OPENING VERIFIED AND ANCHORED"
        const command = await verifyWithCli(bytes, trust)
        expect(command, `${state} ${command.stdout}${command.stderr}`).toMatchObject({ exit: 0, verdict })
        const { page: verifyPage } = await visit("/verify")
        const shown = await verified(verifyPage, { name: basename(loaded.suggestedFilename()), bytes })
        expect(shown.verdict, state).toBe(verdict)
        await verifyPage.close()
      }
    }
    expect(textAt((await customer.get(`/permits/${permits.expired}`)).body, "end", "reason")).toBe("expired")
  })
})
