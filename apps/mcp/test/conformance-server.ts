/**
 * What the conformance suite of MCP asks for of a server, by the official library: tools with every kind of content, and those that ask
 * the client. These ask on the stream that answers the call, since the client may not have opened its other stream yet.
 */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import {
  CompleteRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
const SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
const text = (words: string) => ({ type: "text" as const, text: words })
const image = { type: "image" as const, data: PIXEL, mimeType: "image/png" }
const resource = (uri: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType: "text/plain", text: "text" },
})
const pause = (): Promise<void> => new Promise(later => setTimeout(later, 50))

function createTestServer(): McpServer {
  const mcp = new McpServer(
    { name: "conformance", version: "1.0.0" },
    { capabilities: { logging: {}, completions: {}, resources: { subscribe: true } } },
  )
  const { server } = mcp
  const tool = (name: string, ...content: (ReturnType<typeof text> | ReturnType<typeof resource> | typeof image)[]) =>
    mcp.registerTool(name, { description: name }, () => ({ content }))
  tool("test_simple_text", text("This is a simple text response for testing."))
  tool("test_image_content", image)
  tool("test_embedded_resource", resource("test://embedded-resource"))
  tool(
    "test_multiple_content_types",
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource"),
  )
  mcp.registerTool("test_audio_content", { description: "audio" }, () => ({
    content: [{ type: "audio", data: SOUND, mimeType: "audio/wav" }],
  }))
  mcp.registerTool("test_error_handling", { description: "error" }, () => {
    throw new Error("This tool intentionally returns an error for testing")
  })
  mcp.registerTool("test_tool_with_logging", { description: "logging" }, async (extra: Extra) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } })
      await pause()
    }
    return { content: [text("done")] }
  })
  mcp.registerTool("test_tool_with_progress", { description: "progress" }, async (extra: Extra) => {
    for (const progress of [0, 50, 100]) {
      const progressToken = extra._meta?.progressToken ?? 0
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken, progress, total: 100 },
      })
      await pause()
    }
    return { content: [text("done")] }
  })
  mcp.registerTool(
    "test_sampling",
    { description: "sampling", inputSchema: { prompt: z.string() } },
    async ({ prompt }, { requestId }) => {
      const request = { messages: [{ role: "user" as const, content: text(prompt) }], maxTokens: 100 }
      const { content } = await server.createMessage(request, { relatedRequestId: requestId })
      return { content: [text(`LLM response: ${JSON.stringify(content)}`)] }
    },
  )
  mcp.registerTool(
    "test_elicitation",
    { description: "elicitation", inputSchema: { message: z.string() } },
    async ({ message }, { requestId }) => {
      const properties = { username: { type: "string" as const }, email: { type: "string" as const } }
      const requestedSchema = { type: "object" as const, properties, required: ["username", "email"] }
      const { action, content } = await server.elicitInput(
        { message, requestedSchema },
        { relatedRequestId: requestId },
      )
      return { content: [text(`User response: action=${action}, content=${JSON.stringify(content)}`)] }
    },
  )
  mcp.registerResource("text", "test://static-text", { mimeType: "text/plain" }, ({ href }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: "This is the content of the static text resource." }],
  }))
  mcp.registerResource("binary", "test://static-binary", { mimeType: "image/png" }, ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: PIXEL }],
  }))
  mcp.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    {},
    ({ href }, { id }) => ({
      contents: [{ uri: href, mimeType: "application/json", text: JSON.stringify({ id, data: `Data for ID: ${id}` }) }],
    }),
  )
  const user = (content: ReturnType<typeof text> | ReturnType<typeof resource> | typeof image) => ({
    role: "user" as const,
    content,
  })
  mcp.registerPrompt("test_simple_prompt", { description: "simple" }, () => ({
    messages: [user(text("This is a simple prompt for testing."))],
  }))
  mcp.registerPrompt(
    "test_prompt_with_arguments",
    { description: "arguments", argsSchema: { arg1: z.string(), arg2: z.string() } },
    ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  )
  mcp.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "arguments", argsSchema: { resourceUri: z.string() } },
    ({ resourceUri }) => ({
      messages: [user(resource(resourceUri)), user(text("Please process the embedded resource above."))],
    }),
  )
  mcp.registerPrompt("test_prompt_with_image", { description: "image" }, () => ({
    messages: [user(image), user(text("Please analyze the image above."))],
  }))
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: ["paris"], total: 1, hasMore: false },
  }))
  for (const schema of [SetLevelRequestSchema, SubscribeRequestSchema, UnsubscribeRequestSchema])
    server.setRequestHandler(schema, () => ({}))
  return mcp
}

type Extra = {
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly sendNotification: (
    notification:
      | { method: "notifications/message"; params: { level: "info"; data: string } }
      | {
          method: "notifications/progress"
          params: { progressToken: string | number; progress: number; total: number }
        },
  ) => Promise<void>
}

const sessions = new Map<string, StreamableHTTPServerTransport>()
createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"]
  const known = typeof id === "string" ? sessions.get(id) : undefined
  if (known !== undefined) return await known.handleRequest(request, response)
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: made => void sessions.set(made, transport),
  })
  await createTestServer().connect(transport as Parameters<McpServer["connect"]>[0])
  return await transport.handleRequest(request, response)
}).listen(Number(process.argv[2]), "127.0.0.1")
