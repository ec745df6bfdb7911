/** Sends events to receivers, in the form that each wants. */
import { type KeyObject, randomBytes } from "node:crypto"
import type { LoggedEvent, Sender, SentEvent } from "@runseal/core/event-forms/sent-event"
import { octetCounted } from "@runseal/core/event-forms/syslog-message"
import { bodyOf, MEDIA_TYPES, syslogOf } from "../../events/event-body.ts"
import { webhookSignatures } from "../../keys/webhook-secret.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { DestinationRow } from "../../store/tables/destinations-table.ts"
import type { Failure } from "./receiver-failure.ts"
import { sendStream } from "./syslog-receiver.ts"
import { openWebhookClient } from "./webhook-receiver.ts"

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
