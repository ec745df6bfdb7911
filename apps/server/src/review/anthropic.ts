/** Review by Anthropic's messages API. */
import * as v from "valibot"
import type { RetryWorld } from "../outbound/ask.ts"
import { exchange } from "./ask-model.ts"
import type { ModelApi } from "./openai.ts"
import { type Reviewer, ReviewFailure, type ReviewResult } from "./reviewer.ts"
import {
  REVIEW_INSTRUCTIONS,
  readReply,
  readVerdict,
  readVerdictText,
  reviewMessage,
  VERDICT_JSON_SCHEMA,
} from "./verdict.ts"

const API_VERSION = "2023-06-01"
const TOOL = "report_verdict"
/** The answer is some twenty tokens; a longer one is cut and refused. */
const MAX_ANSWER_TOKENS = 256

const messageSchema = v.object({
  stop_reason: v.picklist(["tool_use", "end_turn"]),
  content: v.array(
    v.variant("type", [
      v.object({ type: v.literal("tool_use"), name: v.literal(TOOL), input: v.unknown() }),
      v.object({ type: v.literal("text"), text: v.string() }),
    ]),
  ),
})

/** The verdict of the one tool call, with text beside it ignored; without a tool call, of the whole text as JSON. */
function readContent(content: v.InferOutput<typeof messageSchema>["content"]): ReviewResult {
  const [use, ...others] = content.filter(block => block.type === "tool_use")
  if (others.length > 0) throw new ReviewFailure("bad_answer")
  if (use !== undefined) return readVerdict(use.input)
  return readVerdictText(content.map(block => (block.type === "text" ? block.text : "")).join(""))
}

/** POST `{baseUrl}/v1/messages`, the answer through one tool the model must use. */
export function anthropicReviewer(api: ModelApi, world: RetryWorld): Reviewer {
  const headers = {
    "content-type": "application/json",
    "anthropic-version": API_VERSION,
    ...(api.apiKey === undefined ? {} : { "x-api-key": api.apiKey }),
  }
  return {
    adapter_id: "anthropic",
    model: api.model,
    async review(request, signal) {
      const body = JSON.stringify({
        model: api.model,
        max_tokens: MAX_ANSWER_TOKENS,
        system: REVIEW_INSTRUCTIONS,
        messages: [{ role: "user", content: reviewMessage(request) }],
        tools: [{ name: TOOL, description: "Reports the verdict of the review.", input_schema: VERDICT_JSON_SCHEMA }],
        tool_choice: { type: "tool", name: TOOL },
      })
      const reply = await exchange({ url: `${api.baseUrl}/v1/messages`, headers, body }, world, signal)
      return readContent(readReply(reply, messageSchema).content)
    },
  }
}
