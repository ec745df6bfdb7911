/** LangChain and LangGraph (`@langchain/core` 1.4): tools under permits, and a callback for models and for all other tools. docs/doors/langchain.md. */
import { BaseCallbackHandler } from "@langchain/core/callbacks/base"
import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager"
import type { Serialized } from "@langchain/core/load/serializable"
import { AIMessage } from "@langchain/core/messages"
import type { LLMResult } from "@langchain/core/outputs"
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools"
import type { Client } from "@runseal/sdk"
import { reportedCalls } from "./reported-calls.ts"
import {
  type Made,
  openCall,
  type ReportedCall,
  type SealedCall,
  type SealOptions,
  underPermit,
} from "./under-permit.ts"

const FRAMEWORK = "langchain"
const DOOR = `agents/${FRAMEWORK}`
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
  const definition = { door: DOOR, tool: name, description }
  const call = (input: unknown, run?: CallbackManagerForToolRun, config?: ToolRunnableConfig): Promise<unknown> =>
    underPermit(
      client,
      { framework: FRAMEWORK, name, arguments: input, definition, signal: config?.signal },
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

export type CallbackOptions = SealOptions & {
  /** Tokens reserved for each call of a model, until it has ended. 0 when absent. */
  readonly reserve_tokens?: number
}

/** For `callbacks`: each call of a model, and of a tool that is not sealed, under a permit. One that is refused is not made, since the callback throws. */
export function sealCallback(client: Client, options: CallbackOptions): BaseCallbackHandler {
  const runs = openRuns(client, options)
  const { reserve_tokens = 0 } = options
  const startModel = (llm: Serialized, given: object, runId: string, metadata: Record<string, unknown> = {}) => {
    const model = textOf(metadata.ls_model_name) ?? nameOf(llm)
    const definition = { door: DOOR, provider: metadata.ls_provider, model }
    return runs.start(runId, { name: `model/${model}`, arguments: given, definition, reserve_tokens })
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
      const name = runName ?? nameOf(tool)
      await runs.start(runId, { name, arguments: input, definition: { door: DOOR, tool: name } })
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
    /** Resolves when the call may be made. @throws what underPermit throws when it may not */
    start: async (runId: string, call: Omit<SealedCall, "framework">): Promise<void> => {
      const run = await openCall(client, { framework: FRAMEWORK, ...call }, options)
      runs.add(runId, run)
      void run.closed.then(closed => runs.close(runId, run, closed))
    },
    /** @throws as the end of a reported call */
    end: async (runId: string, made: Made<unknown>): Promise<void> => await runs.take(runId)?.end(made),
    /** LangChain throws the call's own error. */
    fail: async (runId: string, error: unknown): Promise<void> => await runs.take(runId)?.fail(error),
  }
}

/** Output of a model, without ids and times, and the tokens that it used, where it says how many. */
function modelOutput({ generations, llmOutput }: LLMResult): Made<unknown> {
  const found = generations.flat().map(generation => {
    const message: unknown = "message" in generation ? generation.message : undefined
    if (!AIMessage.isInstance(message)) return { output: { text: generation.text } }
    const { content, tool_calls, usage_metadata } = message
    return { output: { content, tool_calls }, tokens: tokensOf(usage_metadata) }
  })
  const counted = found.flatMap(({ tokens }) => tokens ?? [])
  const tokens = counted.length > 0 ? counted.reduce((sum, one) => sum + one) : llmOutput?.tokenUsage?.totalTokens
  return { result: found.map(({ output }) => output), tokens: typeof tokens === "number" ? tokens : undefined }
}

const tokensOf = (usage: unknown): number | undefined =>
  typeof usage === "object" && usage !== null && "total_tokens" in usage && typeof usage.total_tokens === "number"
    ? usage.total_tokens
    : undefined
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
const nameOf = ({ name, id }: Serialized): string => name ?? id.at(-1) ?? "unknown"
