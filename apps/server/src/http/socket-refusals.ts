/**
 * What never becomes a request: bytes that are no HTTP/1.1 (RFC 9112), heads that are too large, senders that are too slow.
 * The application does not see them, so they are refused here, in the envelope of every other refusal.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { RequestError } from "@hono/node-server"

/** Largest head of a request, its request line and all header fields, in bytes. */
export const HEAD_MAX_BYTES = 16_384

/** How long a refused sender gets to read the answer before the connection is cut, in milliseconds. */
const LINGER_MS = 1_000

type Refusal = { readonly status: string; readonly error: string }

const MALFORMED: Refusal = { status: "400 Bad Request", error: "The request is not well-formed HTTP/1.1." }
const NO_HOST: Refusal = { status: "400 Bad Request", error: "A request must have exactly one Host header field." }
const UNADDRESSED = "The request's target and Host header field are not an address."
const UNMET: Refusal = { status: "417 Expectation Failed", error: "Nothing can be expected but 100-continue." }

/** Node's codes of what went wrong before a request was whole; any other is a request that is not well-formed. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: "408 Request Timeout", error: "The request did not arrive in time." },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: "413 Content Too Large",
    error: "The body's chunk extensions are too large.",
  },
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    error: `The head of the request is larger than ${HEAD_MAX_BYTES} bytes.`,
  },
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "")

const bodyOf = ({ error }: Refusal): string => JSON.stringify({ ok: false, error })

const HEADERS = { "Content-Type": "application/json", "Cache-Control": "no-store", Connection: "close" } as const

function messageOf(refusal: Refusal): string {
  const body = bodyOf(refusal)
  const headers = { ...HEADERS, "Content-Length": `${Buffer.byteLength(body)}` }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${refusal.status}`, ...lines, "", body].join("\r\n")
}

/** Answers a request that was read but is refused before the application, and ends its connection. */
function refuse(outgoing: ServerResponse, refusal: Refusal): void {
  const [code = "400"] = refusal.status.split(" ")
  const body = bodyOf(refusal)
  outgoing.writeHead(Number(code), { ...HEADERS, "Content-Length": Buffer.byteLength(body) }).end(body)
}

/** Refuses an `Expect` other than `100-continue`. RFC 9110 §10.1.1. */
export const refuseExpectation = (_incoming: IncomingMessage, outgoing: ServerResponse): void => refuse(outgoing, UNMET)

/** HTTP/1.1 asks for exactly one Host (RFC 9112 §3.2); HTTP/1.0, which some health checks still speak, for none. */
function lacksHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const hosts = headersDistinct.host?.length ?? 0
  return hosts > 1 || (hosts === 0 && httpVersion !== "1.0")
}

/** The answer to a request that could not be handed to the application: its Host or target makes no address. */
export function refuseUnreadable(error: unknown): Response {
  const [status, sentence] = error instanceof RequestError ? [400, UNADDRESSED] : [500, "The server failed."]
  return Response.json({ ok: false, error: sentence }, { status, headers: HEADERS })
}

type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }

export type SocketRefusals = {
  /** Takes every request first; gives to the application what it may see. */
  readonly guard: (listener: RequestListener) => RequestListener
  /** Takes the server's `clientError`. */
  readonly onClientError: (error: Error, socket: Duplex) => void
}
type RequestListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** The refusals of one server. */
export function socketRefusals(): SocketRefusals {
  const underWay = new WeakMap<Duplex, Set<Exchange>>()
  const refused = new WeakSet<Duplex>()

  const exchangesOf = (socket: Duplex): readonly Exchange[] => [...(underWay.get(socket) ?? [])]

  const note = (exchange: Exchange): void => {
    const { incoming, outgoing } = exchange
    const exchanges = underWay.get(incoming.socket) ?? new Set()
    underWay.set(incoming.socket, exchanges.add(exchange))
    let open = 2
    const settle = (): void => {
      open -= 1
      if (open === 0) exchanges.delete(exchange)
    }
    incoming.once("close", settle)
    outgoing.once("close", settle)
  }

  const end = (socket: Duplex, message?: string): void => {
    if (message === undefined) socket.end()
    else socket.end(message)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }

  return {
    guard: listener => (incoming, outgoing) => {
      note({ incoming, outgoing })
      if (lacksHost(incoming)) refuse(outgoing, NO_HOST)
      else listener(incoming, outgoing)
    },
    onClientError: (error, socket) => {
      // Whatever a refused sender goes on to send is an error again.
      if (refused.has(socket)) return
      refused.add(socket)
      if (!socket.writable) {
        socket.destroy()
        return
      }
      const exchanges = exchangesOf(socket)
      // Requests that came whole are answered first, and by their own answer alone: who reads a refusal in its place
      // would take a run that is being sealed for one that never was.
      const whole = exchanges.filter(({ incoming, outgoing }) => incoming.complete && !outgoing.writableFinished)
      const last = whole.at(-1)
      if (last !== undefined) last.outgoing.once("close", () => end(socket))
      else if (exchanges.some(({ outgoing }) => outgoing.headersSent)) end(socket)
      else end(socket, messageOf(REFUSALS[codeOf(error)] ?? MALFORMED))
    },
  }
}
