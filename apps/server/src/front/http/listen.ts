/** The listening socket: what a connection may take, and how the service stops listening. */
import { createServer } from "node:http"
import { getRequestListener } from "@hono/node-server"
import { StartupError } from "../../options/startup-error.ts"
import { HEAD_MAX_BYTES, refuseUnreadable, socketRefusals } from "./socket-refusals.ts"

/** Bounds of a connection, all in milliseconds but the last. */
export type ConnectionLimits = {
  /** From the first byte of a request, or the begin of a connection, to the end of its head. */
  readonly headMs: number
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number
  /** How often those two are looked at. */
  readonly lookMs: number
  /** A connection on which no byte moves either way, as when its peer does not read. Longer than any review may take. */
  readonly silentMs: number
  /** An idle connection between two requests. Longer than the 60 s after which load balancers commonly let go of one. */
  readonly keepAliveMs: number
  /** Connections at once; a further one is closed at once. */
  readonly connections: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 10_000,
  requestMs: 60_000,
  lookMs: 1_000,
  silentMs: 300_000,
  keepAliveMs: 65_000,
  connections: 10_000,
}

/** Longest a stop waits for answers under way, in milliseconds. */
const STOP_DEADLINE_MS = 30_000
/** How often a stop looks for connections that have turned idle, in milliseconds. */
const SWEEP_MS = 50

export type Listening = {
  /** `http://<address>:<port>` */
  readonly url: string
  /** Takes no further connection and resolves when every request under way is answered, or the deadline is over. */
  readonly stop: () => Promise<void>
}

type ListenOptions = {
  /** The application. */
  readonly fetch: Parameters<typeof getRequestListener>[0]
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly limits?: ConnectionLimits
}

/** @throws StartupError when the address cannot be listened on */
export function listen({ fetch, host, port, limits = CONNECTION_LIMITS }: ListenOptions): Promise<Listening> {
  const server = createServer({
    maxHeaderSize: HEAD_MAX_BYTES,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.lookMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node's own refusal has no body; the guard's has.
    requireHostHeader: false,
  })
  server.timeout = limits.silentMs
  server.maxConnections = limits.connections
  const refusals = socketRefusals()
  const listener = getRequestListener(fetch, { hostname: host, errorHandler: refuseUnreadable })
  server.on(
    "request",
    refusals.guard((incoming, outgoing) => void listener(incoming, outgoing)),
  )
  server.on("checkExpectation", refusals.refuseExpectation)
  server.on("connect", refusals.refuseConnect)
  server.on("clientError", refusals.onClientError)

  const stop = (): Promise<void> =>
    new Promise(done => {
      const deadline = setTimeout(() => server.closeAllConnections(), STOP_DEADLINE_MS)
      // A connection that is kept alive turns idle with its last answer; it must not hold the stop up.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
      server.close(() => {
        clearTimeout(deadline)
        clearInterval(sweep)
        done()
      })
    })

  return new Promise((resolve, reject) => {
    server.once("error", cause => reject(new StartupError(`cannot listen on ${host}:${port}`, { cause })))
    server.listen(port, host, () => {
      const bound = server.address()
      if (bound === null || typeof bound === "string") throw new Error("a listening TCP server has an address")
      const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address
      resolve({ url: `http://${name}:${bound.port}`, stop })
    })
  })
}
