/** Review by any API that speaks OpenAI's chat completions, hosted or one's own. */
import * as v from "valibot"
import type { RetryWorld } from "../outbound/ask.ts"
import { exchange } from "./ask-model.ts"
import type { Reviewer } from "./reviewer.ts"
import { REVIEW_INSTRUCTIONS, readReply, readVerdictText, reviewMessage, VERDICT_JSON_SCHEMA } from "./verdict.ts"

export interface ModelApi {
  /** Address without a final slash. */
  readonly baseUrl: string
  readonly model: string
  /** Absent for an own server that asks for none. */
  readonly apiKey?: string
}

/** One finished choice without refusal. A cut or filtered answer is none. */
const completionSchema = v.object({
  choices: v.strictTuple([
    v.object({
      finish_reason: v.optional(v.literal("stop")),
      message: v.object({ content: v.string(), refusal: v.optional(v.null()) }),
    }),
  ]),
})

/** POST `{baseUrl}/chat/completions`, the answer constrained to the verdict's JSON schema. */
export function openAiReviewer(api: ModelApi, world: RetryWorld): Reviewer {
  const headers = {
    "content-type": "application/json",
    ...(api.apiKey === undefined ? {} : { authorization: `Bearer ${api.apiKey}` }),
  }
  return {
    adapter_id: "openai-compatible",
    model: api.model,
    async review(request, signal) {
      const body = JSON.stringify({
        model: api.model,
        messages: [
          { role: "system", content: REVIEW_INSTRUCTIONS },
          { role: "user", content: reviewMessage(request) },
        ],
        response_format: {
          type: "json_schema",
          json_schema: { name: "review_verdict", strict: true, schema: VERDICT_JSON_SCHEMA },
        },
      })
      const reply = await exchange({ url: `${api.baseUrl}/chat/completions`, headers, body }, world, signal)
      const [choice] = readReply(reply, completionSchema).choices
      return readVerdictText(choice.message.content)
    },
  }
}
