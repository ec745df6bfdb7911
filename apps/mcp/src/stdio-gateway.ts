/** An agent on standard input and output, one message a line, and one server behind the gateway. */
import { randomUUID } from "node:crypto"
import type { Readable, Writable } from "node:stream"
import type { JsonObject } from "@runseal/canonical"
import { type ConversationParts, createConversation, type FromAgent } from "./conversation.ts"
import { errorResponse, type Id, INTERNAL_ERROR, idKey, idOf, isResponse, textAt } from "./json-rpc.ts"
import { readLines } from "./stdio-server.ts"
import type { ToolCall } from "./tool-call.ts"
import { type Upstream, UpstreamError } from "./upstream.ts"

export type StdioGateway = {
  /** Resolves with an exit code once agent or server have gone and every call has ended. */
  readonly done: Promise<number>
  readonly stop: () => void
}

type Connect = (receive: (text: string) => void) => Upstream

export function runStdioGateway(
  agent: { readonly input: Readable; readonly output: Writable },
  connect: Connect,
  parts: Omit<ConversationParts, "ask">,
): StdioGateway {
  const asked = new Map<string, (response: JsonObject) => void>()
  const toAgent = (message: JsonObject): void => void agent.output.write(`${JSON.stringify(message)}\n`)
  const ask = async (request: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    const id = `runseal-${randomUUID()}`
    const answer = new Promise<JsonObject>((resolve, reject) => {
      asked.set(idKey(id), resolve)
      signal.addEventListener("abort", () => reject(new Error("no answer in time")), { once: true })
    })
    // Rejects with the same reason when the server does not get it.
    await Promise.race([upstream.send(JSON.stringify({ ...request, id })), answer])
    return await answer.finally(() => asked.delete(idKey(id)))
  }
  const session = createConversation({ ...parts, ask })
  const upstream = connect(text => {
    for (const received of session.fromServer(text)) {
      // The answer of a call is written once it is settled, by the call itself.
      if (received.kind === "call") continue
      const own = isResponse(received.message) ? asked.get(idKey(idOf(received.message) ?? "")) : undefined
      if (own === undefined) agent.output.write(`${received.text}\n`)
      else own(received.message)
    }
  })
  const forward = (text: string, message: JsonObject): void => {
    upstream.send(text).catch((error: unknown) => {
      const id = idOf(message)
      if (id !== undefined && textAt(message, "method") !== undefined)
        toAgent(errorResponse(id, INTERNAL_ERROR, error instanceof Error ? error.message : "the server has gone"))
    })
  }
  const handle = (from: FromAgent): void => {
    if (from.kind === "answer") toAgent(from.message)
    else if (from.kind === "forward") forward(from.text, from.message)
    else {
      carry(from.call, idOf(from.message) ?? "", upstream)
      from.call.settled.then(
        answer => answer !== undefined && toAgent(answer),
        () => undefined,
      )
    }
  }
  readLines(agent.input, text => handle(session.fromAgent(text)))

  const ended = async (call: ToolCall): Promise<unknown> => await call.settled.catch(() => undefined)
  const finish = async (code: number): Promise<number> => {
    await Promise.all(session.open().map(ended))
    await upstream.stop()
    return code
  }
  const left = new Promise<void>(resolve => {
    for (const event of ["end", "close", "error"]) agent.input.once(event, resolve)
  })
  const stopped = Promise.withResolvers<void>()
  const done = Promise.race([
    upstream.gone.then(code => {
      for (const call of session.open()) call.fail({ code: "EXECUTOR_FAILED", sentence: "the server has ended" })
      return finish(code)
    }),
    Promise.race([left, stopped.promise]).then(() => {
      for (const call of session.open()) call.cancel()
      return finish(0)
    }),
  ])
  return { done, stop: () => stopped.resolve() }
}

/** Sends a call once it is permitted, and tells the server when nobody waits for it any more. */
function carry(call: ToolCall, id: Id, upstream: Upstream): void {
  const send = async (): Promise<void> => {
    const text = await call.forwarded
    if (text === undefined) return
    call.signal.addEventListener("abort", () => {
      const params = { requestId: id, reason: "Runseal: nobody waits for the answer" }
      upstream
        .send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }))
        .catch(() => undefined)
    })
    const lost = (): void => call.fail({ code: "EXECUTOR_FAILED", sentence: "the server ended its answer too early" })
    await upstream.send(text, { signal: call.signal, lost })
  }
  send().catch((error: unknown) => {
    const { code, message } =
      error instanceof UpstreamError ? error : new UpstreamError("EXECUTOR_FAILED", "the server did not take the call")
    call.fail({ code, sentence: message })
  })
}
