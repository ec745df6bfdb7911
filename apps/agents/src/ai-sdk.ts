/** The AI SDK (`ai` 7): tools and models under permits. docs/doors/ai-sdk.md. */
import type { Client } from "@runseal/sdk"
import type { LanguageModelMiddleware, ToolSet } from "ai"
import { type Made, openCall, type ReportedCall, type SealOptions, underPermit } from "./under-permit.ts"

const FRAMEWORK = "ai-sdk"

/**
 * The same tools, each call of them under a permit. Tools without `execute`, which the provider or the client calls, are as they were.
 * A tool that yields preliminary results gives its last one.
 */
export function sealTools<Tools extends ToolSet>(client: Client, tools: Tools, options: SealOptions): Tools {
  const sealed = Object.entries<ToolSet[string]>(tools).map(([name, tool]) => [
    name,
    sealTool(client, name, tool, options),
  ])
  return Object.assign({ ...tools }, Object.fromEntries(sealed))
}

function sealTool(client: Client, name: string, tool: ToolSet[string], options: SealOptions): ToolSet[string] {
  const { execute, description } = tool
  if (execute === undefined) return tool
  const definition = { door: `agents/${FRAMEWORK}`, tool: name, description }
  return {
    ...tool,
    execute: (input: unknown, context: Parameters<typeof execute>[1]) =>
      underPermit(
        client,
        { framework: FRAMEWORK, name, arguments: input, definition, signal: context.abortSignal },
        options,
        async () => ({ result: await lastOf(execute(input, context)) }),
      ),
  }
}

async function lastOf(output: unknown): Promise<unknown> {
  const value = await output
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value
  let last: unknown
  for await (const part of iterable(value)) last = part
  return last
}

const iterable = (value: object): AsyncIterable<unknown> => ({
  [Symbol.asyncIterator]: () => Reflect.get(value, Symbol.asyncIterator).call(value),
})

type Middleware = Required<Pick<LanguageModelMiddleware, "wrapGenerate" | "wrapStream">>
type ModelCall = Parameters<Middleware["wrapGenerate"]>[0]
type Streamed = Awaited<ReturnType<Middleware["wrapStream"]>>
type Part = Streamed["stream"] extends ReadableStream<infer Found> ? Found : never
type Usage = Extract<Part, { type: "finish" }>["usage"]

export type ModelOptions = SealOptions & {
  /** Tokens reserved for each call of the model, until it has ended. 0 when absent. */
  readonly reserve_tokens?: number
}

/** Middleware of `wrapLanguageModel`: each call of the model under a permit, with the tokens that it used. Its errors are sealed too. */
export function sealModel(client: Client, options: ModelOptions): Middleware {
  const callOf = ({ model, params }: Pick<ModelCall, "model" | "params">) => {
    const { abortSignal: signal, headers: _headers, ...given } = params
    const name = `model/${model.modelId}`
    const definition = { door: `agents/${FRAMEWORK}`, provider: model.provider, model: model.modelId }
    const { reserve_tokens = 0 } = options
    return { framework: FRAMEWORK, name, arguments: given, definition, signal, reserve_tokens }
  }
  return {
    wrapGenerate: call =>
      underPermit(
        client,
        callOf(call),
        options,
        async () => {
          const result = await call.doGenerate()
          return { result, tokens: tokensOf(result.usage) }
        },
        ({ content }) => content,
      ),
    wrapStream: async call => {
      const open = await openCall(client, callOf(call), options)
      try {
        const streamed = await call.doStream()
        return { ...streamed, stream: sealedStream(streamed.stream, open) }
      } catch (error) {
        await open.fail(error)
        throw error
      }
    },
  }
}

const tokensOf = ({ inputTokens, outputTokens }: Usage): number => (inputTokens.total ?? 0) + (outputTokens.total ?? 0)

/**
 * The same stream. Parts are released as they come; the call is sealed when the last one was read, and the stream ends after that, with an
 * error where a call that is no stream would throw. An error part, and a reader that leaves, seal it as failed.
 */
function sealedStream(source: ReadableStream<Part>, call: ReportedCall): ReadableStream<Part> {
  const parts: Part[] = []
  const reader = source.getReader()
  return new ReadableStream<Part>({
    pull: async controller => {
      try {
        const { done, value } = await reader.read()
        if (!done) {
          parts.push(value)
          controller.enqueue(value)
          return
        }
        const broken = parts.find(part => part.type === "error")
        if (broken === undefined) await call.end(madeOf(parts))
        else await call.fail(broken.error)
        controller.close()
      } catch (error) {
        await call.fail(error)
        controller.error(error)
      }
    },
    cancel: reason => {
      void call.fail(new Error("the reader of the stream left"))
      return reader.cancel(reason)
    },
  })
}

function madeOf(parts: readonly Part[]): Made<readonly Part[]> {
  const finish = parts.find(part => part.type === "finish")
  return { result: parts.filter(isContent), ...(finish === undefined ? {} : { tokens: tokensOf(finish.usage) }) }
}

/** Output of the model: without the frames of the protocol, which name times. */
const isContent = ({ type }: Part): boolean => type.endsWith("-delta") || type === "tool-call"
