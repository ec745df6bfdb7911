/** A model on this machine, in the words of three providers: it asks for one command of the shell, and is done once it has the result. */
import { createServer } from "node:http"

export type Model = {
  readonly url: string
  /** What the agent sent to it, the newest last. */
  readonly requests: readonly string[]
  readonly stop: () => void
}

type Event = Readonly<Record<string, unknown>>

/** @param command of the shell that the model asks for, once in each conversation */
export async function startModel(command: () => string): Promise<Model> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", chunk => (body += chunk))
    request.once("end", () => {
      requests.push(body)
      const path = request.url ?? ""
      const events = path.includes("/v1/messages")
        ? anthropic(body, command())
        : path.includes("/responses")
          ? openai(body, command())
          : path.includes("GenerateContent") || path.includes("generateContent")
            ? gemini(body, command())
            : undefined
      if (events === undefined || path.includes("count_tokens")) {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ data: [], models: [], input_tokens: 1, totalTokens: 1 }))
      } else if (path.endsWith(":generateContent")) {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(events[0]))
      } else {
        response.writeHead(200, { "content-type": "text/event-stream" })
        for (const event of events) {
          const named = typeof event.type === "string" ? `event: ${event.type}\n` : ""
          response.write(`${named}data: ${JSON.stringify(event)}\n\n`)
        }
        response.end()
      }
    })
  }).listen(0, "127.0.0.1")
  await new Promise(listening => server.once("listening", listening))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function anthropic(body: string, command: string): readonly Event[] {
  const isDone = body.includes('"tool_result"') || !body.includes('"name":"Bash"')
  const block = isDone
    ? { type: "text", text: "" }
    : { type: "tool_use", id: `toolu_${Date.now()}`, name: "Bash", input: {} }
  const delta = isDone
    ? { type: "text_delta", text: "done" }
    : { type: "input_json_delta", partial_json: JSON.stringify({ command, description: "a command" }) }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage }
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: isDone ? "end_turn" : "tool_use", stop_sequence: null }, usage },
    { type: "message_stop" },
  ]
}

function openai(body: string, command: string): readonly Event[] {
  const { tools = [], input = [] } = Object(JSON.parse(body))
  const isDone = JSON.stringify(input).includes("function_call_output")
  const names: readonly string[] = tools.map((tool: { readonly name?: string }) => tool.name ?? "")
  const name = names.find(one => one === "exec_command" || one === "shell_command") ?? "shell"
  const forms: Readonly<Record<string, object>> = {
    exec_command: { cmd: command },
    shell_command: { command },
    shell: { command: ["sh", "-c", command] },
  }
  const item = isDone
    ? { type: "message", id: "m1", role: "assistant", content: [{ type: "output_text", text: "done" }] }
    : { type: "function_call", id: "f1", call_id: `call_${Date.now()}`, name, arguments: JSON.stringify(forms[name]) }
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  return [
    { type: "response.created", response: { id: "r1" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "r1", usage } },
  ]
}

function gemini(body: string, command: string): readonly Event[] {
  const isDone = body.includes('"functionResponse"') || !body.includes('"run_shell_command"')
  const part = isDone
    ? { text: "done" }
    : { functionCall: { name: "run_shell_command", args: { command, description: "a command" } } }
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return [
    { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata },
  ]
}
