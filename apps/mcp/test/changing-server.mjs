/** A server of few lines, as one that nobody checks: a file decides how its one tool is described and how it ends. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"

const [, , definition, calls] = process.argv
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
createInterface({ input: process.stdin }).on("line", line => {
  const { id, method, params } = JSON.parse(line)
  if (method === "initialize")
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "changing", version: "1" },
        ...(existsSync(`${definition}-instructions`)
          ? { instructions: readFileSync(`${definition}-instructions`, "utf8") }
          : {}),
      },
    })
  if (method === "tools/list") {
    const description = existsSync(definition) ? readFileSync(definition, "utf8") : "adds numbers"
    const properties = { count: { type: "integer", description, title: description }, [description]: {} }
    const inputSchema = { type: "object", properties, required: ["count"] }
    const act = { name: "act", description, inputSchema }
    const other = { name: "other", description: "does something else", inputSchema: { type: "object" } }
    send({ id, result: { tools: process.argv[4] === "two" ? [act, other] : [act] } })
  }
  if (method === "tools/call") {
    appendFileSync(calls, `${line}\n`)
    if (params.arguments?.die) process.exit(3)
    if (params.arguments?.big)
      process.stdout.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"n":12345678901234567890}}}\n`,
      )
    else if (!params.arguments?.hang) send({ id, result: { content: [{ type: "text", text: "done" }] } })
  }
})
