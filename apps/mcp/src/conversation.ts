/**
 * One conversation between an agent and a server, message by message, whatever carries the messages. It understands `tools/call`, `tools/list`,
 * `initialize`, `server/discover` and cancellations; every other message passes as the text that it came as.
 */
import type { JsonObject } from "@runseal/canonical"
import { readCallRequest } from "./call-request.ts"
import {
  errorResponse,
  INTERNAL_ERROR,
  idKey,
  idOf,
  isObject,
  isResponse,
  objectAt,
  readAgentMessage,
  readServerMessages,
  textAt,
} from "./json-rpc.ts"
import type { Sealing } from "./sealing.ts"
import { startCall, type ToolCall } from "./tool-call.ts"
import type { ServerFacts } from "./tool-definitions.ts"

/** Calls of one session that are under way, and requests whose answer is still to come. */
const CALLS_MAX = 256
const PENDING_MAX = 4_096
/** Calls that have ended and are remembered, since an older server can send an answer again. */
const SETTLED_MAX = 256
/** Pages of a list of tools that the gateway asks for. */
const PAGES_MAX = 100
const LIST_TIMEOUT_MS = 20_000

export type ConversationParts = {
  readonly sealing: Sealing
  readonly facts: ServerFacts
  readonly refuseChanged: boolean
  /** Sends a request of the gateway's own; resolves with the response. */
  readonly ask: (request: JsonObject, signal: AbortSignal) => Promise<JsonObject>
}

export type FromAgent =
  | { readonly kind: "forward"; readonly text: string; readonly message: JsonObject }
  | { readonly kind: "answer"; readonly message: JsonObject }
  | { readonly kind: "call"; readonly call: ToolCall; readonly message: JsonObject }
export type FromServer =
  | { readonly kind: "forward"; readonly text: string; readonly message: JsonObject }
  /** The response of a call: its settled answer is sent instead. */
  | { readonly kind: "call"; readonly call: ToolCall }

export type Conversation = {
  readonly fromAgent: (text: string) => FromAgent
  readonly fromServer: (text: string) => readonly FromServer[]
  /** Calls that have not ended. */
  readonly open: () => readonly ToolCall[]
}

/** Requests whose answers the gateway reads. */
const READ: ReadonlySet<string> = new Set(["tools/list", "initialize", "server/discover"])

export function createConversation(parts: ConversationParts): Conversation {
  const { facts } = parts
  const calls = new Map<string, ToolCall>()
  const settled = new Map<string, ToolCall>()
  const pending = new Map<string, string>()

  const begin = (message: JsonObject): FromAgent => {
    const request = readCallRequest(message)
    if ("refused" in request) return { kind: "answer", message: request.refused }
    const key = idKey(request.id)
    if (calls.size >= CALLS_MAX || calls.has(key))
      return { kind: "answer", message: errorResponse(request.id, INTERNAL_ERROR, "too many calls, or an id twice") }
    const learnTools = async (): Promise<void> => {
      if (!facts.isKnown(request.tool)) await learn(parts, message)
    }
    const call = startCall(request, { ...parts, learnTools })
    calls.set(key, call)
    settled.delete(key)
    const end = (): void => {
      calls.delete(key)
      settled.set(key, call)
      for (const oldest of settled.keys()) if (settled.size > SETTLED_MAX) settled.delete(oldest)
    }
    call.settled.then(end, end)
    return { kind: "call", call, message }
  }
  const respond = (message: JsonObject, text: string): FromServer => {
    const key = idKey(idOf(message) ?? "")
    const call = calls.get(key) ?? settled.get(key)
    if (call !== undefined) {
      call.receive(message, text)
      return { kind: "call", call }
    }
    const method = pending.get(key)
    pending.delete(key)
    if (!isObject(message.result)) return { kind: "forward", text, message }
    if (method !== "tools/list") {
      if (method !== undefined) facts.introduce(message.result)
      return { kind: "forward", text, message }
    }
    const shown = { ...message, result: facts.listed(message.result) }
    return { kind: "forward", text: JSON.stringify(shown), message: shown }
  }
  return {
    fromAgent: text => {
      const { message, refused } = readAgentMessage(text)
      if (refused !== undefined) return { kind: "answer", message: refused }
      const [method, id] = [textAt(message, "method"), idOf(message)]
      if (method === "tools/call") return begin(message)
      if (method === "notifications/cancelled") cancel(calls, message)
      if (method !== undefined && id !== undefined) {
        settled.delete(idKey(id))
        if (READ.has(method) && pending.size < PENDING_MAX) pending.set(idKey(id), method)
      }
      return { kind: "forward", text, message }
    },
    fromServer: text => {
      const messages = readServerMessages(text)
      return messages.map(message => {
        const own = messages.length === 1 ? text : JSON.stringify(message)
        if (textAt(message, "method") === "notifications/tools/list_changed") facts.forget()
        return isResponse(message) ? respond(message, own) : { kind: "forward", text: own, message }
      })
    },
    open: () => [...calls.values()],
  }
}

function cancel(calls: ReadonlyMap<string, ToolCall>, message: JsonObject): void {
  const { requestId } = objectAt(message, "params")
  if (typeof requestId === "string" || typeof requestId === "number") calls.get(idKey(requestId))?.cancel()
}

/** Lists the server's tools, page by page, as the request that needs them would. */
async function learn({ facts, ask }: ConversationParts, { params }: JsonObject): Promise<void> {
  const meta = isObject(params) && isObject(params._meta) ? { _meta: withoutToken(params._meta) } : {}
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS)
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const asked = { ...meta, ...(cursor === undefined ? {} : { cursor }) }
    const { result } = await ask({ jsonrpc: "2.0", method: "tools/list", params: asked }, signal)
    if (!isObject(result)) throw new Error("no list")
    facts.introduce(result)
    facts.listed(result)
    cursor = textAt(result, "nextCursor")
    if (cursor === undefined) break
  }
  facts.wasListed()
}

/** The gateway's own request reports no progress. */
function withoutToken({ progressToken: _, ...meta }: JsonObject): JsonObject {
  return meta
}
