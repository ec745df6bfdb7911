/** Addresses of receivers: which are accepted, and how one is connected to. The address that was checked is the one that is connected to. */
import { lookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { isIP } from "node:net"
import type { DestinationKind } from "@runseal/core/wire/event-messages"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"

/** A receiver's address is not one that events may be delivered to. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

const SECURE: Readonly<Record<DestinationKind, string>> = { webhook: "https:" }
const PLAIN: Readonly<Record<DestinationKind, string>> = { webhook: "http:" }

/** The host of an address as it is connected to: an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")

/**
 * Why an address is not accepted, as the end of a sentence that begins with its name; undefined for one that is. A name is resolved when it is
 * connected to, and not here: it may mean another address then.
 */
export function addressProblem(text: string, kind: DestinationKind, networks: DeliveryNetworks): string | undefined {
  const url = URL.parse(text)
  const secure = SECURE[kind].replace(/:$/, "")
  if (url === null || ![SECURE[kind], PLAIN[kind]].includes(url.protocol)) return `must be an address of ${secure}`
  if (`${url.username}${url.password}` !== "" || text.includes("#") || url.hostname === "")
    return "must have a host, and neither credentials nor a fragment"
  const host = hostOf(url)
  const literal = host === "localhost" ? "127.0.0.1" : host
  if (url.protocol === PLAIN[kind] && !networks.allowsPlain(literal))
    return `must be an address of ${secure}; without TLS only this machine may be a receiver, and only where the operator allows it`
  if (isIP(literal) !== 0 && !networks.allows(literal))
    return "must not be in a private, local or special network, unless the operator allows it"
  return undefined
}

/**
 * Resolves a name for a connection, and gives it only addresses that are allowed. A name with one that is not is refused altogether.
 * An address in numbers is not resolved: it is checked by `addressProblem`.
 */
export const checkedLookup =
  (networks: DeliveryNetworks): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "")
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => networks.allows(address)))
        return callback(new AddressRefused(), "")
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }
