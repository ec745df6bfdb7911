/** Sends events to receivers, in the form that each wants. */
import type { KeyObject } from "node:crypto"
import type { SealedEvent } from "@runseal/core/wire/event-messages"
import { bodyOf, type RenderedEvent, testBody } from "../../events/event-body.ts"
import { webhookSignatures } from "../../keys/webhook-secret.ts"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { DestinationRow } from "../../store/tables/destinations-table.ts"
import type { Failure } from "./receiver-failure.ts"
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

export type Receivers = {
  readonly send: (destination: DestinationRow, event: SealedEvent, signal: AbortSignal) => Promise<Failure | undefined>
  readonly sendTest: (destination: DestinationRow, id: string, signal: AbortSignal) => Promise<Failure | undefined>
  readonly close: () => void
}

export function openReceivers({ networks, secret, nowMs, logOrigin }: ReceiverParts): Receivers {
  const webhooks = openWebhookClient(networks)
  const post = (row: DestinationRow, id: string, { type, body }: RenderedEvent, signal: AbortSignal) => {
    const now = nowMs()
    const seconds = Math.floor(now / 1000)
    const salts = [row.secret_salt, ...(row.previous_until > now ? [row.previous_salt] : [])]
    const headers = {
      "Content-Type": type,
      "User-Agent": "runseal",
      "webhook-id": id,
      "webhook-timestamp": `${seconds}`,
      "webhook-signature": webhookSignatures(secret, salts, { id, seconds, body }),
    }
    return webhooks.send({ url: row.url, headers, body }, signal)
  }
  return {
    send: (row, event, signal) => post(row, event.id, bodyOf(event, row.format, logOrigin), signal),
    sendTest: (row, id, signal) => post(row, id, testBody(id, row.format, nowMs(), logOrigin), signal),
    close: webhooks.close,
  }
}
