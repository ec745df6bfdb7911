/** docs/doors/README.md, "What each door seals": records of a service, after each framework ran, against that table. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { tool as chainTool } from "@langchain/core/tools"
import { ChatOpenAI } from "@langchain/openai"
import { Agent, OpenAIProvider, Runner } from "@openai/agents"
import { sealModel, sealTools } from "@runseal/agents/ai-sdk"
import { claudeAgentHooks } from "@runseal/agents/claude-agent"
import { sealCallback, sealTools as sealChainTools } from "@runseal/agents/langchain"
import { sealFunctions, sealModels } from "@runseal/agents/openai-agents"
import type { JsonObject } from "@runseal/canonical"
import { createClient } from "@runseal/sdk"
import { generateText, streamText, tool, wrapLanguageModel } from "ai"
import { afterAll, beforeAll, expect, test } from "vitest"
import { z } from "zod"
import { expectSealed } from "../../server/spec/harness/door-table.ts"
import { listenOn } from "../../server/spec/harness/raw-socket.ts"
import { numberAt, objectAt, textAt } from "../../server/spec/harness/read-answer.ts"
import { openService, type TestService } from "../../server/spec/harness/test-service.ts"
import { type ScriptedModel, scriptedOpenAi } from "./scripted-openai.ts"

let service: TestService
let listening: Awaited<ReturnType<typeof listenOn>>
let server: ScriptedModel
beforeAll(async () => {
  service = await openService()
  listening = await listenOn(service)
  server = await scriptedOpenAi(Array.from({ length: 20 }, () => ({ text: "Done." })))
})
afterAll(async () => {
  server.stop()
  await listening.stop()
  await service.close()
})

const COST = { input_tokens: 7, output_tokens: 5, total_tokens: 12 }
const options = (agent: string) => ({ agent })
const client = () => createClient({ baseUrl: listening.url })
const schema = z.object({ number: z.number() })

/** Makes a call and holds the newest record against the table. */
async function holds(kind: string, door: string, call: () => Promise<unknown>, values: JsonObject): Promise<void> {
  const before = numberAt((await service.get("/runs?limit=1")).body, "total")
  await call()
  const found = async () => numberAt((await service.get("/runs?limit=1")).body, "total")
  await expect.poll(found, { timeout: 10_000 }).toBe(before + 1)
  const { body } = await service.get("/runs?limit=1")
  const id = numberAt(body, "runs", 0, "id")
  const sections = objectAt((await service.get(`/runs/${id}/artifacts`)).body, "sections")
  const route_id = textAt(body, "runs", 0, "route_id")
  expectSealed(sections, kind, door, { route_id, names: { tool: "double", model: "m-1" }, values })
}
const model = (agent: string, model_provider: string): JsonObject => ({
  actor_id: agent,
  model_name: "m-1",
  model_provider,
  cost: COST,
})
const read = async (parts: AsyncIterable<unknown>): Promise<void> => {
  for await (const _part of parts);
}

test("the AI SDK", async () => {
  const agent = "ai-agent"
  const provider = createOpenAICompatible({ name: "local", baseURL: server.url, includeUsage: true })
  const sealed = wrapLanguageModel({ model: provider("m-1"), middleware: sealModel(client(), options(agent)) })
  const double = tool({ inputSchema: schema, execute: async ({ number }) => 2 * number })
  const { execute } = sealTools(client(), { double }, options(agent)).double
  const context = { toolCallId: "c", messages: [], context: {} }
  await holds("a tool", "AI SDK", async () => execute?.({ number: 4 }, context), { actor_id: agent })
  const facts = model(agent, "local.chat")
  await holds("a model", "AI SDK", () => generateText({ model: sealed, prompt: "hi" }), facts)
  const stream = () => read(streamText({ model: sealed, prompt: "hi" }).textStream)
  await holds("a stream of a model", "AI SDK", stream, facts)
})

test("LangChain", async () => {
  const agent = "chain-agent"
  const callbacks = [sealCallback(client(), options(agent))]
  const chat = new ChatOpenAI({
    model: "m-1",
    apiKey: "none",
    streamUsage: true,
    configuration: { baseURL: server.url },
  })
  const double = chainTool(async ({ number }: { number: number }) => 2 * number, { name: "double", schema })
  const [sealed] = sealChainTools(client(), [double], options(agent))
  await holds("a tool", "LangChain", async () => sealed?.invoke({ number: 4 }), { actor_id: agent })
  await holds("a tool", "LangChain", () => double.invoke({ number: 4 }, { callbacks }), { actor_id: agent })
  const facts = model(agent, "openai")
  await holds("a model", "LangChain", () => chat.invoke("hi", { callbacks }), facts)
  await holds("a stream of a model", "LangChain", async () => read(await chat.stream("hi", { callbacks })), facts)
})

test("OpenAI Agents", async () => {
  const agent = "open-agent"
  const provider = new OpenAIProvider({ apiKey: "none", baseURL: server.url, useResponses: false })
  const modelProvider = sealModels(client(), provider, { ...options(agent), provider: "openai" })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const double = sealFunctions(client(), options(agent))("double", async ({ number }: { number: number }) => 2 * number)
  await holds("a tool", "OpenAI Agents", () => double({ number: 4 }), { actor_id: agent })
  const facts = model(agent, "openai")
  const asked = new Agent({ name: "a", model: "m-1" })
  await holds("a model", "OpenAI Agents", () => runner.run(asked, "hi"), facts)
  const stream = async () => (await runner.run(asked, "hi", { stream: true })).completed
  await holds("a stream of a model", "OpenAI Agents", stream, facts)
})

test("Claude Code", async () => {
  const { PreToolUse, PostToolUse } = claudeAgentHooks({ url: listening.url })
  const call = { session_id: "s-1", transcript_path: "t", cwd: "c", tool_name: "double", tool_input: { number: 4 } }
  const event = async (matchers: typeof PreToolUse, hook_event_name: string, more: object) => {
    const { signal } = new AbortController()
    const input = { ...call, tool_use_id: "u-1", hook_event_name, ...more }
    await matchers[0]?.hooks[0]?.(input, "u-1", { signal })
  }
  await holds(
    "a tool",
    "Claude Code",
    async () => {
      await event(PreToolUse, "PreToolUse", {})
      await event(PostToolUse, "PostToolUse", { tool_response: { number: 8 }, duration_ms: 3 })
    },
    { actor_id: "s-1" },
  )
})
