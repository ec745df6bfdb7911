/**
 * What spans of models and tools are called, and where they have their facts. Four conventions are read: GenAI of OpenTelemetry,
 * OpenInference, OpenLLMetry (Traceloop) and the AI SDK, whose spans carry names of two of them at once. docs/doors/opentelemetry.md has the table.
 */
import type { JsonObject, JsonValue } from "@runseal/canonical"

/** Operations that ask a model, and the one that runs a tool, in the words of GenAI. */
export type Operation = "chat" | "text_completion" | "generate_content" | "embeddings" | "execute_tool"

/** Attributes that say what a span did. A value that has no operation is that of a span which holds others, such as an agent's. */
const OPERATIONS: readonly (readonly [attribute: string, values: Readonly<Record<string, Operation>>])[] = [
  [
    "gen_ai.operation.name",
    {
      chat: "chat",
      text_completion: "text_completion",
      generate_content: "generate_content",
      embeddings: "embeddings",
      execute_tool: "execute_tool",
    },
  ],
  ["openinference.span.kind", { LLM: "chat", EMBEDDING: "embeddings", TOOL: "execute_tool" }],
  ["llm.request.type", { chat: "chat", completion: "text_completion", embedding: "embeddings" }],
  ["traceloop.span.kind", { tool: "execute_tool" }],
  [
    "ai.operationId",
    {
      "ai.generateText.doGenerate": "chat",
      "ai.streamText.doStream": "chat",
      "ai.generateObject.doGenerate": "chat",
      "ai.streamObject.doStream": "chat",
      "ai.embed.doEmbed": "embeddings",
      "ai.embedMany.doEmbed": "embeddings",
      "ai.toolCall": "execute_tool",
    },
  ],
]

/** Beginnings of names that only these conventions give. */
const PREFIXES = ["gen_ai.", "openinference.", "llm.", "traceloop.", "ai."]

/** The attributes of a fact, the newest name of each convention first. */
const FACTS = {
  model: ["gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "embedding.model_name", "ai.model.id"],
  answering_model: ["gen_ai.response.model", "llm.response.model_name", "ai.response.model"],
  provider: ["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"],
  agent: ["gen_ai.agent.name", "agent.name"],
  actor: ["gen_ai.agent.id", "gen_ai.agent.name", "agent.name"],
  tool: ["gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"],
  tool_arguments: [
    ...["gen_ai.tool.call.arguments", "input.value", "tool.parameters"],
    ...["ai.toolCall.args", "traceloop.entity.input"],
  ],
  tool_result: ["gen_ai.tool.call.result", "output.value", "ai.toolCall.result", "traceloop.entity.output"],
  input: ["gen_ai.input.messages", "gen_ai.prompt", "input.value", "ai.prompt.messages", "ai.prompt", "ai.values"],
  output: [
    ...["gen_ai.output.messages", "gen_ai.completion", "output.value"],
    ...["ai.response.text", "ai.response.object", "ai.response.toolCalls"],
  ],
  input_tokens: [
    ...["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"],
    ...["ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"],
  ],
  output_tokens: [
    ...["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"],
    ...["ai.usage.outputTokens", "ai.usage.completionTokens"],
  ],
} as const

/** Facts that older releases of OpenLLMetry write message by message: `gen_ai.prompt.0.content`. */
const NUMBERED = {
  input: ["gen_ai.prompt.", "llm.input_messages."],
  output: ["gen_ai.completion.", "llm.output_messages."],
} as const

/** What a span did; undefined for one that is of no model and no tool, or holds such spans. */
export function operationOf(attributes: JsonObject): Operation | undefined {
  for (const [attribute, values] of OPERATIONS) {
    const value = attributes[attribute]
    if (typeof value === "string" && Object.hasOwn(values, value)) return values[value]
  }
  return undefined
}

/** Whether a span is of one of these conventions, and none of their attributes says what it did. */
export const isUnknown = (attributes: JsonObject): boolean =>
  !OPERATIONS.some(([attribute]) => attributes[attribute] !== undefined) &&
  Object.keys(attributes).some(name => PREFIXES.some(prefix => name.startsWith(prefix)))

/** A fact of a span; undefined where it has none of the attributes. */
export const factOf = (attributes: JsonObject, fact: keyof typeof FACTS): JsonValue | undefined =>
  FACTS[fact].map(name => attributes[name]).find(value => value !== undefined)

/** What a model was given, or gave: as one attribute, or as one a message, which are then one object. */
export function contentOf(attributes: JsonObject, fact: keyof typeof NUMBERED): JsonValue | undefined {
  const whole = factOf(attributes, fact)
  if (whole !== undefined) return whole
  const parts = Object.entries(attributes).filter(([name]) => NUMBERED[fact].some(prefix => name.startsWith(prefix)))
  return parts.length === 0 ? undefined : Object.fromEntries(parts)
}
