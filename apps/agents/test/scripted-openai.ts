/** A server with the chat API of OpenAI that follows a script, also as a stream. */
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** One answer of the model: a text, calls of tools, or a failure. */
export type Step =
  | { readonly text: string }
  | { readonly calls: readonly { readonly name: string; readonly arguments: object }[] }
  | { readonly status: number }

export type ScriptedModel = { readonly url: string; readonly asked: () => number; readonly stop: () => void }

export async function scriptedOpenAi(script: readonly Step[]): Promise<ScriptedModel> {
  let at = 0
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(Buffer.from(part))
    const { stream = false } = JSON.parse(Buffer.concat(parts).toString())
    const step = script[at] ?? { status: 500 }
    at += 1
    if ("status" in step) response.writeHead(step.status, { "Content-Type": "application/json" }).end("{}")
    else write(response, step, at, stream)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, asked: () => at, stop: () => void server.close().closeAllConnections() }
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

function write(
  response: ServerResponse,
  step: Exclude<Step, { status: number }>,
  number: number,
  stream: boolean,
): void {
  const tool_calls =
    "calls" in step
      ? step.calls.map(({ name, arguments: given }, index) => ({
          index,
          id: `call_${number}_${index}`,
          type: "function",
          function: { name, arguments: JSON.stringify(given) },
        }))
      : undefined
  const message = { role: "assistant", content: "text" in step ? step.text : null, ...(tool_calls && { tool_calls }) }
  const finish_reason = tool_calls === undefined ? "stop" : "tool_calls"
  const base = { id: `chat-${number}`, created: 1, model: "scripted" }
  if (!stream) {
    const answer = { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage: USAGE }
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer))
    return
  }
  response.writeHead(200, { "Content-Type": "text/event-stream" })
  const chunk = (rest: object): void =>
    void response.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...rest })}\n\n`)
  chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] })
  chunk({ choices: [{ index: 0, delta: {}, finish_reason }], usage: USAGE })
  response.end("data: [DONE]\n\n")
}
