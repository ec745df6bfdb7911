/** An agent on standard input and output, one message a line, and one server behind the gateway. */
import { randomUUID } from "node:crypto"
import type { Readable, Writable } from "node:stream"
import type { JsonObject } from "@runseal/canonical"
import { type ConversationParts, createAnsweredCalls, createConversation } from "./conversation.ts"
import { errorResponse, INTERNAL_ERROR, readServerMessages } from "./json-rpc.ts"
import { readLines } from "./stdio-server.ts"
import type { ToolCall } from "./tool-call.ts"
import { LOST, type Upstream, unanswered } from "./upstream.ts"

export type Gateway = {
  /** Resolves with an exit code once agent or server have gone and every call has ended. */
  readonly done: Promise<number>
  readonly stop: () => void
}

export function runStdioGateway(
  agent: { readonly input: Readable; readonly output: Writable },
  connect: (receive: (text: string) => void) => Upstream,
  parts: Omit<ConversationParts, "ask" | "notify" | "open" | "answered">,
): Gateway {
  const toAgent = (text: string): void => void agent.output.write(`${text}\n`)
  /** The gateway's own requests. */
  const asked = new Map<unknown, (response: JsonObject) => void>()
  const ask = async (request: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    const id = `runseal-${randomUUID()}`
    const answer = new Promise<JsonObject>((resolve, reject) => {
      asked.set(id, resolve)
      signal.addEventListener("abort", () => reject(new Error("no answer in time")), { once: true })
    })
    try {
      await Promise.race([upstream.send(JSON.stringify({ ...request, id })), answer])
      return await answer
    } finally {
      asked.delete(id)
    }
  }
  const open = new Set<ToolCall>()
  const notify = (message: JsonObject): void => toAgent(JSON.stringify(message))
  const session = createConversation({ ...parts, ask, notify, open, answered: createAnsweredCalls() })
  const upstream = connect(text => {
    if (asked.size > 0) for (const { message } of readServerMessages(text)) asked.get(message.id)?.(message)
    // The answer of a call is written once it is settled, by the call itself.
    for (const received of session.fromServer(text)) {
      if (received.kind === "forward") toAgent(received.text)
      if (received.kind === "later") received.text.then(toAgent).catch(() => undefined)
    }
  })
  const forward = (text: string, { id, method }: JsonObject): void => {
    upstream.send(text).catch((error: unknown) => {
      if (id === undefined || method === undefined) return
      toAgent(JSON.stringify(errorResponse(id, INTERNAL_ERROR, unanswered(error).message)))
    })
  }
  readLines(agent.input, text => {
    const from = session.fromAgent(text)
    if (from.kind === "answer") return toAgent(JSON.stringify(from.message))
    if (from.kind === "forward") return forward(from.text, from.message)
    carry(from.call, from.message.id, upstream).catch((error: unknown) => from.call.fail(unanswered(error)))
    from.call.answer.then(answer => answer !== undefined && toAgent(answer)).catch(() => undefined)
  })

  const finish = async (code: number): Promise<number> => {
    await Promise.all([...open].map(call => call.answer))
    await upstream.stop()
    return code
  }
  const left = Promise.withResolvers<void>()
  for (const event of ["end", "close", "error"]) agent.input.once(event, left.resolve)
  // Such as EPIPE: what is under way is sealed all the same.
  agent.output.on("error", () => left.resolve())
  const done = Promise.race([
    upstream.gone.then(code => {
      for (const call of open) call.fail({ code: "EXECUTOR_FAILED", message: "the server has ended" })
      return finish(code)
    }),
    left.promise.then(() => {
      for (const call of open) call.cancel()
      return finish(0)
    }),
  ])
  return { done, stop: left.resolve }
}

/** Sends a call once it is permitted, and tells the server when nobody waits for it any more. */
async function carry(call: ToolCall, requestId: JsonObject[string] | undefined, upstream: Upstream): Promise<void> {
  const text = await call.forwarded
  if (text === undefined) return
  const params = { requestId, reason: "Runseal: nobody waits for the answer" }
  const cancelled = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })
  call.signal.addEventListener("abort", () => void upstream.send(cancelled).catch(() => undefined))
  await upstream.send(text, { signal: call.signal, lost: () => call.fail(LOST) })
}
