/**
 * One conversation between an agent and a server, message by message, whatever carries the messages. It understands `tools/call`, `tools/list`,
 * `initialize`, `server/discover` and cancellations; every other message passes as the text that it came as. An answer passes only if the agent
 * asked for it, by the very id: a client may read the id "1" as 1, and would take a result that nobody reviewed. Calls are remembered for a while after they ended.
 */
import type { JsonObject } from "@runseal/canonical"
import { readCallRequest } from "./call-request.ts"
import { endUserOf } from "./end-user-context.ts"
import {
  errorResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isObject,
  keyOf,
  objectAt,
  readAgentMessage,
  readServerMessages,
  type ServerMessage,
  textAt,
} from "./json-rpc.ts"
import type { Sealing } from "./sealing.ts"
import { startCall, type ToolCall } from "./tool-call.ts"
import type { ServerFacts } from "./tool-definitions.ts"

/** Calls of a gateway that are under way at a time. */
const OPEN_MAX = 1_024
/** Other requests that are remembered, whose answers may come. */
const REQUESTS_MAX = 4_096
/** Pages of a list of tools that the gateway asks for. */
const PAGES_MAX = 100
const LIST_TIMEOUT_MS = 20_000
const LIST_CHANGED = "notifications/tools/list_changed"

export type ConversationParts = {
  readonly sealing: Sealing
  readonly facts: ServerFacts
  /** Calls of the gateway that have not ended. */
  readonly open: Set<ToolCall>
  /** Calls of the gateway that have ended. */
  readonly answered: AnsweredCalls
  /** Sends the agent a notification of the gateway's own; absent where nothing carries it. */
  readonly notify?: (message: JsonObject) => void
  /** Sends a request of the gateway's own; resolves with the response. */
  readonly ask: (request: JsonObject, signal: AbortSignal) => Promise<JsonObject>
}

type FromAgent =
  | { readonly kind: "forward"; readonly text: string; readonly message: JsonObject }
  | { readonly kind: "answer"; readonly message: JsonObject }
  | { readonly kind: "call"; readonly call: ToolCall; readonly message: JsonObject }
export type FromServer =
  | { readonly kind: "forward"; readonly text: string }
  /** Forwarded once it is known which of it the agent may see. */
  | { readonly kind: "later"; readonly text: Promise<string> }
  /** The response of a call: its settled answer is sent instead. */
  | { readonly kind: "call"; readonly call: ToolCall }

export type Conversation = {
  readonly fromAgent: (text: string) => FromAgent
  readonly fromServer: (text: string) => readonly FromServer[]
}

export function createConversation(parts: ConversationParts): Conversation {
  const { facts, open, answered, notify } = parts
  if (notify !== undefined) facts.onReviewed(() => notify({ jsonrpc: "2.0", method: LIST_CHANGED }))
  /** Calls that are under way or remembered. */
  const calls = new Map<string, ToolCall>()
  /** Methods of the agent's other requests. */
  const requests = new Map<string, string>()

  const begin = (message: JsonObject): FromAgent => {
    const request = readCallRequest(message)
    if ("refused" in request) return { kind: "answer", message: request.refused }
    const key = JSON.stringify(request.id)
    if (open.size >= OPEN_MAX)
      return { kind: "answer", message: errorResponse(request.id, INTERNAL_ERROR, "too many calls") }
    const call = startCall(request, {
      ...parts,
      endUserToken: endUserOf.getStore(),
      listTools: () => listTools(parts, message),
      ...(notify === undefined ? {} : { notify }),
    })
    calls.delete(key)
    calls.set(key, call)
    open.add(call)
    call.answer
      .then((answer = "") => {
        open.delete(call)
        answered.add(request.text.length + answer.length, () => calls.get(key) === call && calls.delete(key))
      })
      .catch(() => undefined)
    return { kind: "call", call, message }
  }
  const respond = ({ message, isStrict, text }: ServerMessage): readonly FromServer[] => {
    const key = keyOf(message.id) ?? ""
    const call = calls.get(key)
    call?.receive(message, isStrict)
    if (call !== undefined) return [{ kind: "call", call }]
    const method = requests.get(key)
    if (method === undefined) return []
    const { result } = message
    const show = shownOf(method, parts)
    if (!isObject(result) || show === undefined) return [{ kind: "forward", text }]
    return [{ kind: "later", text: show(result).then(shown => JSON.stringify({ ...message, result: shown })) }]
  }
  return {
    fromAgent: text => {
      const read = readAgentMessage(text)
      if ("refused" in read) return { kind: "answer", message: read.refused }
      const { message } = read
      const [method, key] = [textAt(message, "method"), keyOf(message.id)]
      const same = method === undefined ? undefined : calls.get(key ?? "")
      if (same !== undefined && open.has(same))
        return { kind: "answer", message: errorResponse(message.id, INVALID_REQUEST, "an id twice") }
      if (method === "tools/call") return begin(message)
      if (method === "notifications/cancelled") calls.get(keyOf(objectAt(message, "params").requestId) ?? "")?.cancel()
      if (method !== undefined && key !== undefined) {
        calls.delete(key)
        requests.delete(key)
        requests.set(key, method)
        for (const oldest of requests.keys()) if (requests.size > REQUESTS_MAX) requests.delete(oldest)
      }
      return { kind: "forward", text, message }
    },
    fromServer: text =>
      readServerMessages(text).flatMap(received => {
        if (!("method" in received.message)) return respond(received)
        if (received.message.method === LIST_CHANGED) facts.forget()
        return { kind: "forward", text: received.text }
      }),
  }
}

/** How the agent sees results of a method that a model reads before it calls; undefined for all others. */
function shownOf(method: string, { facts, notify }: ConversationParts) {
  switch (method) {
    case "tools/list":
      return facts.listed
    case "server/discover":
      return facts.introduce
    case "initialize":
      return async (result: JsonObject): Promise<JsonObject> => {
        const shown = await facts.introduce(result)
        const capabilities = objectAt(shown, "capabilities")
        if (notify === undefined || !isObject(capabilities.tools)) return shown
        // It changes when a review ends.
        return { ...shown, capabilities: { ...capabilities, tools: { ...capabilities.tools, listChanged: true } } }
      }
    default:
      return undefined
  }
}

/** Lists the server's tools, page by page, as the request that needs them would. */
async function listTools({ facts, ask }: ConversationParts, { params }: JsonObject): Promise<void> {
  // The gateway's own request reports no progress.
  const { progressToken: _, ...meta } = objectAt(params, "_meta")
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS)
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const asked = {
      ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const { result } = await ask({ jsonrpc: "2.0", method: "tools/list", params: asked }, signal)
    if (!isObject(result)) throw new Error("no list")
    await facts.introduce(result)
    await facts.listed(result)
    cursor = textAt(result, "nextCursor")
    if (cursor === undefined) return
  }
}

// Calls that a gateway remembers after they ended: a stream that is resumed has their answers again, which are replaced by the settled ones.

/** Characters that the calls and answers may have together, which is some 64 MiB at most. */
const REMEMBERED_MAX = 33_554_432
/** Counted for a call beside its texts. */
const CALL_SIZE = 1_024

type AnsweredCalls = {
  /** @param length characters of the call and its answer; @param forget called once there is no place for it */
  readonly add: (length: number, forget: () => void) => void
}

export function createAnsweredCalls(): AnsweredCalls {
  const calls = new Set<{ readonly size: number; readonly forget: () => void }>()
  let total = 0
  return {
    add: (length, forget) => {
      const added = { size: length + CALL_SIZE, forget }
      calls.add(added)
      total += added.size
      for (const oldest of calls) {
        if (total <= REMEMBERED_MAX) return
        calls.delete(oldest)
        total -= oldest.size
        oldest.forget()
      }
    },
  }
}
