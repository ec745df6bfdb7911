/** docs/doors/ai-sdk.md: an agent of the AI SDK against a service and a scripted model. Every call is counted against the records. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { sealModel, sealTools } from "@runseal/agents/ai-sdk"
import { createClient, OutputRefusedError, PermitRefusedError } from "@runseal/sdk"
import { streamText, tool, wrapLanguageModel } from "ai"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { z } from "zod"
import { listenOn } from "../../server/spec/harness/raw-socket.ts"
import { listAt, numberAt, objectAt, textAt } from "../../server/spec/harness/read-answer.ts"
import { openService, type TestService } from "../../server/spec/harness/test-service.ts"
import { type Step, scriptedOpenAi } from "./scripted-openai.ts"

const EXAMPLE = fileURLToPath(new URL("../../../examples/ai-sdk-agent/main.ts", import.meta.url))
const POLICY = {
  policy_id: "tools",
  policy_name: "Tools",
  required_attested_fields: [],
  rules: [
    { id: "permit", effect: "allow" },
    { id: "no-alarm", effect: "deny", when: 'context.route_id == "agents/ai-sdk/alarm"' },
  ],
}

let service: TestService
let listening: Awaited<ReturnType<typeof listenOn>>
beforeAll(async () => {
  service = await openService({ policy: POLICY })
  listening = await listenOn(service)
})
afterAll(async () => {
  await listening.stop()
  await service.close()
})

/** Records since the last call of this, oldest first. */
let seen = 0
async function records(): Promise<string[]> {
  const runs = listAt((await service.get("/runs?limit=100")).body, "runs")
  const fresh = runs.slice(0, runs.length - seen).toReversed()
  seen = runs.length
  return fresh.map(run => {
    const closing = run !== null && typeof run === "object" && "closing_outcome" in run ? ` ${run.closing_outcome}` : ""
    return `${textAt(run, "route_id").replace("agents/ai-sdk/", "")} ${textAt(run, "outcome_kind")}${closing}`
  })
}

const client = () => createClient({ baseUrl: listening.url })
const weather = (city: string) => ({ calls: [{ name: "weather", arguments: { city } }] })

/** Runs the example as its reader does. */
async function example(script: readonly Step[]): Promise<{ output: string; failed: boolean; asked: number }> {
  const model = await scriptedOpenAi(script)
  const env = { PATH: process.env.PATH, RUNSEAL_URL: listening.url, MODEL_URL: model.url, MODEL: "scripted" }
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE], { env })
    return { output: stdout, failed: false, asked: model.asked() }
  } catch (error) {
    return { output: String(error), failed: true, asked: model.asked() }
  } finally {
    model.stop()
  }
}

describe("the example", () => {
  test("each call of a tool and of the model is a record: done, failed, refused", async () => {
    const alarm = { calls: [{ name: "alarm", arguments: { text: "fire" } }] }
    const { output, asked } = await example([weather("Ghent"), weather("Atlantis"), alarm, { text: "21 degrees" }])
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
  })

  test("an error of the model is sealed", async () => {
    expect(await example([{ status: 500 }])).toMatchObject({ failed: true, asked: 1 })
    expect(await records()).toEqual(["model/scripted ok failed"])
  })
})

test("a stream is sealed when its last part was read, with its tokens", async () => {
  const { url, stop } = await scriptedOpenAi([{ text: "hello" }])
  const model = wrapLanguageModel({
    model: createOpenAICompatible({ name: "local", baseURL: url, includeUsage: true })("scripted"),
    middleware: sealModel(client(), { agent: "a" }),
  })
  const { textStream } = streamText({ model, prompt: "hi" })
  let text = ""
  for await (const part of textStream) text += part
  stop()
  expect(text).toBe("hello")
  await expect.poll(records, { timeout: 10_000 }).toEqual(["model/scripted ok completed"])
  const id = numberAt((await service.get("/runs?limit=1")).body, "runs", 0, "id")
  const { closing } = objectAt((await service.get(`/runs/${id}/artifacts`)).body, "sections")
  expect(closing).toMatchObject({ declared: { request_substance: { cost: { total_tokens: 12 } } } })
})

describe("a sealed tool", () => {
  let calls = 0
  const leak = `ghp_${"q7Zt3XvB9mKd2LwR5nYc8HsJ4fPg6AeU1oTi"}`
  const tools = {
    alarm: tool({
      inputSchema: z.object({}),
      execute: async () => {
        calls += 1
      },
    }),
    leak: tool({ inputSchema: z.object({}), execute: async () => leak }),
  }
  const context = { toolCallId: "1", messages: [], context: {} }

  test("that is refused is not called", async () => {
    const { alarm } = sealTools(client(), tools, { agent: "a" })
    await expect(alarm.execute?.({}, context)).rejects.toThrow(PermitRefusedError)
    expect({ calls, records: await records() }).toEqual({ calls: 0, records: ["alarm pepg_deny"] })
  })

  test("in observe mode it is called, and the record says what would have been", async () => {
    const { alarm } = sealTools(client(), tools, { agent: "a", mode: "observe" })
    await alarm.execute?.({}, context)
    expect({ calls, records: await records() }).toEqual({ calls: 1, records: ["alarm pepg_deny"] })
  })

  test("whose result is refused gives none", async () => {
    const sealed = sealTools(client(), tools, { agent: "a", capture_content: true })
    await expect(sealed.leak.execute?.({}, context)).rejects.toThrow(OutputRefusedError)
    expect(await records()).toEqual(["leak aivp_t4_halt completed"])
  })

  test("without a service is not called, unless calls may go on: then each is counted", async () => {
    const nobody = createClient({ baseUrl: "http://127.0.0.1:9", retries: 0 })
    const { alarm: closed } = sealTools(nobody, tools, { agent: "a" })
    await expect(closed.execute?.({}, context)).rejects.toThrow("could not be reached")
    const unsealed: unknown[] = []
    const { alarm } = sealTools(nobody, tools, { agent: "a", fail: "open", onUnsealed: error => unsealed.push(error) })
    await alarm.execute?.({}, context)
    expect({ calls, unsealed: unsealed.length }).toEqual({ calls: 2, unsealed: 1 })
  })
})
