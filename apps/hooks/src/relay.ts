/**
 * `runseal-hooks relay`: hooks of this machine reach a service in another network, and the key of the service is with the relay alone. It takes the
 * requests that hooks make and no others, from programs of this machine and not from pages that a browser shows.
 */
import { serve } from "@hono/node-server"
import { type Context, Hono } from "hono"
import { bodyLimit } from "hono/body-limit"
import { EVENT_MAX_BYTES } from "./event-command.ts"
import { askService } from "./service-request.ts"

/** Requests that are under way at a time. */
const OPEN_MAX = 64
/** Milliseconds for one request: longer than a hook waits. */
const REQUEST_MS = 30_000

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/
/** What hooks ask for: permits, their redemptions and closes, what people decided, and the address for HTTP hooks. */
const PATHS = [
  ...["/permits", "/permits/:id/redeem", "/permits/:id/close", "/approvals/:id/permit"],
  "/hooks/claude-code",
]
/** Headers that belong to the request and not to its connection or its key. */
const PASSED_ON = ["content-type", "x-end-user-token", "idempotency-key", "x-request-id", "user-agent"]
const ANSWERED = ["content-type", "location", "retry-after"]

type Relay = { readonly url: string; readonly stop: () => Promise<void> }

type RelayOptions = {
  /** Address of the service. */
  readonly url: string
  readonly apiKey: string | undefined
  /** A loopback address. */
  readonly host: string
  /** 0: a free one. */
  readonly port: number
}

/** @throws Error with a sentence for the user when the address is not of this machine alone, or the port is taken */
export async function startRelay({ url, apiKey, host, port }: RelayOptions): Promise<Relay> {
  if (!LOOPBACK.test(host.includes(":") ? `[${host}]` : host))
    throw new Error("--listen is an address of this machine: 127.0.0.1:PORT")
  const app = new Hono()
  let open = 0
  app.use(async (c, next) => {
    if (!isOfThisMachine(c)) return refuse(c, 403, "A page of another site may not call it.")
    if (open >= OPEN_MAX) return refuse(c, 503, "Too many requests are under way.")
    open++
    try {
      return await next()
    } finally {
      open--
    }
  })
  app.use(bodyLimit({ maxSize: EVENT_MAX_BYTES, onError: c => refuse(c, 413, "The body has more than 4 MiB.") }))
  for (const path of PATHS) app.post(path, c => forward(c, url, apiKey))
  app.notFound(c => refuse(c, 404, "The relay takes the requests of hooks alone."))
  app.onError((_, c) => refuse(c, 503, "The service cannot be reached."))
  return await new Promise((started, failed) => {
    const server = serve({ fetch: app.fetch, hostname: host, port }, ({ port: taken }) =>
      started({
        url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`,
        stop: () => new Promise(stopped => server.close(() => stopped())),
      }),
    )
    server.once("error", () => failed(new Error("the relay cannot listen at this address: another program has it")))
  })
}

async function forward(c: Context, url: string, apiKey: string | undefined): Promise<Response> {
  const headers = new Headers(apiKey === undefined ? {} : { "x-service-key": apiKey })
  for (const name of PASSED_ON) {
    const value = c.req.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  const address = new URL(`${c.req.path}${new URL(c.req.url).search}`, url)
  const signal = AbortSignal.any([c.req.raw.signal, AbortSignal.timeout(REQUEST_MS)])
  const answer = await askService(new Request(address, { method: "POST", headers, body: await c.req.text(), signal }))
  const text = await answer.text()
  const given = ANSWERED.flatMap(name => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return new Response(text, { status: answer.status, headers: Object.fromEntries(given) })
}

/** A browser sends Origin with a POST; a page that names this machine by another name (DNS rebinding) sends that name as Host. */
function isOfThisMachine({ req }: Context): boolean {
  const host = `http://${req.header("host") ?? ""}`
  return req.header("origin") === undefined && URL.canParse(host) && LOOPBACK.test(new URL(host).hostname)
}

const refuse = (c: Context, status: 403 | 404 | 413 | 503, error: string): Response =>
  c.json({ ok: false, error }, status)
