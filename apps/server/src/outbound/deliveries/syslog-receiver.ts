/**
 * Sends syslog messages over TCP (RFC 6587) or TLS (RFC 5425). The protocol has no answer, so each page has a connection of its own: the sender
 * ends it, and the receiver ends its side once it has read everything. That counts as taken. A receiver that dies before leaves bytes
 * unread, and the connection breaks.
 */
import { connect as connectPlain, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { connect as connectTls } from "node:tls"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import { AddressRefused, addressProblem, checkedLookup, hostOf, isWithoutTls } from "./receiver-address.ts"
import { type Failure, failureOf } from "./receiver-failure.ts"
import { REQUEST_DEADLINE_MS } from "./webhook-receiver.ts"

/**
 * How long a plain connection waits before it sends, in milliseconds: a receiver with too many connections ends one as soon as it is made, which
 * must not look as if everything were read. With TLS the handshake has shown that the receiver is there.
 */
const EARLY_END_MS = 20

export type SyslogStream = {
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
