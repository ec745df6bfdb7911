/**
 * Sends events to webhooks. The HTTP client of `ask.ts` is for addresses of the operator; receivers are named by admin keys, so each
 * connection is made to an address that was checked, and a redirect is a refusal.
 */
import { Agent as HttpAgent, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import { AddressRefused, addressProblem, checkedLookup, isWithoutTls } from "./receiver-address.ts"
import { type Failure, failureOf } from "./receiver-failure.ts"

/** One request, from the look-up of the name to the head of the answer, in milliseconds. */
export const REQUEST_DEADLINE_MS = 10_000
/** Longest wait that a Retry-After may ask for, in milliseconds: an hour. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

export type WebhookMessage = {
  readonly url: string
  /** Certificates in PEM by which alone the receiver is verified; "": those that Node trusts. */
  readonly ca: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type WebhookClient = {
  /** Sends one event. Undefined: the receiver took it, with a 2xx. Never rejects. */
  readonly send: (message: WebhookMessage, signal: AbortSignal) => Promise<Failure | undefined>
  readonly close: () => void
}

export function openWebhookClient(networks: DeliveryNetworks): WebhookClient {
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
