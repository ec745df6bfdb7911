/** Agents over Streamable HTTP: a reverse proxy that reads JSON-RPC in bodies and event streams. Headers pass as they are and are never stored. */
import { randomUUID } from "node:crypto"
import { serve } from "@hono/node-server"
import type { JsonObject } from "@runseal/canonical"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import { EventSourceParserStream } from "eventsource-parser/stream"
import { type Context, Hono } from "hono"
import { bodyLimit } from "hono/body-limit"
import { type SSEStreamingApi, streamSSE } from "hono/streaming"
import {
  type Conversation,
  type ConversationParts,
  createAnsweredCalls,
  createConversation,
  type FromServer,
} from "./conversation.ts"
import { bearerToken, endUserOf } from "./end-user-context.ts"
import { errorResponse, INTERNAL_ERROR, MESSAGE_MAX_BYTES, readServerMessages, textAt } from "./json-rpc.ts"
import type { HttpServer } from "./servers.ts"
import type { Gateway } from "./stdio-gateway.ts"
import type { ToolCall } from "./tool-call.ts"
import { LOST, refusedWith, UpstreamError, unanswered } from "./upstream.ts"

/** Sessions of older versions that are remembered; the oldest is forgotten first. */
const SESSIONS_MAX = 10_000
/** The first version without sessions. */
const STATELESS = "2026-07-28"

type Headers = Readonly<Record<string, string>>
export type Route = Omit<ConversationParts, "ask" | "open" | "answered"> & {
  readonly server: HttpServer
  /** Whether the agent's bearer token is that of an end user. */
  readonly namesEndUser: boolean
}
type OpenRoute = Route & Pick<ConversationParts, "open" | "answered">
type Session = { readonly conversation: Conversation; headers: Headers }

/** RFC 9110 §7.6.1, and what a body that is read and written again changes. */
const HOP =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|host|content-length|content-encoding|accept-encoding|expect)$/
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/

const passed = (headers: Iterable<readonly [string, string]>): Headers =>
  Object.fromEntries([...headers].filter(([name]) => !HOP.test(name)))
const refuse = (c: Context, status: 403 | 404 | 413 | 502, sentence: string): Response =>
  c.json(errorResponse(null, INTERNAL_ERROR, sentence), status)

/** @param routes each server by its paths */
export async function runHttpGateway(
  { host, port }: { readonly host: string; readonly port: number },
  routes: ReadonlyMap<string, Route>,
): Promise<Gateway & { readonly url: string }> {
  const open = new Set<ToolCall>()
  const answered = createAnsweredCalls()
  const sessions = new Map<string, Session>()
  const app = new Hono({ strict: false })
  app.notFound(c => refuse(c, 404, "there is no such server"))
  app.onError((error, c) => refuse(c, 502, unanswered(error).message))
  if (LOOPBACK.test(host))
    app.use((c, next) =>
      isOfThisMachine(c) ? next() : Promise.resolve(refuse(c, 403, "a page of another site may not call it")),
    )
  app.use(bodyLimit({ maxSize: MESSAGE_MAX_BYTES, onError: c => refuse(c, 413, "the message is too large") }))
  for (const [path, route] of routes)
    app.all(path, c => {
      const token = route.namesEndUser ? bearerToken(c.req.header("authorization")) : undefined
      return endUserOf.run(token, () => exchange(c, { ...route, open, answered }, sessions))
    })
  const { server, url } = await new Promise<{ server: ReturnType<typeof serve>; url: string }>((listening, failed) => {
    const started = serve({ fetch: app.fetch, hostname: host, port }, ({ port: taken }) =>
      listening({ server: started, url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}` }),
    )
    started.once("error", failed)
  })
  const done = Promise.withResolvers<number>()
  const stop = async (): Promise<void> => {
    for (const call of open) call.cancel()
    server.close()
    await Promise.all([...open].map(call => call.answer))
    if ("closeAllConnections" in server) server.closeAllConnections()
    done.resolve(0)
  }
  return { url, done: done.promise, stop: () => void stop().catch(() => done.resolve(1)) }
}

/** A page of a web site that names this machine cannot reach the gateway (DNS rebinding). */
function isOfThisMachine({ req }: Context): boolean {
  const [host, origin] = [req.header("host"), req.header("origin")]
  const names = [`http://${host ?? ""}`, ...(origin === undefined ? [] : [origin])]
  return names.every(name => URL.canParse(name) && LOOPBACK.test(new URL(name).hostname))
}

async function exchange(c: Context, route: OpenRoute, sessions: Map<string, Session>): Promise<Response> {
  // Names in lower case on both sides: a configured header replaces that of the agent.
  const headers = { ...passed(c.req.raw.headers), ...Object.fromEntries(new Headers(route.server.headers)) }
  const { "mcp-session-id": id, "mcp-protocol-version": version } = headers
  /** Another server may have given the same id. */
  const keyOf = (sessionId: string): string => `${route.server.url} ${sessionId}`
  const session = (id === undefined ? undefined : sessions.get(keyOf(id))) ?? createSession(route, headers)
  session.headers = headers
  if (id !== undefined) keep(sessions, keyOf(id), session)
  const { conversation } = session
  const send = async (signal: AbortSignal, body?: string): Promise<Response> => {
    const answer = await ask(route, c.req.method, headers, signal, body)
    const made = answer.headers.get("mcp-session-id")
    // A server that names the session of another agent gets no conversation into it.
    if (made !== null && answer.ok && !sessions.has(keyOf(made))) keep(sessions, keyOf(made), session)
    return answer
  }
  const give = (answer: Response, call?: Parameters<typeof relay>[4]): Promise<Response> =>
    relay(c, answer, passed(answer.headers), conversation, call)
  const left = c.req.raw.signal
  if (c.req.method !== "POST") {
    const answer = await send(left)
    if (id !== undefined && c.req.method === "DELETE" && answer.ok) sessions.delete(keyOf(id))
    return await give(answer)
  }
  const from = conversation.fromAgent(await c.req.text())
  if (from.kind === "answer") return c.json(from.message, from.message.id === null ? 400 : 200)
  if (from.kind === "forward") return await give(await send(left, from.text))
  const { call } = from
  // In older versions a connection that breaks is no cancellation: the call goes on, and is sealed.
  if (version !== undefined && version >= STATELESS) left.addEventListener("abort", call.cancel)
  const text = await call.forwarded
  try {
    if (text !== undefined) return await give(await send(call.signal, text), call)
  } catch (error) {
    call.fail(unanswered(error))
  }
  return c.body((await call.answer) ?? "null", 200, { "content-type": "application/json" })
}

/** A redirect is not passed on: the agent would follow it, past the gateway. */
async function ask({ server: { url } }: Route, method: string, headers: Headers, signal: AbortSignal, body?: string) {
  const answer = await fetch(url, {
    method,
    headers,
    signal,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
  })
  if (answer.status < 300 || answer.status > 399 || answer.status === 304) return answer
  const place = answer.headers.get("location") ?? ""
  const moved = URL.canParse(place, url) ? new URL(place, url).origin + new URL(place, url).pathname : "another address"
  throw new UpstreamError("NOT_EXECUTED", `the server redirects to ${moved}: give the gateway that address`)
}

function createSession(route: OpenRoute, headers: Headers): Session {
  const session: { headers: Headers } = { headers }
  const askServer = async (request: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    const id = `runseal-${randomUUID()}`
    const plain = Object.entries(session.headers).filter(([name]) => !/^mcp-(?:name|method|param-.*)$/.test(name))
    const named = "mcp-method" in session.headers ? { "mcp-method": textAt(request, "method") ?? "" } : {}
    const own = { ...Object.fromEntries(plain), ...named }
    const answer = await ask(route, "POST", own, signal, JSON.stringify({ ...request, id }))
    return responseIn(await boundedText(answer), id)
  }
  return Object.assign(session, { conversation: createConversation({ ...route, ask: askServer }) })
}

function keep(sessions: Map<string, Session>, id: string, session: Session): void {
  sessions.delete(id)
  sessions.set(id, session)
  for (const oldest of sessions.keys()) if (sessions.size > SESSIONS_MAX) sessions.delete(oldest)
}

// Answers of an HTTP server on their way to the agent: messages in JSON bodies and in event streams.

/** @param call the one that was asked for; absent for other requests */
async function relay(
  c: Context,
  answer: Response,
  headers: Readonly<Record<string, string>>,
  conversation: Conversation,
  call?: ToolCall,
): Promise<Response> {
  const type = (answer.headers.get("content-type") ?? "").toLowerCase()
  const { status } = answer
  if (answer.ok && /^text\/event-stream\b/.test(type)) {
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    return streamSSE(c, out => relayEvents(answer, out, conversation, call))
  }
  const isJson = /^application\/json\b/.test(type)
  // A client may read events in a success of any type. In a failure it reads a sentence for people.
  if (call === undefined && !isJson) return new Response(answer.ok ? null : answer.body, { status, headers })
  const body = isJson ? await boundedText(answer).catch(() => "") : ""
  const [received] = conversation.fromServer(body)
  // Such as 401 with its challenge: the agent gets status and headers once the failure is sealed, and no word that was not reviewed.
  call?.fail(answer.ok ? LOST : refusedWith(answer.status))
  const text = received === undefined ? await call?.answer : await textOf(received)
  return new Response(text ?? "", { status, headers: { ...headers, "content-type": "application/json" } })
}

const textOf = async (received: FromServer): Promise<string | undefined> =>
  received.kind === "call" ? await received.call.answer : await received.text

type BoundedBody = { readonly body: ReadableStream<BufferSource>; readonly nextMessage: () => void }

/** The body of an answer, which breaks at a message of more than MESSAGE_MAX_BYTES. */
function boundedBody(answer: Response): BoundedBody {
  let size = 0
  const counting = new TransformStream<BufferSource, BufferSource>({
    transform: (chunk, out) => {
      size += chunk.byteLength
      if (size > MESSAGE_MAX_BYTES) out.error(new Error("a message is too large"))
      else out.enqueue(chunk)
    },
  })
  const body = (answer.body ?? new ReadableStream({ start: out => out.close() })).pipeThrough(counting)
  return { body, nextMessage: () => (size = 0) }
}

/** @throws Error for a text of more than MESSAGE_MAX_BYTES, or a body that breaks */
const boundedText = (answer: Response): Promise<string> => new Response(boundedBody(answer).body).text()

/** Writes events with the ids that they had, so that an agent of an older version can resume. Goes on when the agent has left. */
async function relayEvents(
  answer: Response,
  out: SSEStreamingApi,
  conversation: Conversation,
  call: ToolCall | undefined,
): Promise<void> {
  let resumable = false
  let answered = false
  const write = ({ id, event }: Partial<EventSourceMessage>, data: string): Promise<void> =>
    out.writeSSE({ data, ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }) })
  const events = new EventSourceParserStream({
    onRetry: ms => void out.write(`retry: ${ms}\n\n`),
    onComment: comment => {
      nextMessage()
      out.write(`: ${comment}\n\n`).catch(() => undefined)
    },
  })
  const { body, nextMessage } = boundedBody(answer)
  try {
    for await (const event of body.pipeThrough(new TextDecoderStream()).pipeThrough(events)) {
      nextMessage()
      resumable ||= event.id !== undefined
      // An event without data has the id from which a stream can be resumed.
      if (event.data.trim() === "") await write(event, "")
      for (const received of conversation.fromServer(event.data)) {
        answered ||= received.kind === "call" && received.call === call
        const text = await textOf(received)
        if (text !== undefined) await write(event, text)
      }
    }
  } catch {
    // The stream broke, or nobody waits for it any more.
  }
  // A stream that ended before the answer is resumed by the agent, where it can be; else the answer is lost.
  if (call === undefined || answered || (resumable && !call.signal.aborted)) return
  call.fail(LOST)
  const text = await call.answer
  if (text !== undefined) await write({}, text)
}

/** The response with an id in a body that is JSON or an event stream. @throws Error when there is none */
function responseIn(body: string, id: string): JsonObject {
  const texts: string[] = [body]
  const parser = createParser({ onEvent: ({ data }) => void texts.push(data) })
  parser.feed(body)
  const found = texts.flatMap(readServerMessages).find(({ message }) => message.id === id)
  if (found === undefined) throw new Error("the server gave no answer")
  return found.message
}
