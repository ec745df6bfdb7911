/** LangChain and LangGraph (`@langchain/core` 1.4): tools under permits, and a callback for models and for all other tools. docs/doors/langchain.md. */
import { BaseCallbackHandler } from "@langchain/core/callbacks/base"
import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager"
import type { Serialized } from "@langchain/core/load/serializable"
import { AIMessage, type UsageMetadata } from "@langchain/core/messages"
import type { LLMResult } from "@langchain/core/outputs"
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools"
import {
  type Client,
  type Made,
  type ReportedCall,
  reportedCall,
  type SealedCall,
  type SealOptions,
  sealedCall,
} from "@runseal/sdk"

const DOOR = "agents/langchain"
/** Tag of a sealed tool's runs, which the callback leaves to the tool: different in each process, so that no run has it otherwise. */
const SEALED = `runseal:sealed:${crypto.randomUUID()}`

type AnyTool = StructuredToolInterface & { readonly tags?: readonly string[] | undefined }

/**
 * The same tools, each call of them under a permit, however it is made: `_call` and `func` are the ways to a tool's function.
 * @throws TypeError for a tool that is neither made by `tool` nor derived from `StructuredTool`
 */
export const sealTools = <Tool extends AnyTool>(client: Client, tools: readonly Tool[], options: SealOptions): Tool[] =>
  tools.map(tool => sealTool(client, tool, options))

function sealTool<Tool extends AnyTool>(client: Client, tool: Tool, options: SealOptions): Tool {
  const { name, description } = tool
  const act: unknown = Reflect.get(tool, "_call")
  if (typeof act !== "function")
    throw new TypeError(`${name} is neither made by tool() nor derived from StructuredTool.`)
  const call = (input: unknown, run?: CallbackManagerForToolRun, config?: ToolRunnableConfig): Promise<unknown> =>
    sealedCall(
      client,
      { door: DOOR, called: { tool: name, description }, arguments: input, signal: config?.signal },
      options,
      async () => ({ result: await lastOf(act.call(tool, input, run, config), run) }),
    )
  return Object.create(tool, {
    _call: { value: call },
    ...("func" in tool ? { func: { value: call } } : {}),
    tags: { value: [...(tool.tags ?? []), SEALED] },
  })
}

/** What the tool returned. Events on the way are given to its callbacks as they come. */
async function lastOf(output: unknown, run: CallbackManagerForToolRun | undefined): Promise<unknown> {
  const value = await output
  if (!isGenerator(value)) return value
  for (;;) {
    const { done, value: next } = await value.next()
    if (done === true) return next
    await run?.handleToolEvent(next)
  }
}

const isGenerator = (value: unknown): value is AsyncGenerator<unknown, unknown, undefined> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value

/** For `callbacks`: each call of a model, and of a tool that is not sealed, under a permit. One that is refused is not made, since the callback throws. */
export function sealCallback(client: Client, options: SealOptions): BaseCallbackHandler {
  const runs = openRuns(client, options)
  const startModel = (llm: Serialized, given: object, runId: string, metadata: Record<string, unknown> = {}) => {
    const model = textOf(metadata.ls_model_name) ?? nameOf(llm)
    return runs.start(runId, { called: { model, provider: textOf(metadata.ls_provider) }, arguments: given })
  }
  const handler = BaseCallbackHandler.fromMethods({
    handleChatModelStart: (llm, [messages], runId, _parent, extra, _tags, metadata) =>
      startModel(llm, { messages, parameters: extra?.invocation_params }, runId, metadata),
    handleLLMStart: (llm, prompts, runId, _parent, extra, _tags, metadata) =>
      startModel(llm, { prompts, parameters: extra?.invocation_params }, runId, metadata),
    handleLLMEnd: (output, runId) => runs.end(runId, modelOutput(output)),
    handleLLMError: (error, runId) => runs.fail(runId, error),
    handleToolStart: async (tool, input, runId, _parent, tags = [], _metadata, runName) => {
      if (tags.includes(SEALED)) return
      await runs.start(runId, { called: { tool: runName ?? nameOf(tool) }, arguments: input })
    },
    handleToolEnd: (output, runId) => runs.end(runId, { result: output }),
    handleToolError: (error, runId) => runs.fail(runId, error),
  })
  return Object.assign(handler, { name: "runseal", awaitHandlers: true, raiseError: true })
}

/** Calls whose start, end and error are reported one by one. A call whose end is never reported is closed when its permit's time is over. */
function openRuns(client: Client, options: SealOptions) {
  const runs = reportedCalls<ReportedCall>()
  return {
    /** Resolves when the call may be made. @throws what sealedCall throws when it may not */
    start: async (runId: string, call: Omit<SealedCall, "door">): Promise<void> => {
      const run = await reportedCall(client, { door: DOOR, ...call }, options)
      runs.add(runId, run)
      void run.closed.then(closed => runs.close(runId, run, closed))
    },
    /** @throws as the end of a reported call */
    end: async (runId: string, made: Made<unknown>): Promise<void> => await runs.take(runId)?.end(made),
    /** LangChain throws the call's own error. */
    fail: async (runId: string, error: unknown): Promise<void> => await runs.take(runId)?.fail(error),
  }
}

type Usage = Pick<UsageMetadata, "input_tokens" | "output_tokens" | "total_tokens">

/** Output of a model, without ids and times, and the tokens that it used, where it says how many. */
function modelOutput({ generations, llmOutput }: LLMResult): Made<unknown> {
  const found = generations.flat().map(generation => {
    const message: unknown = "message" in generation ? generation.message : undefined
    if (!AIMessage.isInstance(message)) return { output: { text: generation.text } }
    const { content, tool_calls, usage_metadata } = message
    return { output: { content, tool_calls }, usage: usage_metadata }
  })
  const costs = found.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const { promptTokens, completionTokens, totalTokens } = llmOutput?.tokenUsage ?? {}
  const cost =
    costs.length > 0
      ? costs.reduce(sumOf, { input_tokens: 0, output_tokens: 0, total_tokens: 0 })
      : { input_tokens: promptTokens, output_tokens: completionTokens, total_tokens: totalTokens }
  return { result: found.map(({ output }) => output), cost }
}
const sumOf = (a: Usage, b: Usage): Usage => ({
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  total_tokens: a.total_tokens + b.total_tokens,
})
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
const nameOf = ({ name, id }: Serialized): string => name ?? id.at(-1) ?? "unknown"

// Calls whose start and end are reported one by one, found again by the id of the call.

/** Most calls that wait for their end: more than one key may have open permits, and as many again that are over. */
const CALLS_MAX = 10_000

type ReportedCalls<Call> = {
  /** Adds a call that started. */
  readonly add: (id: string, call: Call) => void
  /** Stores the outcome of a call that was closed before its end was reported. Without effect on one that was taken. */
  readonly close: (id: string, call: Call, closed: Call) => void
  /** The call whose end is reported, or its outcome. Undefined when it is unknown, was taken before or was dropped. */
  readonly take: (id: string) => Call | undefined
}

/** @param max calls are dropped beyond so many: those that are closed first, the oldest first */
export function reportedCalls<Call>(max: number = CALLS_MAX): ReportedCalls<Call> {
  const open = new Map<string, Call>()
  const over = new Map<string, Call>()
  const drop = (): void => {
    const calls = over.size > 0 ? over : open
    for (const id of calls.keys()) {
      calls.delete(id)
      return
    }
  }
  return {
    add: (id, call) => {
      open.set(id, call)
      if (open.size + over.size > max) drop()
    },
    close: (id, call, closed) => {
      if (open.get(id) !== call) return
      open.delete(id)
      over.set(id, closed)
    },
    take: id => {
      const call = open.get(id) ?? over.get(id)
      open.delete(id)
      over.delete(id)
      return call
    },
  }
}
