/** docs/doors/ai-sdk.md: an agent of the AI SDK against a service and a scripted model. Every call is counted against the records. */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { sealModel, sealTools } from "@runseal/agents/ai-sdk"
import { digest } from "@runseal/canonical"
import {
  AbortedError,
  ActTimeoutError,
  type ClientOptions,
  InvalidArgumentError,
  OutputRefusedError,
  PayloadTooLargeError,
  PermitNotClosedError,
  PermitRefusedError,
} from "@runseal/sdk"
import { type LanguageModelMiddleware, streamText, tool, wrapLanguageModel } from "ai"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { EICAR } from "../../server/spec/harness/sample-requests.ts"
import { countedRecords } from "./counted-records.ts"
import { quickPermits } from "./quick-permits.ts"
import { scriptedOpenAi } from "./scripted-openai.ts"

const { client, records, output, tokens } = countedRecords("ai-sdk")
const leak = `ghp_${"q7Zt3XvB9mKd2LwR5nYc8HsJ4fPg6AeU1oTi"}`
/** A service whose close takes longer than the act under it. */
const slowClose: ClientOptions["fetch"] = async (url, init) => {
  if (url.endsWith("/close")) await new Promise(resolve => setTimeout(resolve, 600))
  return await fetch(url, init)
}
/** A service that is gone when a permit is closed. */
const goneAtClose: ClientOptions = {
  retries: 0,
  fetch: (url, init) => {
    if (url.endsWith("/close")) throw new Error("gone")
    return fetch(url, init)
  },
}

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
  expect(await tokens()).toBe(12)
})

describe("a stream", () => {
  /** The text that its reader gets, and how the stream ends. */
  async function read(middleware: LanguageModelMiddleware, answer = "hello") {
    const { url, stop } = await scriptedOpenAi([{ text: answer }])
    const model = createOpenAICompatible({ name: "local", baseURL: url, includeUsage: true })("scripted")
    const sealed = wrapLanguageModel({ model, middleware })
    const content = [{ type: "text", text: "hi" }] as const
    const { stream } = await sealed.doStream({ prompt: [{ role: "user", content: [...content] }] })
    let text = ""
    try {
      for await (const part of stream) if (part.type === "text-delta") text += part.delta
      return { text, end: undefined }
    } catch (error) {
      return { text, end: error }
    } finally {
      stop()
    }
  }

  test("that is refused at its end ends with the error of a call that is refused", async () => {
    const { text, end } = await read(sealModel(client(), { agent: "a", capture_content: true }), leak)
    expect({ text, end }).toEqual({ text: leak, end: expect.any(OutputRefusedError) })
    expect(await records()).toEqual(["model/scripted aivp_t4_halt completed"])
  })

  test("that cannot be sealed ends with an error, unless calls may go on", async () => {
    const { end } = await read(sealModel(client(goneAtClose), { agent: "a" }))
    expect(end).toBeInstanceOf(PermitNotClosedError)
    const unsealed: unknown[] = []
    const onUnsealed = (error: unknown): void => void unsealed.push(error)
    for (const how of [{ fail: "open" }, { mode: "observe" }] as const)
      expect(await read(sealModel(client(goneAtClose), { agent: "a", ...how, onUnsealed }))).toEqual({
        text: "hello",
        end: undefined,
      })
    expect({ unsealed, records: await records() }).toEqual({
      unsealed: [expect.any(PermitNotClosedError), expect.any(PermitNotClosedError)],
      records: [],
    })
  })

  test("with an error of the model is sealed as failed, and ends as the model's", async () => {
    const failing: LanguageModelMiddleware = {
      wrapStream: async () => {
        const parts = [{ type: "error", error: new Error("broken") }] as const
        const stream = new ReadableStream({
          start: controller => {
            for (const part of parts) controller.enqueue(part)
            controller.close()
          },
        })
        return { stream }
      },
    }
    const { wrapStream } = sealModel(client(), { agent: "a" })
    const call = (params: Parameters<typeof wrapStream>[0]) =>
      wrapStream({ ...params, doStream: async () => (await failing.wrapStream?.(params)) ?? params.doStream() })
    expect(await read({ wrapStream: call })).toEqual({ text: "", end: undefined })
    expect(await records()).toEqual(["model/scripted ok failed"])
  })
})

describe("a sealed tool", () => {
  let calls = 0
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

  test("is sealed whatever name a server gave it", async () => {
    const named = Object.fromEntries([["__proto__", tools.leak]])
    const sealed = new Map(Object.entries(sealTools(client(), named, { agent: "a" })))
    expect(await sealed.get("__proto__")?.execute?.({}, context)).toBe(leak)
    expect(await records()).toEqual(["__proto__ ok completed"])
  })

  test("whose result is not captured: its hash is declared, and nobody is said to have reviewed it", async () => {
    await sealTools(client(), tools, { agent: "a" }).leak.execute?.({}, context)
    expect(await output()).toEqual({ seen: undefined, declared: digest(leak), review: "NO_AI_OUTPUT" })
    const same = tool({ inputSchema: z.object({}), execute: async () => "same" })
    await sealTools(client(), { same }, { agent: "a", capture_content: true }).same.execute?.({}, context)
    expect(await output()).toEqual({ seen: digest("same"), declared: undefined, review: "NO_FINDINGS" })
    await records()
  })

  test("is not called once its caller has aborted, also where calls may go on without a decision", async () => {
    const before = calls
    const stop = new AbortController()
    const slow = client({
      fetch: async () => {
        stop.abort()
        throw new Error("gone")
      },
    })
    const { alarm } = sealTools(slow, tools, { agent: "a", fail: "open" })
    await expect(alarm.execute?.({}, { ...context, abortSignal: stop.signal })).rejects.toThrow(AbortedError)
    expect(calls).toBe(before)
  })

  test("gives no result that the service does not take, unless it is only observed", async () => {
    const large = "x".repeat(2 ** 20)
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const given = {
      large: tool({ inputSchema: z.any(), execute: async () => large }),
      circular: tool({ inputSchema: z.any(), execute: async () => circular }),
    }
    const options = { agent: "a", capture_content: true } as const
    const open = sealTools(client(), given, { ...options, fail: "open" })
    await expect(open.large.execute?.({}, context)).rejects.toThrow(PermitNotClosedError)
    await expect(open.circular.execute?.({}, context)).rejects.toThrow(InvalidArgumentError)
    const observed = sealTools(client(), given, { ...options, mode: "observe" })
    expect(await observed.large.execute?.({}, context)).toBe(large)
    expect(await observed.circular.execute?.({}, context)).toBe(circular)
    expect(await records()).toEqual(["circular ok failed", "circular ok failed"])
  })

  test("that takes longer than its permit gives no result; in observe mode it gives one, which is not sealed", async () => {
    const steps = {
      slow: tool({ inputSchema: z.any(), execute: () => new Promise(end => setTimeout(end, 400, "late")) }),
    }
    for (const how of [{}, { fail: "open" }] as const)
      await expect(
        sealTools(client({ ...quickPermits, fetch: slowClose }), steps, { agent: "a", ...how }).slow.execute?.(
          {},
          context,
        ),
      ).rejects.toThrow(ActTimeoutError)
    const unsealed: unknown[] = []
    const observed = sealTools(client(quickPermits), steps, {
      agent: "a",
      mode: "observe",
      onUnsealed: error => unsealed.push(error),
    })
    expect(await observed.slow.execute?.({}, context)).toBe("late")
    expect(unsealed).toEqual([expect.any(ActTimeoutError)])
    expect(await records()).toEqual(["slow ok failed", "slow ok failed", "slow ok failed"])
  })

  /** What RFC 8785 cannot write, and what it can. */
  const odd = { nul: "a\u0000b", large: 2 ** 60, "lone\ud800": "\ud800", deep: nested(100) }
  const echo = tool({ inputSchema: z.any(), execute: async (input: unknown) => ({ input, calls: ++calls }) })

  test("with arguments and a result beyond strict JSON is called, and sealed", async () => {
    const before = calls
    const sealed = sealTools(client(), { echo }, { agent: "a" })
    expect(await sealed.echo.execute?.(odd, context)).toEqual({ input: odd, calls: before + 1 })
    expect(await records()).toEqual(["echo ok completed"])
  })

  test("is refused for malicious code, whatever is beside it", async () => {
    const before = calls
    const sealed = sealTools(client(), { echo }, { agent: "a", fail: "open" })
    const bytes = new TextEncoder().encode(EICAR)
    const inputs = [
      { ...odd, code: EICAR },
      { deep: nested(100, EICAR) },
      { bytes },
      { bytes: Buffer.from(bytes) },
      { map: new Map([["a", new Set([EICAR])]]) },
      { error: new Error(EICAR) },
      { template: new Template() },
    ]
    for (const input of inputs) await expect(sealed.echo.execute?.(input, context)).rejects.toThrow(PermitRefusedError)
    expect({ calls, records: await records() }).toEqual({
      calls: before,
      records: inputs.map(() => "echo pepg_deny"),
    })
  })

  test("whose result is in no members gives none when that is refused", async () => {
    const results = [new Map([["key", leak]]), new Set([leak]), new Error(leak)]
    const outputs = tool({ inputSchema: z.any(), execute: async (at: number) => results[at] })
    const sealed = sealTools(client(), { outputs }, { agent: "a", capture_content: true })
    for (const at of results.keys())
      await expect(sealed.outputs.execute?.(at, context)).rejects.toThrow(OutputRefusedError)
    expect(await records()).toEqual(results.map(() => "outputs aivp_t4_halt completed"))
  })

  test("with an image is called: its hash is sealed", async () => {
    const sealed = sealTools(client(), { echo }, { agent: "a" })
    await sealed.echo.execute?.({ image: new Uint8Array(2 ** 20).fill(255).buffer }, context)
    expect(await records()).toEqual(["echo ok completed"])
  })

  test("is not called for arguments that the service does not take, also where calls may go on", async () => {
    const before = calls
    const sealed = sealTools(client(), { echo }, { agent: "a", fail: "open" })
    const circular: Record<string, unknown> = {}
    circular.self = circular
    await expect(sealed.echo.execute?.({ text: "x".repeat(2 ** 20) }, context)).rejects.toThrow(PayloadTooLargeError)
    await expect(sealed.echo.execute?.(circular, context)).rejects.toThrow(InvalidArgumentError)
    expect({ calls, records: await records() }).toEqual({ calls: before, records: [] })
  })
})

/** Its text is in no member. */
class Template {
  toString(): string {
    return EICAR
  }
}

/** A text inside so many lists. */
function nested(depth: number, text = "deep"): unknown {
  return depth === 0 ? text : [nested(depth - 1, text)]
}
