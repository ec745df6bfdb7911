/** Sends events to receivers, in the form that each wants. */
import { type KeyObject, randomBytes } from "node:crypto"
import type { Sender, SentEvent } from "@runseal/core/event-forms/sent-event"
import { octetCounted } from "@runseal/core/event-forms/syslog-message"
import type { SealedEvent } from "@runseal/core/wire/event-messages"
import { bodyOf, MEDIA_TYPES, syslogOf } from "../../events/event-body.ts"
import { webhookSignatures } from "../../keys/webhook-secret.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { DestinationRow } from "../../store/tables/destinations-table.ts"
import { deliverPage, deliverTogether, type PageResult } from "./deliver-page.ts"
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
export type EventPage = {
  readonly events: readonly SealedEvent[]
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
