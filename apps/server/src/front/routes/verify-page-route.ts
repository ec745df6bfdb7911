/** `GET /verify` and `GET /public/runs/{token}`: one page, which verifies in the visitor's browser. */
import type { Context } from "hono"
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { verifyPage } from "../discovery/verify-page.ts"
import { sendFile } from "../http/served-file.ts"
import { hasPublication, noSuchPublication } from "./publications-routes.ts"

/** For everybody, without a key. */
export function verifyPageRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get("/verify", sendPage)
  app.get("/public/runs/:token", async c => {
    c.header("Vary", "Accept")
    if (await hasPublication(deps, c.req.param("token"))) return await sendPage(c)
    if (!readsPages(c)) throw noSuchPublication()
    // The page itself shows a person that nothing is published.
    const { type, bytes, policy } = await verifyPage()
    return c.body(bytes, 404, { "Content-Type": type, "Content-Security-Policy": policy })
  })
  return app
}

async function sendPage(c: Context): Promise<Response> {
  const page = await verifyPage()
  c.header("Content-Security-Policy", page.policy)
  return sendFile(c, page)
}

/** Whether a browser asks, to show it to a person; programs get the error envelope. */
const readsPages = (c: Context): boolean => c.req.header("Accept")?.includes("text/html") === true
