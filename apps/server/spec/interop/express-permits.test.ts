/** `@runseal/permit/express` in Express itself, which is installed into a folder of its own; without a package index the tests are skipped and say so. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import type { RequestListener } from "node:http"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { requirePermit } from "@runseal/permit/express"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { ACT, newKey, PAYLOAD, permitNow } from "../../../../libs/permit/test/signed-permits.ts"

const folder = testFolder("runseal-express")

/** What is used of Express here. */
type Express = {
  (): RequestListener & { readonly post: (path: string, ...handlers: readonly unknown[]) => void }
  readonly raw: (options: { readonly type: () => boolean }) => unknown
  readonly json: () => unknown
}
type Response = { readonly locals: { readonly permit?: unknown }; readonly json: (body: unknown) => void }

function installExpress(): { readonly express: Express } | { readonly why: string } {
  try {
    execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "express@5"], { stdio: "pipe" })
    return { express: createRequire(join(folder, "index.js"))("express") }
  } catch (error) {
    return { why: `Express could not be installed, ${String(error).slice(0, 100)}` }
  }
}

const found = installExpress()
const absent = "why" in found ? ` (not run: ${found.why})` : ""

describe.skipIf("why" in found)(`requirePermit in Express 5${absent}`, () => {
  const key = newKey("current")
  const accepts = { ...ACT, keys: { keys: [key.jwk] } }

  /** Sends a body to a service that answers with the claims of its permit. */
  async function send(permit: string | undefined, bodyParser: (express: Express) => unknown, body = PAYLOAD) {
    if ("why" in found) throw new Error(found.why)
    const app = found.express()
    const handler = (request: { readonly body: Uint8Array }, response: Response): void =>
      response.json({ permit: response.locals.permit, body: Buffer.from(request.body).toString() })
    app.post("/transfers", bodyParser(found.express), requirePermit(accepts), handler)
    const server = createServer(app).listen(0, "127.0.0.1")
    await once(server, "listening")
    try {
      const { port } = server.address() as AddressInfo
      const headers = { "content-type": "application/json", ...(permit && { "runseal-permit": permit }) }
      const answer = await fetch(`http://127.0.0.1:${port}/transfers`, { method: "POST", headers, body })
      return { status: answer.status, text: await answer.text() }
    } finally {
      server.close()
    }
  }
  const raw = (express: Express): unknown => express.raw({ type: () => true })

  test("lets a permitted request through with the body as it was sent", async () => {
    const { status, text } = await send(await permitNow(key), raw)
    expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 200, body: PAYLOAD, permit: { sub: "api-key-7" } })
  })

  test("refuses a request without a permit, and one with another body", async () => {
    const missing = await send(undefined, raw)
    expect(missing).toEqual({ status: 401, text: '{"ok":false,"error":"The act needs a permit.","code":"missing"}' })
    expect(await send(await permitNow(key), raw, "{}")).toMatchObject({ status: 403 })
  })

  test("does not act on a body that was parsed before", async () => {
    const permit = await permitNow(key)
    expect(await send(permit, express => express.json())).toMatchObject({ status: 500 })
  })
})
