/**
 * Refuses what does not become a request: bytes that are not HTTP/1.1 (RFC 9112), heads that are too large, clients that are too slow, and too many requests of
 * one connection. The application does not see them; they get the same error envelope as every other refusal.
 * Requests that come one behind the other on a connection wait in a queue here.
 */
import { randomUUID } from "node:crypto"
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { RequestError } from "@hono/node-server"
import { ERROR_CODES, type ErrorCode, REQUEST_ID_HEADER } from "@runseal/core/wire/error-codes"
import { errorAnswer } from "@runseal/core/wire/service-answers"
import { helpLink } from "../http-error.ts"

/** Largest head of a request, its request line and all header fields, in bytes. */
export const HEAD_MAX_BYTES = 16_384

/** How long a refused client has to read the answer before the connection is destroyed, in milliseconds. */
const LINGER_MS = 1_000

type Refusal = { readonly code: ErrorCode; readonly error: string }

const malformed = (error: string): Refusal => ({ code: "malformed_http", error })
const MALFORMED = malformed("The request is not well-formed HTTP/1.1.")
const NO_HOST = malformed("A request must have exactly one Host header field.")
const DOTTED = malformed("A path has no dot segments and no backslash.")
const OLD_CODING = malformed("HTTP/1.0 has no Transfer-Encoding.")
const UPGRADE_IN_CHUNKS = malformed("A request with Upgrade has a Content-Length or no body.")
const UNADDRESSED = malformed("The request's target and Host header field are not an address.")
const NO_CODING: Refusal = { code: "not_implemented", error: "No transfer coding but chunked is understood." }
const NO_TUNNEL: Refusal = { code: "not_implemented", error: "CONNECT is not understood: this is no proxy." }
const UNMET: Refusal = { code: "expectation_failed", error: "The header Expect can have no value but 100-continue." }
/** What another protocol sends first is malformed HTTP/1.1. The process log says which one it was. */
const OTHER_PROTOCOLS: Readonly<Record<"http2" | "tls", Refusal>> = {
  http2: malformed("A client speaks HTTP/2 to this port, which understands HTTP/1.1 alone: let the proxy speak that."),
  tls: malformed("A client speaks TLS to this port, which understands plain HTTP/1.1 alone: let the proxy speak that."),
}
const FAILED: Refusal = { code: "internal_error", error: "The server failed." }

/** Node's codes for failures before a request was complete; every other code is a malformed request. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { code: "request_timeout", error: "The request did not arrive in time." },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: "body_too_large", error: "The body's chunk extensions are too large." },
  HPE_HEADER_OVERFLOW: {
    code: "head_too_large",
    error: `The head of the request is larger than ${HEAD_MAX_BYTES} bytes.`,
  },
}

/** First byte of a TLS record with a handshake, RFC 8446 §5.1. */
const TLS_HANDSHAKE = 0x16
/** Node's code for the first line of HTTP/2, RFC 9113 §3.4. */
const HTTP2_PREFACE = "HPE_PAUSED_H2_UPGRADE"

/** The other protocol that a client speaks, as far as its first bytes show one. */
function otherProtocol(error: Error): Refusal | undefined {
  if (codeOf(error) === HTTP2_PREFACE) return OTHER_PROTOCOLS.http2
  const isTls = "rawPacket" in error && error.rawPacket instanceof Uint8Array && error.rawPacket[0] === TLS_HANDSHAKE
  return isTls ? OTHER_PROTOCOLS.tls : undefined
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "")

const HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  Connection: "close",
} as const

type RefusalAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
type AnswerOf = (refusal: Refusal) => RefusalAnswer

/** Status, header fields and body of a refusal. The application has not read a request id, so that it gets a new one. */
const answersWith =
  (baseUrl: string | undefined): AnswerOf =>
  ({ code, error }) => {
    const request_id = randomUUID()
    const body = JSON.stringify(errorAnswer(code, error, request_id))
    const own = { [REQUEST_ID_HEADER]: request_id, "Content-Length": `${Buffer.byteLength(body)}` }
    return { status: ERROR_CODES[code].status, headers: { ...HEADERS, ...helpLink(baseUrl), ...own }, body }
  }

function messageOf({ status, headers, body }: RefusalAnswer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n")
}

/** Answers a request that was read but is refused before the application, and ends its connection. */
const refuse = (outgoing: ServerResponse, { status, headers, body }: RefusalAnswer): void =>
  void outgoing.writeHead(status, headers).end(body)

/** HTTP/1.1 asks for exactly one Host (RFC 9112 §3.2); HTTP/1.0, which some health checks still speak, for none. */
function lacksHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const hosts = headersDistinct.host?.length ?? 0
  return hosts > 1 || (hosts === 0 && httpVersion !== "1.0")
}

/** The segments `.` and `..`, also percent-encoded; and the backslash, which some programs read as a slash. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)|\\|%5c/i

/** Node takes what follows for another protocol, and drops what came with the head. RFC 9110 §7.8. */
const asksForUpgrade = ({ headers }: IncomingMessage): boolean => headers.upgrade !== undefined

const CHUNKS_LAST = /(?:^|,)[ \t]*chunked$/i

/**
 * Why the application must not see a request although it is HTTP/1.1: a proxy in front may have read it differently. With dots, for
 * example, a proxy compares the path as it was sent with its list of protected paths, and this service would serve the resolved one.
 */
function unclear(incoming: IncomingMessage): Refusal | undefined {
  if (lacksHost(incoming)) return NO_HOST
  const [path = ""] = (incoming.url ?? "").split(/[?#]/, 1)
  if (DOT_SEGMENT.test(path)) return DOTTED
  const coding = incoming.headers["transfer-encoding"]
  if (coding === undefined) return undefined
  // RFC 9112 §6.1 and §6.3: it is faulty framing in HTTP/1.0 and where the chunks are not last; what is coded below them
  // would be taken for the body.
  if (incoming.httpVersion === "1.0") return OLD_CODING
  if (!CHUNKS_LAST.test(coding)) return MALFORMED
  // Node reports no malformed chunks after a head with Upgrade.
  if (asksForUpgrade(incoming)) return UPGRADE_IN_CHUNKS
  return coding.toLowerCase() === "chunked" ? undefined : NO_CODING
}

type SocketRefusals = {
  /** The answer to a request that cannot be passed to the application: its Host or target makes no address. */
  readonly refuseUnreadable: (error: unknown) => Response
  /** Receives every request first; passes to the application those it may see, one of a connection at a time. */
  readonly guard: (listener: RequestListener) => RequestListener
  /** Answers requests with an `Expect` other than `100-continue`. RFC 9110 §10.1.1. */
  readonly refuseExpectation: RequestListener
  /** Handles the server's `connect` event: Node does not manage the socket any more. RFC 9110 §9.3.6. */
  readonly refuseConnect: (incoming: IncomingMessage, socket: Duplex) => void
  /** Handles the server's `clientError` event. */
  readonly onClientError: (error: Error, socket: Duplex) => void
}
type RequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

type RefusalOptions = {
  /** Address under which callers reach the service, if the operator gave one. */
  readonly baseUrl?: string | undefined
  readonly reportMisfit?: ((sentence: string) => void) | undefined
}

/** The refusals of one server. */
export function socketRefusals({ baseUrl, reportMisfit = () => undefined }: RefusalOptions): SocketRefusals {
  const answerOf = answersWith(baseUrl)
  const queues = createConnectionQueues()
  /** Connections that are ending: what they still send is ignored. */
  const refused = new WeakSet<Duplex>()
  /** Connections that asked for an upgrade: that request is their last, and the client goes on with a new connection. */
  const last = new WeakSet<Duplex>()

  const end = (socket: Duplex, message?: string): void => {
    if (message === undefined) socket.end()
    else socket.end(message)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }

  /** Ends a connection after the answers under way, or with `message` when there are none. */
  const endAfterAnswers = (socket: Duplex, message?: string): void => {
    const exchanges = queues.underWay(socket)
    // Requests that were received completely are answered first, by their own answer: a client that read a refusal instead
    // would believe that a run that is being sealed was never made.
    const whole = exchanges.filter(({ incoming, outgoing }) => incoming.complete && !outgoing.writableFinished)
    const last = whole.at(-1)
    if (last !== undefined) last.outgoing.once("close", () => end(socket))
    else if (exchanges.some(({ outgoing }) => outgoing.headersSent)) end(socket)
    else end(socket, message)
  }

  /** Queues a request, unless its connection is ending. A refusal is the last answer of its connection. */
  const take = (exchange: Exchange, refusal: Refusal | undefined, serve: RequestListener): void => {
    const { incoming, outgoing } = exchange
    const { socket } = incoming
    if (refused.has(socket) || last.has(socket)) return
    if (refusal !== undefined) refused.add(socket)
    if (asksForUpgrade(incoming)) {
      last.add(socket)
      outgoing.shouldKeepAlive = false
    }
    discardRest(exchange)
    const answer = (): void => (refusal === undefined ? serve(incoming, outgoing) : refuse(outgoing, answerOf(refusal)))
    if (queues.enqueue(exchange, answer)) return
    refused.add(socket)
    socket.pause()
    endAfterAnswers(socket)
  }

  return {
    refuseUnreadable: error => {
      const { status, headers, body } = answerOf(error instanceof RequestError ? UNADDRESSED : FAILED)
      return new Response(body, { status, headers })
    },
    guard: listener => (incoming, outgoing) => take({ incoming, outgoing }, unclear(incoming), listener),
    refuseExpectation: (incoming, outgoing) => {
      reportMisfit(UNMET.error)
      take({ incoming, outgoing }, UNMET, () => undefined)
    },
    refuseConnect: (_incoming, socket) => {
      // Node has removed its listeners, and an error event without one ends the process.
      for (const event of ["error", "timeout"]) socket.on(event, () => socket.destroy())
      if (refused.has(socket)) return
      refused.add(socket)
      endAfterAnswers(socket, messageOf(answerOf(NO_TUNNEL)))
    },
    onClientError: (error, socket) => {
      if (refused.has(socket)) return
      refused.add(socket)
      const other = otherProtocol(error)
      if (other !== undefined) reportMisfit(other.error)
      if (socket.writable) endAfterAnswers(socket, messageOf(answerOf(other ?? REFUSALS[codeOf(error)] ?? MALFORMED)))
      else socket.destroy()
    },
  }
}

// What a client still sends of a request that is answered already, such as one whose body is too large or whose key is unknown. A
// connection that is closed while something arrives is reset, and takes the answer from a client that has not read it yet (RFC 9112 §9.6). So
// the rest is read and thrown away, within bounds.

/** Most that is thrown away of one request, in bytes; its time is bounded as that of every request. */
const DISCARD_MAX_BYTES = 134_217_728
/** The connection is closed when nothing more arrives for so long, in milliseconds. */
const QUIET_MS = 5_000

/** Sees to it that the answer of an exchange arrives, also when the request is not complete by then. */
function discardRest({ incoming, outgoing }: Exchange): void {
  // Before Node's own listener, which closes the connection after its last answer.
  outgoing.prependListener("finish", () => {
    if (incoming.complete) return
    const { socket } = incoming
    const { destroySoon } = socket
    // An end of what is written leaves the connection readable.
    socket.destroySoon = () => void socket.end()
    const close = (): void => void socket.destroy()
    const quiet = setTimeout(close, QUIET_MS)
    socket.once("close", () => clearTimeout(quiet))
    let left = DISCARD_MAX_BYTES
    // Nobody else reads it any more: a reader that has stopped would hold it up.
    incoming
      .removeAllListeners("data")
      .on("data", (bytes: Uint8Array) => {
        quiet.refresh()
        left -= bytes.length
        if (left < 0) close()
      })
      .once("end", () => {
        clearTimeout(quiet)
        socket.destroySoon = destroySoon
        if (socket.writableEnded) close()
      })
      .resume()
  })
}

// A queue for the pipelined requests of each connection (RFC 9112 §9.3.2), which are answered one at a time. A client that sends further
// requests before it has read an answer makes the service hold one answer in memory, not all of them.

/** Requests that may wait in the queue of one connection; a further one ends the connection. */
export const PIPELINED_MAX = 32

type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }

type ConnectionQueues = {
  /** Calls `serve` when every earlier request of the connection is answered. False when the queue is full; `serve` is not called then. */
  readonly enqueue: (exchange: Exchange, serve: () => void) => boolean
  /** Requests of a connection that are not completely read and answered, oldest first. */
  readonly underWay: (socket: Duplex) => readonly Exchange[]
}

type Queue = {
  readonly exchanges: Set<Exchange>
  readonly waiting: (() => void)[]
  /** Whether a request is being answered. */
  busy: boolean
}

function createConnectionQueues(): ConnectionQueues {
  const queues = new WeakMap<Duplex, Queue>()

  const queueOf = (socket: Duplex): Queue => {
    const known = queues.get(socket)
    if (known !== undefined) return known
    const queue: Queue = { exchanges: new Set(), waiting: [], busy: false }
    queues.set(socket, queue)
    return queue
  }

  /** An exchange is over when its request was read and its answer sent, or the connection is gone. */
  const track = ({ exchanges }: Queue, exchange: Exchange): void => {
    exchanges.add(exchange)
    let open = 2
    const settle = (): void => {
      open -= 1
      if (open === 0) exchanges.delete(exchange)
    }
    exchange.incoming.once("close", settle)
    exchange.outgoing.once("close", settle)
  }

  return {
    enqueue: (exchange, serve) => {
      const { socket } = exchange.incoming
      const queue = queueOf(socket)
      if (queue.waiting.length >= PIPELINED_MAX) return false
      track(queue, exchange)
      exchange.outgoing.once("close", () => {
        const next = queue.waiting.shift()
        queue.busy = next !== undefined
        // The answer may have ended the connection; then the next one has no reader.
        if (socket.writable) next?.()
      })
      if (queue.busy) queue.waiting.push(serve)
      else {
        queue.busy = true
        serve()
      }
      return true
    },
    underWay: socket => [...(queues.get(socket)?.exchanges ?? [])],
  }
}
