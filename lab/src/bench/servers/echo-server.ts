/** The ceiling: Hono on the service's own socket answers with the body it got. Nothing is checked, sealed or stored. */

import { listen } from "@runseal/server/http/listen"
import { Hono } from "hono"

const app = new Hono()
app.post("/execute", async c => c.body(await c.req.text(), 200, { "Content-Type": "application/json" }))

const listening = await listen({ fetch: app.fetch, host: "127.0.0.1", port: 0 })
process.stdout.write(`${JSON.stringify({ url: listening.url, msg: "listening" })}\n`)
process.once("SIGTERM", () => void listening.stop())
