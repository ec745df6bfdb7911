/** Calls that people decide on, through the doors of the frameworks. docs/doors/README.md, "When people decide". */
import { tool as langchainTool } from "@langchain/core/tools"
import { sealTools as sealForAiSdk } from "@runseal/agents/ai-sdk"
import { claudeAgentHooks } from "@runseal/agents/claude-agent"
import { sealTools as sealForLangChain } from "@runseal/agents/langchain"
import { sealFunctions } from "@runseal/agents/openai-agents"
import { type Client, createClient } from "@runseal/sdk"
import { tool } from "ai"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { z } from "zod"
import {
  type Approver,
  approvalIn,
  approverBy,
  askingPolicy,
  mintAgentAndApprover,
} from "../../server/spec/harness/approving.ts"
import { listenOn } from "../../server/spec/harness/raw-socket.ts"
import { openService, type TestService } from "../../server/spec/harness/test-service.ts"

let service: TestService
let listening: Awaited<ReturnType<typeof listenOn>>
let client: Client
let apiKey: string
let approver: Approver
beforeAll(async () => {
  const policy = askingPolicy('context.bound.route_id like "*/pay"')
  service = await openService({ policy, config: { approvals: "on" } })
  listening = await listenOn(service)
  const as = (key: string): Client => createClient({ baseUrl: listening.url, apiKey: key })
  const keys = await mintAgentAndApprover(createClient({ baseUrl: listening.url }), as)
  apiKey = keys.agent
  client = as(keys.agent)
  approver = approverBy(as(keys.approver))
})
afterAll(async () => {
  await listening.stop()
  await service.close()
})

const made: number[] = []
const pay = async ({ amount }: { readonly amount: number }): Promise<string> => {
  made.push(amount)
  return "paid"
}
beforeEach(() => void made.splice(0))
const options = { agent: "payer", fail: "open" } as const
const inputSchema = z.object({ amount: z.number() })
const sentence = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "it was made",
    error => `${error}`,
  )

describe.each<[string, (amount: number) => Promise<unknown>]>([
  [
    "the AI SDK",
    async amount => {
      const sealed = sealForAiSdk(client, { pay: tool({ inputSchema, execute: pay }) }, options)
      return await sealed.pay.execute?.({ amount }, { toolCallId: "1", messages: [], context: {} })
    },
  ],
  [
    "LangChain",
    async amount => {
      const [sealed] = sealForLangChain(client, [langchainTool(pay, { name: "pay", schema: inputSchema })], options)
      return await sealed?.invoke({ amount })
    },
  ],
  ["OpenAI Agents", amount => sealFunctions(client, options)("pay", pay)({ amount })],
])("a tool of %s", (_, call) => {
  test("is not called while people decide; its error says where; then it is called once", async () => {
    const id = approvalIn(await sentence(call(1)))
    expect(made).toEqual([])
    await approver.decide(id, "approve")
    expect(await call(1)).toBe("paid")
    expect(made).toEqual([1])
    expect(approvalIn(await sentence(call(1)))).not.toBe(id)
    expect(made).toEqual([1])
  })
})

test("the hooks of the Claude Agent SDK deny with the address, also where they fail open", async () => {
  const hooks = claudeAgentHooks({ url: listening.url, apiKey, settings: { fail: "open" } })
  const before = async (tool_use_id: string) => {
    const event = { hook_event_name: "PreToolUse", session_id: "s", transcript_path: "t", cwd: "c" }
    const { signal } = new AbortController()
    const input = { ...event, tool_name: "pay", tool_input: { amount: 1 }, tool_use_id }
    return await hooks.PreToolUse[0]?.hooks[0]?.(input, tool_use_id, { signal })
  }
  const denied = await before("1")
  expect(denied?.hookSpecificOutput?.permissionDecision).toBe("deny")
  await approver.decide(approvalIn(`${denied?.hookSpecificOutput?.permissionDecisionReason}`), "approve")
  expect(await before("2")).toEqual({})
})
