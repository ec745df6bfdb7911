/** `GET /docs`: from the package, no other host, no inline script. In a real browser where Debian's Chromium is installed. */
import { existsSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { serve } from "@hono/node-server"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { type Browser, chromium, type Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../src/app.ts"
import { readPageFiles } from "../src/http/discovery/docs-page.ts"
import { ENDPOINTS } from "./harness/described.ts"
import { type Answer, expectRefused } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()

describe("the page", () => {
  test("loads its own files by relative addresses and has no script of its own in it", async () => {
    const { status, headers, text } = await service().get("/docs")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    const named = [...text.matchAll(/<(?:script|link) [^>]*(?:src|href)="([^"]*)"/g)].map(([, path]) => path)
    expect(named).toHaveLength(5)
    for (const path of named) {
      const file = await service().get(`/${path}`)
      expect({ path, status: file.status }).toEqual({ path, status: 200 })
      expect(file.headers.get("x-content-type-options")).toBe("nosniff")
    }
    expect(text.replaceAll(/<script src="[^"]*"><\/script>/g, "")).not.toMatch(/<script|\son\w+=|style=/i)
  })

  test("may run its own scripts, ask this service, and nothing else", async () => {
    const { headers } = await service().get("/docs")
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
  })

  test.each(["package.json", "index.html", "index.js", "..%2fpackage.json", "swagger-ui.js", "__proto__"])(
    "serves no file but those on its list: %s",
    async name => {
      expectRefused(await service().get(`/docs/${name}`), 404)
    },
  )

  test("names every file that is served", async () => {
    for (const name of readPageFiles().files.keys())
      expect((await service().get(`/docs/${name}`)).status, name).toBe(200)
  })
})

describe("the examples of POST /execute", () => {
  const fresh = standingService()
  const attesting = standingService(() => ({
    policy: {
      policy_id: "attested",
      policy_name: "An actor is named",
      required_attested_fields: ["actor_id"],
      rules: [{ id: "baseline-permit", effect: "allow" }],
    },
  }))
  const unreviewed = standingService(() => ({
    config: { reviewer: { kind: "openai", model: "judge-1", baseUrl: "http://127.0.0.1:1", timeoutMs: 500 } },
  }))
  /** Where the default options do not lead to the outcome. */
  const elsewhere: Readonly<Record<string, typeof fresh>> = { attestation_gap: attesting, stage_error: unreviewed }
  const { operation } = ENDPOINTS.find(({ operation: { operationId } }) => operationId === "execute") ?? {}
  const examples = operation?.requestBody?.content["application/json"]?.examples ?? {}

  test("end as they are named", async () => {
    expect(Object.keys(examples)).toEqual(expect.arrayContaining([...OUTCOME_KINDS]))
    // The one that uses up the window's tokens comes last.
    const inOrder = Object.entries(examples).toSorted(
      ([a], [b]) => Number(a === "macc_halt") - Number(b === "macc_halt"),
    )
    for (const [name, { value }] of inOrder) {
      const answers: Answer[] = []
      const to = (elsewhere[name] ?? fresh)()
      for (let i = 0; i < (name === "macc_halt" ? 10 : 1); i++) answers.push(await to.post("/execute", value))
      const { body } = await to.get(`/runs/${answers.at(-1)?.body.run_id}`)
      expect(body.outcome_kind).toBe(name)
    }
  })
})

const CHROMIUM = "/usr/bin/chromium"

describe.skipIf(!existsSync(CHROMIUM))(`in ${CHROMIUM}`, () => {
  let browser: Browser
  let server: ReturnType<typeof serve>
  let page: Page
  const asked: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    server = serve({ fetch: createApp(service().deps).fetch, port: 0, hostname: "127.0.0.1" })
    await new Promise(listening => server.once("listening", listening))
    const { port } = server.address() as AddressInfo
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] })
    page = await browser.newPage()
    page.on("request", request => asked.push(new URL(request.url()).host))
    page.on("console", message => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text())
    })
    page.on("pageerror", error => complaints.push(String(error)))
    await page.goto(`http://127.0.0.1:${port}/docs`)
    await page.locator(".opblock").first().waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await new Promise(closed => server.close(closed))
  })

  test("every endpoint is on the page", async () => {
    expect(await page.locator(".opblock").count()).toBe(ENDPOINTS.length)
  })

  test("the choice of a server has a name for people who do not see it", async () => {
    expect(await page.getByRole("combobox", { name: "Server" }).count()).toBe(1)
  })

  test("an endpoint can be opened and tried", async () => {
    const block = page.locator("#operations-Service-health")
    await block.locator(".opblock-summary").click()
    await block.locator(".try-out__btn").click()
    await block.locator("button.execute").click()
    const answer = block.locator(".live-responses-table .response .microlight").first()
    await answer.waitFor()
    expect(await answer.innerText()).toContain('"service": "runseal"')
  })

  test("follows the dark theme of the system", async () => {
    await page.emulateMedia({ colorScheme: "dark" })
    await page.locator("html.dark-mode").waitFor()
    if (process.env.RUNSEAL_SCREENSHOTS) await page.screenshot({ path: `${process.env.RUNSEAL_SCREENSHOTS}/docs.png` })
    await page.emulateMedia({ colorScheme: "light" })
    await page.locator("html:not(.dark-mode)").waitFor()
  })

  test("a request with a body shows its schema and its example", async () => {
    const block = page.locator("#operations-Runs-execute")
    await block.locator(".opblock-summary").click()
    await block.getByText("greeter/welcome").first().waitFor()
    await block.locator(".try-out__btn").click()
    expect(await block.locator('tr[data-param-name="Idempotency-Key"] input').inputValue()).toBe("")
  })

  test("an endpoint shows calls of it for the shell, TypeScript and Python, made of its example", async () => {
    const block = page.locator("#operations-Runs-execute")
    const samples = block.locator(".samples details")
    expect(await samples.locator("summary").allInnerTexts()).toEqual(["curl", "TypeScript", "Python"])
    for (const one of await samples.all()) await one.locator("summary").click()
    const [curl = "", typescript = "", python = ""] = await samples.locator("pre").allInnerTexts()
    const place = new URL("execute", page.url())
    expect(curl).toContain(`curl -X POST '${place}'`)
    expect(curl).toContain(`-H "X-Service-Key: $RUNSEAL_KEY"`)
    expect(typescript).toContain(`fetch("${place}"`)
    expect(python).toContain(`urllib.request.Request(\n    "${place}"`)
    for (const sample of [curl, typescript, python]) expect(sample).toContain("greeter/welcome")
  })

  test("no other host is asked and the console is quiet", async () => {
    expect(new Set(asked).size, [...new Set(asked)].join()).toBe(1)
    expect(complaints).toEqual([])
  })
})
