/** `--print-acts`: asks a server for its tools, and prints act tables for them. Nothing is called, sealed or pinned. */
import { Client } from "@modelcontextprotocol/client"
import { parseStrictJson } from "@runseal/canonical"
import { MAX_ACT_TABLES } from "@runseal/core/act/act-table"
import { actTables, type ListedTool } from "./act-tables.ts"
import { connectHttpServer } from "./http-server.ts"
import { isObject } from "./json-rpc.ts"
import type { OtherUser } from "./other-user.ts"
import type { Server } from "./servers.ts"
import { startStdioServer } from "./stdio-server.ts"
import type { Upstream } from "./upstream.ts"

/** Milliseconds for each answer of the server, and pages of its list. */
const ANSWER_MS = 60_000
const PAGES_MAX = 100

/** @param say gets a sentence for each tool that has no table */
export async function printActs(server: Server, user: OtherUser | undefined, say: (sentence: string) => void) {
  const { acts, left_out } = actTables(server.name, await toolsOf(server, user))
  for (const name of left_out)
    say(`${JSON.stringify(name)} has no table: none can read its arguments, or there are ${MAX_ACT_TABLES} tables`)
  process.stdout.write(`${JSON.stringify({ acts }, null, 2)}\n`)
}

async function toolsOf({ how }: Server, user: OtherUser | undefined): Promise<readonly ListedTool[]> {
  const client = new Client({ name: "runseal-mcp", version: "1.0.0" })
  await client.connect(
    transportTo(receive => ("command" in how ? startStdioServer(how, receive, user) : connectHttpServer(how, receive))),
  )
  try {
    const tools: ListedTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES_MAX; page++) {
      const listed = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: ANSWER_MS })
      for (const { name, inputSchema } of listed.tools) {
        const schema = parseStrictJson(JSON.stringify(inputSchema))
        if (isObject(schema)) tools.push({ name, inputSchema: schema })
      }
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return tools
  } finally {
    await client.close()
  }
}

type Transport = Parameters<Client["connect"]>[0]

/** A server of the gateway as the official client speaks to it. */
function transportTo(connect: (receive: (text: string) => void) => Upstream): Transport {
  let upstream: Upstream | undefined
  const transport: Transport = {
    start: async () => {
      upstream = connect(text => transport.onmessage?.(JSON.parse(text)))
      upstream.gone.then(() => transport.onclose?.()).catch(() => undefined)
    },
    send: async message => await upstream?.send(JSON.stringify(message)),
    close: async () => await upstream?.stop(),
  }
  return transport
}
