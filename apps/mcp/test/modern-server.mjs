/** A server of MCP 2026-07-28 by the official library, over Streamable HTTP, or over stdio without a port. Its file notes the headers that it got. */
import { appendFileSync } from "node:fs"
import { serve } from "@hono/node-server"
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"

const [, , port, notes] = process.argv
const factory = () => {
  const server = new McpServer({ name: "modern", version: "2.0.0" })
  server.registerTool("greet", { description: "greets" }, async () => ({ content: [{ type: "text", text: "hello" }] }))
  return server
}
if (port === undefined) serveStdio(factory)
else {
  const handler = createMcpHandler(factory)
  const fetch = async request => {
    const { authorization = "", "mcp-method": method = "", "mcp-name": name = "" } = Object.fromEntries(request.headers)
    if (authorization === "Bearer expired")
      return new Response("{}", {
        status: 401,
        headers: { "www-authenticate": 'Bearer resource_metadata="https://auth.example"' },
      })
    appendFileSync(notes, `${authorization} ${method} ${name}\n`)
    return await handler.fetch(request)
  }
  serve({ fetch, port: Number(port), hostname: "127.0.0.1" })
}
