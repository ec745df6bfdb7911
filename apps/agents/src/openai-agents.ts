/** OpenAI Agents (`@openai/agents` 0.20): functions of tools and models under permits. docs/doors/openai-agents.md. */
import type { Model, ModelProvider, ModelRequest, RunContext, StreamEvent, Usage } from "@openai/agents"
import {
  type Client,
  type Cost,
  reportedCall,
  type SealedCall,
  type SealOptions,
  sealedCall,
  sealedParts,
} from "@runseal/sdk"

const DOOR = "agents/openai-agents"

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
    sealedCall(client, { door: DOOR, called: { tool: name }, arguments: input }, options, async () => ({
      result: await execute(input, context, ...rest),
    }))

/** For `modelProvider` of a `Runner`: each call of a model that it gives is under a permit. */
export const sealModels = (client: Client, provider: ModelProvider, options: SealOptions): ModelProvider => ({
  getModel: async modelName => sealModel(client, await provider.getModel(modelName), modelName ?? "default", options),
})

/**
 * The same model, each call of it under a permit, with the tokens that it used. Its errors are sealed too.
 * @param name how records name it
 */
export function sealModel(client: Client, model: Model, name: string, options: SealOptions): Model {
  const callOf = ({ signal, tracing: _tracing, ...given }: ModelRequest): SealedCall => ({
    door: DOOR,
    called: { model: name },
    arguments: given,
    signal,
  })
  const { supportsPromptModelSelection } = model
  return {
    ...(supportsPromptModelSelection === undefined ? {} : { supportsPromptModelSelection }),
    getResponse: request =>
      sealedCall(
        client,
        callOf(request),
        options,
        async () => {
          const result = await model.getResponse(request)
          return { result, cost: costOf(result.usage) }
        },
        ({ output }) => output,
      ),
    getStreamedResponse: async function* (request) {
      const open = await reportedCall(client, callOf(request), options)
      yield* sealedParts(open, eventsOf(model, request), madeOf)
    },
    getRetryAdvice: async question => await model.getRetryAdvice?.(question),
  }
}

/** Begins the stream when its first event is read: a model that throws before it has one is sealed as failed. */
async function* eventsOf(model: Model, request: ModelRequest): AsyncIterable<StreamEvent> {
  yield* model.getStreamedResponse(request)
}

const costOf = ({
  inputTokens,
  outputTokens,
  totalTokens,
}: Pick<Usage, "inputTokens" | "outputTokens" | "totalTokens">): Cost => ({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  total_tokens: totalTokens,
})

/** @throws Error for a stream that ended without its answer */
function madeOf(events: readonly StreamEvent[]) {
  const done = events.findLast(event => event.type === "response_done")
  if (done === undefined) throw new Error("the stream of the model has no end")
  const { output, usage } = done.response
  return { result: output, cost: costOf(usage) }
}
