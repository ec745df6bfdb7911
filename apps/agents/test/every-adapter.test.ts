/** docs/doors/README.md: what holds for the adapter of every framework. What a framework has alone is in the file of its name. */
import { tool as chainTool } from "@langchain/core/tools"
import { sealTools } from "@runseal/agents/ai-sdk"
import { sealTools as sealChainTools } from "@runseal/agents/langchain"
import { sealFunctions } from "@runseal/agents/openai-agents"
import { type Client, createClient, OutputRefusedError, PermitRefusedError } from "@runseal/sdk"
import { tool } from "ai"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { countedRecords } from "./counted-records.ts"

const leaked = `ghp_${"q7Zt3XvB9mKd2LwR5nYc8HsJ4fPg6AeU1oTi"}`
const schema = z.object({})

type Settings = Parameters<typeof sealFunctions>[1]
/** A sealed tool of this name, as a function that calls it. */
type Seal = (client: Client, name: string, act: () => Promise<string>, settings: Settings) => () => Promise<unknown>

/** A row: the framework, its example, a status after which it does not ask the model again, and how a tool is sealed. */
const ADAPTERS: readonly (readonly [framework: string, example: string, status: number, seal: Seal])[] = [
  [
    "ai-sdk",
    "ai-sdk-agent",
    500,
    (client, name, act, settings) => {
      const tools = sealTools(client, { [name]: tool({ inputSchema: schema, execute: act }) }, settings)
      return async () => tools[name]?.execute?.({}, { toolCallId: "1", messages: [], context: {} })
    },
  ],
  [
    "langchain",
    "langchain-agent",
    500,
    (client, name, act, settings) => {
      const [sealed] = sealChainTools(client, [chainTool(act, { name, schema })], settings)
      return async () => sealed?.invoke({})
    },
  ],
  [
    "openai-agents",
    "openai-agent",
    400,
    (client, name, act, settings) => {
      const execute = sealFunctions(client, settings)(name, act)
      return () => execute({})
    },
  ],
]

describe.each(ADAPTERS)("the adapter %s", (framework, name, status, seal) => {
  const { client, records, tokens, example } = countedRecords(framework)
  const agent = { agent: "a" }
  let calls = 0
  const ring = async (): Promise<string> => {
    calls += 1
    return "rung"
  }

  test("makes each call of a tool and of the model a record: done, failed, refused", async () => {
    const weather = (city: string) => ({ calls: [{ name: "weather", arguments: { city } }] })
    const alarm = { calls: [{ name: "alarm", arguments: { text: "fire" } }] }
    const script = [weather("Ghent"), weather("Atlantis"), alarm, { text: "21 degrees" }]
    const { output, asked } = await example(name, script)
    expect({ output, asked }).toEqual({ output: "21 degrees\n", asked: 4 })
    expect(await records()).toEqual([
      "model/scripted ok completed",
      "weather ok completed",
      "model/scripted ok completed",
      "weather ok failed",
      "model/scripted ok completed",
      "alarm pepg_deny",
      "model/scripted ok completed",
    ])
    expect(await tokens()).toBe(12)
  })

  test("seals an error of the model", async () => {
    expect(await example(name, [{ status }])).toMatchObject({ failed: true, asked: 1 })
    expect(await records()).toEqual(["model/scripted ok failed"])
  })

  test("calls no tool that is refused; in observe mode it does, and the record says what would have been", async () => {
    calls = 0
    await expect(seal(client(), "alarm", ring, agent)()).rejects.toThrow(PermitRefusedError)
    expect({ calls, records: await records() }).toEqual({ calls: 0, records: ["alarm pepg_deny"] })
    expect(await seal(client(), "alarm", ring, { ...agent, mode: "observe" })()).toBe("rung")
    expect({ calls, records: await records() }).toEqual({ calls: 1, records: ["alarm pepg_deny"] })
  })

  test("gives no result that is refused", async () => {
    const leak = seal(client(), "leak", async () => leaked, { ...agent, capture_content: true })
    await expect(leak()).rejects.toThrow(OutputRefusedError)
    expect(await records()).toEqual(["leak aivp_t4_halt completed"])
  })

  test("calls no tool without a service, unless calls may go on: then each is counted", async () => {
    calls = 0
    const nobody = createClient({ baseUrl: "http://127.0.0.1:9", retries: 0 })
    await expect(seal(nobody, "alarm", ring, agent)()).rejects.toThrow("could not be reached")
    const unsealed: unknown[] = []
    await seal(nobody, "alarm", ring, { ...agent, fail: "open", onUnsealed: error => void unsealed.push(error) })()
    expect({ calls, unsealed: unsealed.length }).toEqual({ calls: 1, unsealed: 1 })
  })
})
