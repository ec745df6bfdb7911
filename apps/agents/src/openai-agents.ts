/** OpenAI Agents (`@openai/agents` 0.20): functions of tools and models under permits. docs/doors/openai-agents.md. */
import type { Model, ModelProvider, ModelRequest, ModelResponse, RunContext, StreamEvent } from "@openai/agents"
import type { Client } from "@runseal/sdk"
import { type Made, openCall, type SealedCall, type SealOptions, underPermit } from "./under-permit.ts"

const FRAMEWORK = "openai-agents"
const DOOR = `agents/${FRAMEWORK}`

/** The function of a tool, as `tool` takes it for `execute`. */
type Execute<Input, Rest extends readonly unknown[], Result> = (
  input: Input,
  context?: RunContext<unknown>,
  ...rest: Rest
) => Result | Promise<Result>

/**
 * Makes functions for `execute` of `tool`, each call of which is under a permit. `tool` makes an answer for the model of an error, so
 * that only the function within it shows whether a call failed.
 * @returns takes the name of the tool and its function, and gives the function to be used instead
 */
export const sealFunctions =
  (client: Client, options: SealOptions) =>
  <Input, Rest extends readonly unknown[], Result>(
    name: string,
    execute: Execute<Input, Rest, Result>,
  ): ((input: Input, context?: RunContext<unknown>, ...rest: Rest) => Promise<Result>) =>
  (input, context, ...rest) =>
    underPermit(
      client,
      { framework: FRAMEWORK, name, arguments: input, definition: { door: DOOR, tool: name } },
      options,
      async () => ({ result: await execute(input, context, ...rest) }),
    )

export type ModelOptions = SealOptions & {
  /** Tokens reserved for each call of the model, until it has ended. 0 when absent. */
  readonly reserve_tokens?: number
}

/** For `modelProvider` of a `Runner`: each call of a model that it gives is under a permit. */
export const sealModels = (client: Client, provider: ModelProvider, options: ModelOptions): ModelProvider => ({
  getModel: async modelName => sealModel(client, await provider.getModel(modelName), modelName ?? "default", options),
})

/**
 * The same model, each call of it under a permit, with the tokens that it used. Its errors are sealed too.
 * @param name how records name it
 */
export function sealModel(client: Client, model: Model, name: string, options: ModelOptions): Model {
  const callOf = ({ signal, tracing: _tracing, ...given }: ModelRequest): SealedCall => ({
    framework: FRAMEWORK,
    name: `model/${name}`,
    arguments: given,
    definition: { door: DOOR, model: name },
    reserve_tokens: options.reserve_tokens ?? 0,
    signal,
  })
  const { supportsPromptModelSelection } = model
  return {
    ...(supportsPromptModelSelection === undefined ? {} : { supportsPromptModelSelection }),
    getResponse: request =>
      underPermit(
        client,
        callOf(request),
        options,
        async () => {
          const result = await model.getResponse(request)
          return { result, tokens: result.usage.totalTokens }
        },
        ({ output }) => output,
      ),
    getStreamedResponse: request =>
      streamed(client, callOf(request), options, () => model.getStreamedResponse(request)),
    getRetryAdvice: async question => await model.getRetryAdvice?.(question),
  }
}

/** Events are released as they come; the call is sealed when the last one was read. */
async function* streamed(
  client: Client,
  call: SealedCall,
  options: SealOptions,
  events: () => AsyncIterable<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  const open = await openCall(client, call, options)
  let made: Made<ModelResponse["output"]> | undefined
  try {
    for await (const event of events()) {
      if (event.type === "response_done")
        made = { result: event.response.output, tokens: event.response.usage.totalTokens }
      yield event
    }
    if (made !== undefined) await open.end(made)
  } catch (error) {
    await open.fail(error)
    throw error
  } finally {
    // A reader that left, or a stream without an end; without effect on a call that is closed.
    await open.fail(new Error("the stream of the model was not read to its end"))
  }
}
