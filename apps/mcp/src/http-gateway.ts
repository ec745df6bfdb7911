/** Agents over Streamable HTTP: a reverse proxy that reads JSON-RPC in bodies and event streams. Headers pass as they are and are never stored. */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { JsonObject } from "@runseal/canonical"
import { type Conversation, type ConversationParts, createConversation } from "./conversation.ts"
import { relayJson, relayRaw, relayStream, responseIn } from "./http-relay.ts"
import { errorResponse, INTERNAL_ERROR, idOf, MESSAGE_MAX_BYTES, objectAt, textAt } from "./json-rpc.ts"
import type { HttpServer } from "./servers.ts"
import type { ToolCall } from "./tool-call.ts"
import { codeOfStatus, unanswered } from "./upstream.ts"

/** Sessions of older versions that are remembered; the oldest is forgotten first. */
const SESSIONS_MAX = 10_000
/** The first version without sessions. */
const STATELESS = "2026-07-28"

type Headers = Readonly<Record<string, string>>
type Route = Omit<ConversationParts, "ask"> & { readonly server: HttpServer }
type Remembered = { readonly conversation: Conversation; headers: Headers }

/** RFC 9110 §7.6.1, and what a body that is read and written again changes. */
const HOP =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|host|content-length|content-encoding|accept-encoding|expect)$/
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

export type HttpGateway = { readonly url: string; readonly done: Promise<number>; readonly stop: () => void }

export async function runHttpGateway(
  { host, port }: { readonly host: string; readonly port: number },
  routes: ReadonlyMap<string, Route>,
): Promise<HttpGateway> {
  const sessions = new Map<string, Remembered>()
  const isLocal = LOOPBACK.test(host) || host === "::1"
  const server = createServer((request, response) => {
    const route = routes.get(new URL(request.url ?? "/", "http://gateway").pathname.replace(/\/$/, ""))
    if (route === undefined) return refuse(response, 404, "there is no such server")
    if (isLocal && !isOfThisMachine(request)) return refuse(response, 403, "a page of another site may not call it")
    exchange(request, response, route, sessions).catch(() => refuse(response, 502, "the server does not answer"))
  })
  await new Promise<void>((listening, failed) => server.once("error", failed).listen(port, host, listening))
  const address = server.address()
  const stopped = Promise.withResolvers<number>()
  const stop = async (): Promise<void> => {
    const open = [...sessions.values()].flatMap(({ conversation }) => conversation.open())
    for (const call of open) call.cancel()
    server.close()
    await Promise.all(open.map(call => call.settled))
    server.closeAllConnections()
    stopped.resolve(0)
  }
  const taken = address !== null && typeof address === "object" ? address.port : port
  return {
    url: `http://${host}:${taken}`,
    done: stopped.promise,
    stop: () => void stop().catch(() => stopped.resolve(1)),
  }
}

/** A page of a web site that names this machine cannot reach the gateway (DNS rebinding). */
function isOfThisMachine({ headers }: IncomingMessage): boolean {
  const names = [`http://${headers.host ?? ""}`, ...(headers.origin === undefined ? [] : [headers.origin])]
  return names.every(name => URL.canParse(name) && LOOPBACK.test(new URL(name).hostname))
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  if (response.headersSent) return void response.end()
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(errorResponse(null, INTERNAL_ERROR, sentence)))
}

async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  sessions: Map<string, Remembered>,
): Promise<void> {
  const headers = { ...passed(request), ...route.server.headers }
  const sessionId = headers["mcp-session-id"]
  const known = sessionId === undefined ? undefined : sessions.get(sessionId)
  const current = known ?? remember(route, headers)
  current.headers = headers
  if (sessionId !== undefined) keep(sessions, sessionId, current)
  const hasSessions = headers["mcp-protocol-version"] === undefined || headers["mcp-protocol-version"] < STATELESS
  const left = new AbortController()
  response.once("close", () => !response.writableFinished && left.abort())
  const send = (body: string | undefined, signal: AbortSignal): Promise<Response> =>
    ask(route.server.url, request.method ?? "GET", headers, body, signal)
  const done = (answer: Response): Response => {
    const made = answer.headers.get("mcp-session-id")
    if (made !== null && answer.ok) keep(sessions, made, current)
    return answer
  }
  if (request.method !== "POST") {
    const answer = await send(undefined, left.signal)
    if (request.method === "DELETE" && answer.ok && sessionId !== undefined) sessions.delete(sessionId)
    return await relay(answer, response, current.conversation)
  }
  const body = await readBody(request)
  if (body === undefined) return refuse(response, 413, "the message is too large")
  const from = current.conversation.fromAgent(body)
  if (from.kind === "answer") return sendJson(response, 200, from.message)
  if (from.kind === "forward")
    return await relay(done(await send(from.text, left.signal)), response, current.conversation)
  // In older versions a connection that breaks is no cancellation: the call goes on, and is sealed.
  if (!hasSessions) left.signal.addEventListener("abort", from.call.cancel)
  await carry(from.call, response, current.conversation, send)
}

/** One call: sent once it is permitted, answered once it is settled. */
async function carry(
  call: ToolCall,
  response: ServerResponse,
  conversation: Conversation,
  send: (body: string, signal: AbortSignal) => Promise<Response>,
): Promise<void> {
  const answerAlone = async (): Promise<void> => {
    const answer = await call.settled
    if (answer !== undefined) sendJson(response, 200, answer)
    else response.end()
  }
  const text = await call.forwarded
  if (text === undefined) return await answerAlone()
  let answer: Response
  try {
    answer = await send(text, call.signal)
  } catch (error) {
    const { code, message } = unanswered(error)
    call.fail({ code, sentence: message })
    return await answerAlone()
  }
  if (answer.ok) return await relay(answer, response, conversation, call)
  // Such as 401 with its challenge, or 404 for a session that ended: the agent gets them as they are, once the failure is sealed.
  const body = await answer.bytes().catch(() => new Uint8Array())
  call.fail({ code: codeOfStatus(answer.status), sentence: `the server answered ${answer.status}` })
  await call.settled
  response.writeHead(answer.status, headersOf(answer)).end(body)
}

async function relay(
  answer: Response,
  response: ServerResponse,
  conversation: Conversation,
  call?: ToolCall,
): Promise<void> {
  const type = answer.headers.get("content-type") ?? ""
  const headers = headersOf(answer)
  if (/^application\/json\b/.test(type)) return await relayJson(answer, response, headers, conversation, call)
  if (/^text\/event-stream\b/.test(type)) return await relayStream(answer, response, headers, conversation, call)
  call?.fail({ code: "EXECUTOR_FAILED", sentence: "the server gave no answer" })
  if (call === undefined) return await relayRaw(answer, response, headers)
  const settled = await call.settled
  if (settled !== undefined) sendJson(response, 200, settled)
}

const ask = (url: string, method: string, headers: Headers, body: string | undefined, signal: AbortSignal) =>
  fetch(url, { method, headers, signal, redirect: "manual", ...(body === undefined ? {} : { body }) })

function remember(route: Route, headers: Headers): Remembered {
  const current: { headers: Headers } = { headers }
  const askServer = async (request: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    const id = `runseal-${randomUUID()}`
    const method = textAt(request, "method") ?? ""
    const plain = Object.fromEntries(
      Object.entries(current.headers).filter(([name]) => !/^mcp-(?:name|param-.*)$/.test(name)),
    )
    const own = { ...plain, ...("mcp-method" in plain ? { "mcp-method": method } : {}) }
    const answer = await ask(route.server.url, "POST", own, JSON.stringify({ ...request, id }), signal)
    return responseIn(await answer.text(), id)
  }
  return Object.assign(current, { conversation: createConversation({ ...route, ask: askServer }) })
}

function keep(sessions: Map<string, Remembered>, id: string, current: Remembered): void {
  sessions.delete(id)
  sessions.set(id, current)
  for (const oldest of sessions.keys()) if (sessions.size > SESSIONS_MAX) sessions.delete(oldest)
}

const passed = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      HOP.test(name) || value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  )

const headersOf = (answer: Response): Record<string, string> =>
  Object.fromEntries([...answer.headers].filter(([name]) => !HOP.test(name)))

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > MESSAGE_MAX_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString("utf8")
}

function sendJson(response: ServerResponse, status: number, message: JsonObject): void {
  // Nobody but the agent may read it.
  const id = idOf(message)
  const code = objectAt(message, "error").code
  response.writeHead(id === undefined && code !== undefined ? 400 : status, { "content-type": "application/json" })
  response.end(JSON.stringify(message))
}
