/** The AI SDK (`ai` 7): tools and models under permits. docs/doors/ai-sdk.md. */
import { type Client, type Cost, reportedCall, type SealOptions, sealedCall, sealedParts } from "@runseal/sdk"
import type { LanguageModelMiddleware, ToolSet } from "ai"

const DOOR = "agents/ai-sdk"

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
  return {
    ...tool,
    execute: (input: unknown, context: Parameters<typeof execute>[1]) =>
      sealedCall(
        client,
        {
          door: DOOR,
          called: { tool: name, description: typeof description === "string" ? description : undefined },
          arguments: input,
          signal: context.abortSignal,
        },
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

/** Middleware of `wrapLanguageModel`: each call of the model under a permit, with the tokens that it used. Its errors are sealed too. */
export function sealModel(client: Client, options: SealOptions): Middleware {
  const callOf = ({ model, params }: Pick<ModelCall, "model" | "params">) => {
    const { abortSignal: signal, headers: _headers, ...given } = params
    return { door: DOOR, called: { model: model.modelId, provider: model.provider }, arguments: given, signal }
  }
  return {
    wrapGenerate: call =>
      sealedCall(
        client,
        callOf(call),
        options,
        async () => {
          const result = await call.doGenerate()
          return { result, cost: costOf(result.usage) }
        },
        ({ content }) => content,
      ),
    wrapStream: async call => {
      const open = await reportedCall(client, callOf(call), options)
      try {
        const streamed = await call.doStream()
        return { ...streamed, stream: streamOf(sealedParts(open, streamed.stream, madeOf)) }
      } catch (error) {
        await open.fail(error)
        throw error
      }
    },
  }
}

const streamOf = (parts: AsyncIterableIterator<Part>): ReadableStream<Part> =>
  new ReadableStream({
    pull: async controller => {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await parts.return?.()),
  })

/** Absent where the model does not say how many tokens it used. */
function costOf({ inputTokens, outputTokens }: Usage): Cost | undefined {
  const [input_tokens, output_tokens] = [inputTokens.total, outputTokens.total]
  if (input_tokens === undefined && output_tokens === undefined) return undefined
  return { input_tokens, output_tokens, total_tokens: (input_tokens ?? 0) + (output_tokens ?? 0) }
}

/** @throws the error of a stream that has an error as a part */
function madeOf(parts: readonly Part[]) {
  const broken = parts.find(part => part.type === "error")
  if (broken !== undefined) throw broken.error
  const finish = parts.find(part => part.type === "finish")
  return { result: parts.filter(isContent), cost: finish && costOf(finish.usage) }
}

/** Output of the model: without the frames of the protocol, which name times. */
const isContent = ({ type }: Part): boolean => type.endsWith("-delta") || type === "tool-call"
