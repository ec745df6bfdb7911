/** The listening socket: timeouts and limits of its connections, and how the service stops listening. */

import { readFileSync } from "node:fs"
import { createServer, type Server, type ServerResponse } from "node:http"
import { createServer as createSocketServer, type Socket } from "node:net"
import { getRequestListener } from "@hono/node-server"
import { StartupError } from "../options/startup-error.ts"
import { HEAD_MAX_BYTES, socketRefusals } from "./socket-refusals.ts"

// How many connections a process can have within the file descriptors that it may open. A connection takes one; so does each open file.

/** Most connections at once, however many descriptors there are. */
const MOST_CONNECTIONS = 10_000
/** Descriptors for all but connections: the embedded database has up to 150 files open, Node itself some 40; the rest is for requests abroad. */
const OTHER_DESCRIPTORS = 300
/** Where there are few, this part of them is for connections. */
const LEAST_PART = 4

/** The descriptors that this process may open; undefined where the system does not say: Linux does. */
function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** @param descriptors as `descriptorLimit` gives them */
function connectionsWithin(descriptors: number | undefined): number {
  if (descriptors === undefined) return MOST_CONNECTIONS
  const least = Math.floor(descriptors / LEAST_PART)
  return Math.min(MOST_CONNECTIONS, Math.max(least, descriptors - OTHER_DESCRIPTORS))
}

/** Timeouts of a connection in milliseconds, and how many connections there may be. */
export type ConnectionLimits = {
  /** From the first byte of a request, or the start of a connection, to the end of its head. */
  readonly headMs: number
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number
  /** How often those two are checked. */
  readonly checkMs: number
  /** A connection on which no byte moves either way, as when its client does not read. Longer than any review may take. */
  readonly silentMs: number
  /** An idle connection between two requests. */
  readonly keepAliveMs: number
  /** Connections at once; a further one is closed at once. */
  readonly connections: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 10_000,
  requestMs: 60_000,
  checkMs: 1_000,
  silentMs: 300_000,
  keepAliveMs: 65_000,
  connections: connectionsWithin(descriptorLimit()),
}

/** Longest time a stop waits for answers under way, in milliseconds. */
const STOP_DEADLINE_MS = 30_000
/** How often a stop closes connections that have become idle, in milliseconds. */
const SWEEP_MS = 50

export type Listening = {
  /** `http://<address>:<port>` */
  readonly url: string
  /** Accepts no further connection and resolves when every request under way is answered, or the deadline is over. */
  readonly stop: () => Promise<void>
}

type ListenOptions = {
  /** The application. */
  readonly fetch: Parameters<typeof getRequestListener>[0]
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly limits?: ConnectionLimits
  /** Address under which callers reach the service, if the operator gave one. */
  readonly baseUrl?: string | undefined
  /** Called with a sentence for the operator when a client speaks another protocol than this one, or expects what cannot be met. */
  readonly reportMisfit?: (sentence: string) => void
}

/** Why the system refuses an address, by its error code. */
const REFUSALS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use by another process",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user may not use the port",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name cannot be resolved now",
}

function cannotListen(host: string, port: number, cause: Error): StartupError {
  const reason = "code" in cause ? REFUSALS[`${cause.code}`] : undefined
  return new StartupError(`cannot listen on ${host}:${port}${reason === undefined ? "" : `: ${reason}`}`, { cause })
}

/** Listens on an address for a moment, before a start makes anything. @throws StartupError when the address cannot be listened on */
export function tryToListen(host: string, port: number): Promise<void> {
  const server = createSocketServer()
  return new Promise((resolve, reject) => {
    server.once("error", cause => reject(cannotListen(host, port, cause)))
    server.listen(port, host, () => server.close(() => resolve()))
  })
}

/**
 * The newest answer of each connection. When the service stops, that one says `Connection: close`: an answer that does not invites one more
 * request, which meets a closed connection.
 */
function createLastAnswers(server: Server) {
  const newest = new Map<Socket, ServerResponse>()
  let stopping = false
  server.on("connection", (socket: Socket) => void socket.once("close", () => newest.delete(socket)))
  server.on("request", ({ socket }, outgoing) => {
    const before = newest.get(socket)
    newest.set(socket, outgoing)
    if (!stopping) return
    if (before?.headersSent === false) before.shouldKeepAlive = true
    outgoing.shouldKeepAlive = false
  })
  return {
    sayClose: (): void => {
      stopping = true
      for (const outgoing of newest.values()) outgoing.shouldKeepAlive = false
    },
  }
}

/** @throws StartupError when the address cannot be listened on */
export function listen({
  fetch,
  host,
  port,
  limits = CONNECTION_LIMITS,
  baseUrl,
  reportMisfit,
}: ListenOptions): Promise<Listening> {
  const server = createServer({
    maxHeaderSize: HEAD_MAX_BYTES,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node's own refusal has no body; the one of socket-refusals.ts has.
    requireHostHeader: false,
  })
  server.timeout = limits.silentMs
  server.maxConnections = limits.connections
  const refusals = socketRefusals({ baseUrl, reportMisfit })
  const listener = getRequestListener(fetch, {
    hostname: host,
    errorHandler: refusals.refuseUnreadable,
    // What a client sends after the answer is thrown away here, and not only for a moment.
    autoCleanupIncoming: false,
  })
  const lastAnswers = createLastAnswers(server)
  server.on(
    "request",
    refusals.guard((incoming, outgoing) => void listener(incoming, outgoing)),
  )
  server.on("checkExpectation", refusals.refuseExpectation)
  server.on("connect", refusals.refuseConnect)
  server.on("clientError", refusals.onClientError)

  const stop = (): Promise<void> =>
    new Promise(done => {
      lastAnswers.sayClose()
      const deadline = setTimeout(() => server.closeAllConnections(), STOP_DEADLINE_MS)
      // A keep-alive connection becomes idle with its last answer; it must not delay the stop.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
      server.close(() => {
        clearTimeout(deadline)
        clearInterval(sweep)
        done()
      })
    })

  return new Promise((resolve, reject) => {
    server.once("error", cause => reject(cannotListen(host, port, cause)))
    server.listen(port, host, () => {
      const bound = server.address()
      if (bound === null || typeof bound === "string") throw new Error("a listening TCP server has an address")
      const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address
      resolve({ url: `http://${name}:${bound.port}`, stop })
    })
  })
}
