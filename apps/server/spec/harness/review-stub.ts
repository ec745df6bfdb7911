/**
 * A local HTTP server that speaks the wire formats of OpenAI's chat completions and Anthropic's messages. What it answers
 * is decided by the first word of the text under review, so that runs at the same time do not disturb each other.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { at, textAt } from "./read-answer.ts"

/** Words the stub mixes into what it says, to be looked for afterwards. */
export const REVIEWER_PROSE = "reviewer-prose-canary-7f3a"

export type ReviewCall = {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: JsonValue
}

export type ReviewStub = {
  readonly url: string
  readonly calls: ReviewCall[]
  readonly close: () => Promise<void>
}

const VERDICTS: Readonly<Record<string, string>> = {
  release: '{"verdict":"release","reason":"ACCEPTABLE"}',
  deny: '{"verdict":"deny","reason":"HARMFUL_CONTENT"}',
  halt: '{"verdict":"halt","reason":"SECRET_EXPOSED"}',
  defer: '{"verdict":"defer","reason":"UNCERTAIN"}',
  prose: `I would release this. ${REVIEWER_PROSE}`,
  chatty: `{"verdict":"release","reason":"ACCEPTABLE","note":"${REVIEWER_PROSE}"}`,
}

/** The text under review, out of the user message of either wire format. */
function textUnderReview(body: JsonValue): string {
  const messages = at(body, "messages")
  const user = Array.isArray(messages) ? messages.find(message => at(message, "role") === "user") : undefined
  const content = textAt(user, "content")
  const json = content.slice(content.indexOf("{"), content.lastIndexOf("}") + 1)
  return textAt(parseStrictJson(json), "ai_output_text")
}

function reply(path: string, verdict: string): JsonValue {
  if (path.endsWith("/chat/completions"))
    return {
      id: "chatcmpl-1",
      object: "chat.completion",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: verdict, refusal: null } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    stop_reason: "end_turn",
    content: [{ type: "text", text: verdict }],
    usage: { input_tokens: 1, output_tokens: 1 },
  }
}

function answer(path: string, body: JsonValue, response: ServerResponse): void {
  const [word = ""] = textUnderReview(body).split(" ")
  if (word === "silence") return
  const status = word === "forbidden" ? 403 : 200
  const text =
    word === "garbage" ? `<html>${REVIEWER_PROSE}</html>` : JSON.stringify(reply(path, VERDICTS[word] ?? word))
  response.writeHead(status, { "content-type": "application/json" }).end(text)
}

export async function startReviewStub(): Promise<ReviewStub> {
  const calls: ReviewCall[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = parseStrictJson(Buffer.concat(chunks))
    const path = request.url ?? ""
    calls.push({ path, headers: request.headers, body })
    answer(path, body, response)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the stub has no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
