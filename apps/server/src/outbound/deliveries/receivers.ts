/** Sends events to receivers, over HTTP and as syslog, in the form that each wants. */
import { type KeyObject, randomBytes } from "node:crypto"
import { Agent as HttpAgent, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { connect as connectPlain, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { connect as connectTls } from "node:tls"
import type { LoggedEvent, Sender, SentEvent } from "@runseal/core/event-forms/sent-event"
import { octetCounted } from "@runseal/core/event-forms/syslog-message"
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"
import { bodyOf, MEDIA_TYPES, syslogOf } from "../../events/sealed-event.ts"
import { webhookSignatures } from "../../keys/webhook-secret.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { DestinationRow } from "../../store/tables/destinations-table.ts"
import { AddressRefused, addressProblem, checkedLookup, hostOf, isWithoutTls } from "./receiver-address.ts"

export type ReceiverParts = {
  readonly networks: DeliveryNetworks
  /** From it follow the secrets of webhooks. */
  readonly secret: KeyObject
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Of this deployment, for receivers that get events of several. */
  readonly logOrigin: string
}

/** A page of events, and how far it may go. */
type EventPage = {
  readonly events: readonly LoggedEvent[]
  /** Positions from here on that the receiver has taken before, which are not sent again; those taken now are added. */
  readonly taken: Set<number>
  /** Whether no further event may be sent. */
  readonly isOver: () => boolean
}

export type Receivers = {
  readonly deliver: (destination: DestinationRow, page: EventPage, signal: AbortSignal) => Promise<PageResult>
  /** Sends a test event. Undefined: it was taken. */
  readonly sendTest: (destination: DestinationRow, signal: AbortSignal) => Promise<Failure | undefined>
  readonly close: () => void
}

export function openReceivers({ networks, secret, nowMs, logOrigin }: ReceiverParts): Receivers {
  const webhooks = openWebhookClient(networks)
  const sender: Sender = { log_origin: logOrigin, version: SERVICE_VERSION }
  const post = (row: DestinationRow, event: SentEvent, signal: AbortSignal) => {
    const [id, body, now] = [event.id, bodyOf(event, row.format, sender), nowMs()]
    const seconds = Math.floor(now / 1000)
    const salts = [row.secret_salt, ...(row.previous_until > now ? [row.previous_salt] : [])]
    const headers = {
      "Content-Type": MEDIA_TYPES[row.format],
      "User-Agent": "runseal",
      "webhook-id": id,
      "webhook-timestamp": `${seconds}`,
      "webhook-signature": webhookSignatures(secret, salts, { id, seconds, body }),
    }
    return webhooks.send({ url: row.url, ca: row.ca, headers, body }, signal)
  }
  const log = (row: DestinationRow, events: readonly SentEvent[], signal: AbortSignal) => {
    const stream = events.map(event => octetCounted(syslogOf(event, row.format, sender))).join("")
    return sendStream(networks, { url: row.url, ca: row.ca, stream }, signal)
  }
  const isSyslog = ({ kind }: DestinationRow): boolean => kind === "syslog"
  return {
    deliver: (row, page, signal) =>
      isSyslog(row)
        ? deliverTogether(page, events => log(row, events, signal))
        : deliverPage(page, event => post(row, event, signal)),
    sendTest: (row, signal) => {
      const event = testEvent(nowMs(), logOrigin)
      return isSyslog(row) ? log(row, [event], signal) : post(row, event, signal)
    },
    close: webhooks.close,
  }
}

const testEvent = (nowMs: number, logOrigin: string): SentEvent => ({
  id: `evt_test_${randomBytes(16).toString("hex")}`,
  type: "test",
  timestamp: new Date(nowMs).toISOString(),
  data: { log_origin: logOrigin },
})

// Delivers a page of events, so that those of each tenant come in their order.

/** Tenants whose events are sent at one time. */
const MAX_TENANTS_AT_ONCE = 8

/** Sends one event. Undefined: the receiver took it. */
type SendEvent = (event: LoggedEvent) => Promise<Failure | undefined>

type PageResult = {
  /** Events that the receiver took. */
  readonly taken: number
  /** Position of the first event that it did not take; undefined: it took all. */
  readonly stopped_at: number | undefined
  /** Why not; undefined also when the time was over. */
  readonly failure: Failure | undefined
}

/** Sends events as one. Undefined: the receiver took them all; otherwise none of them counts as taken. */
type SendEvents = (events: readonly LoggedEvent[]) => Promise<Failure | undefined>

/** The whole page in the order of the log, at once. */
async function deliverTogether({ events }: EventPage, send: SendEvents): Promise<PageResult> {
  const [first] = events
  const failure = first === undefined ? undefined : await send(events)
  return failure === undefined
    ? { taken: events.length, stopped_at: undefined, failure }
    : { taken: 0, stopped_at: first?.position, failure }
}

/** Event by event: those of one tenant one after the other, those of several tenants at the same time. After a failure the others of that tenant wait. */
async function deliverPage({ events, taken, isOver }: EventPage, send: SendEvent): Promise<PageResult> {
  const before = taken.size
  const failures = new Map<number, Failure>()
  const queues = byTenant(events)
  const deliverQueue = async (queue: readonly LoggedEvent[]): Promise<void> => {
    for (const event of queue) {
      if (taken.has(event.position)) continue
      if (isOver()) return
      const failure = await send(event)
      if (failure !== undefined) {
        failures.set(event.position, failure)
        return
      }
      taken.add(event.position)
    }
  }
  const next = queues[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (const queue of next) await deliverQueue(queue)
  }
  await Promise.all(Array.from({ length: MAX_TENANTS_AT_ONCE }, work))
  const stopped_at = events.find(({ position }) => !taken.has(position))?.position
  const failure = stopped_at === undefined ? undefined : (failures.get(stopped_at) ?? [...failures.values()][0])
  return { taken: taken.size - before, stopped_at, failure }
}

function byTenant(events: readonly LoggedEvent[]): readonly (readonly LoggedEvent[])[] {
  const queues = new Map<string, LoggedEvent[]>()
  for (const event of events) {
    const queue = queues.get(event.data.tenant_id)
    if (queue === undefined) queues.set(event.data.tenant_id, [event])
    else queue.push(event)
  }
  return [...queues.values()]
}

// Why a receiver did not take an event, as a closed code: no text of a receiver or a library is stored or shown.

export type Failure = {
  readonly fault: DeliveryFault
  /** HTTP status of a receiver that refused; 0: none. */
  readonly status: number
  /** Wait that the receiver asks for, in milliseconds. */
  readonly retry_after_ms?: number | undefined
}

/** Codes of Node for a handshake or a certificate that failed. */
const TLS_CODE = /^(?:ERR_(?:TLS|SSL)_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$)/

export function failureOf(error: unknown): Failure {
  if (error instanceof AddressRefused) return { fault: "address_refused", status: 0 }
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
  return { fault: TLS_CODE.test(code) ? "tls_failed" : "unreachable", status: 0 }
}

// Sends events to webhooks. The HTTP client of `ask.ts` is for addresses of the operator; receivers are named by admin keys, so each
// connection is made to an address that was checked, and a redirect is a refusal.

/** One request, from the look-up of the name to the head of the answer, in milliseconds. */
export const REQUEST_DEADLINE_MS = 10_000
/** Longest wait that a Retry-After may ask for, in milliseconds: an hour. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

type WebhookMessage = {
  readonly url: string
  /** Certificates in PEM by which alone the receiver is verified; "": those that Node trusts. */
  readonly ca: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type WebhookClient = {
  /** Sends one event. Undefined: the receiver took it, with a 2xx. Never rejects. */
  readonly send: (message: WebhookMessage, signal: AbortSignal) => Promise<Failure | undefined>
  readonly close: () => void
}

function openWebhookClient(networks: DeliveryNetworks): WebhookClient {
  // Without a bound for a host, which several destinations may share: each has a bound of its own, MAX_TENANTS_AT_ONCE.
  const options = { keepAlive: true, lookup: checkedLookup(networks.allows) }
  const agents = { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) }
  const exchange = (
    { url: text, ca, headers, body }: WebhookMessage,
    signal: AbortSignal,
  ): Promise<Failure | undefined> =>
    new Promise((resolve, reject) => {
      if (addressProblem(text, "webhook", networks) !== undefined) throw new AddressRefused()
      const url = new URL(text)
      const plain = isWithoutTls(url, "webhook")
      const bytes = Buffer.from(body)
      const sent = (plain ? httpRequest : httpsRequest)(
        url,
        {
          agent: plain ? agents["http:"] : agents["https:"],
          ...(ca === "" ? {} : { ca }),
          method: "POST",
          headers: { ...headers, "Content-Length": bytes.length },
          signal,
        },
        answer => {
          const status = answer.statusCode ?? 0
          // Its body is not read.
          answer.resume()
          answer.on("error", () => undefined)
          if (status >= 200 && status < 300) resolve(undefined)
          else resolve({ fault: "refused", status, retry_after_ms: retryAfterMs(answer.headers["retry-after"]) })
        },
      )
      sent.on("error", reject)
      sent.end(bytes)
    })
  return {
    send: async (message, signal) => {
      const deadline = AbortSignal.timeout(REQUEST_DEADLINE_MS)
      try {
        return await exchange(message, AbortSignal.any([signal, deadline]))
      } catch (error) {
        return deadline.aborted ? { fault: "timed_out", status: 0 } : failureOf(error)
      }
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

/** Seconds alone (RFC 9110 §10.2.3); a date would be compared with the receiver's clock. */
function retryAfterMs(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value)
    ? Math.min(Number(value) * 1000, LONGEST_RETRY_AFTER_MS)
    : undefined
}

// Sends syslog messages over TCP (RFC 6587) or TLS (RFC 5425). The protocol has no answer, so each page has a connection of its own: the sender
// ends it, and the receiver ends its side once it has read everything. That counts as taken. A receiver that dies before leaves bytes
// unread, and the connection breaks.

/**
 * How long a plain connection waits before it sends, in milliseconds: a receiver with too many connections ends one as soon as it is made, which
 * must not look as if everything were read. With TLS the handshake has shown that the receiver is there.
 */
const EARLY_END_MS = 20

type SyslogStream = {
  /** `tls://host:port` or `tcp://host:port`. */
  readonly url: string
  /** Certificates in PEM by which alone the receiver is verified; "": those that Node trusts. */
  readonly ca: string
  /** Messages with their lengths in front. */
  readonly stream: string
}

/** The receiver ended the connection before everything was sent. */
class EndedEarly extends Error {
  override readonly name = "EndedEarly"
}

/** Undefined: the receiver read everything. Never rejects. */
export async function sendStream(
  networks: DeliveryNetworks,
  message: SyslogStream,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const deadline = AbortSignal.timeout(REQUEST_DEADLINE_MS)
  try {
    await exchange(networks, message, AbortSignal.any([signal, deadline]))
    return undefined
  } catch (error) {
    if (deadline.aborted) return { fault: "timed_out", status: 0 }
    return error instanceof EndedEarly ? { fault: "refused", status: 0 } : failureOf(error)
  }
}

function exchange(networks: DeliveryNetworks, message: SyslogStream, signal: AbortSignal): Promise<void> {
  const url = URL.parse(message.url)
  if (url === null || addressProblem(message.url, "syslog", networks) !== undefined)
    return Promise.reject(new AddressRefused())
  // A signal that has aborted does not abort again: nothing would end the connection.
  if (signal.aborted) return Promise.reject(new EndedEarly())
  return new Promise((resolve, reject) => {
    const stop = (): void => void socket.destroy(new EndedEarly())
    const { socket, connected } = open(networks, url, message.ca)
    let isSent = false
    signal.addEventListener("abort", stop, { once: true })
    socket.on("error", reject)
    // What the receiver says is not read.
    socket.resume()
    socket.on("end", () => {
      if (isSent) resolve()
      else socket.destroy(new EndedEarly())
    })
    socket.on("close", () => {
      signal.removeEventListener("abort", stop)
      reject(new EndedEarly())
    })
    socket.once(connected, async () => {
      if (isWithoutTls(url, "syslog")) await setTimeout(EARLY_END_MS)
      socket.end(message.stream, () => {
        isSent = true
      })
    })
  })
}

type Opened = { readonly socket: Socket; readonly connected: "connect" | "secureConnect" }

function open(networks: DeliveryNetworks, url: URL, ca: string): Opened {
  const plain = isWithoutTls(url, "syslog")
  const lookup = checkedLookup(plain ? networks.isNamed : networks.allows)
  const place = { host: hostOf(url), port: Number(url.port), lookup }
  if (plain) return { socket: connectPlain(place), connected: "connect" }
  return { socket: connectTls({ ...place, ...(ca === "" ? {} : { ca }) }), connected: "secureConnect" }
}
