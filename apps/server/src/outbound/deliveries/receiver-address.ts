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

/** Whether an IP address may be connected to. */
export type AllowsAddress = (address: string) => boolean

const SCHEMES: Readonly<Record<DestinationKind, { readonly secure: string; readonly plain: string }>> = {
  webhook: { secure: "https:", plain: "http:" },
  syslog: { secure: "tls:", plain: "tcp:" },
}

const ONLY_MACHINE = "without TLS only this machine may be a receiver, and only where the operator allows it"
const ONLY_NAMED = "without TLS only networks that the operator names may have a receiver"

/** The host of an address as it is connected to: an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")

/** Whether an address is one without TLS. */
export const isWithoutTls = ({ protocol }: URL, kind: DestinationKind): boolean => protocol === SCHEMES[kind].plain

/**
 * Why an address is not accepted, as the end of a sentence that begins with its name; undefined for one that is. A name is resolved when it is
 * connected to, and not here: it may mean another address then.
 */
export function addressProblem(text: string, kind: DestinationKind, networks: DeliveryNetworks): string | undefined {
  const url = URL.parse(text)
  const { secure, plain } = SCHEMES[kind]
  const wanted = `must be an address of ${secure.replace(/:$/, "")}`
  if (url === null || ![secure, plain].includes(url.protocol)) return wanted
  if (`${url.username}${url.password}` !== "" || text.includes("#") || url.hostname === "")
    return "must have a host, and neither credentials nor a fragment"
  if (kind === "syslog" && (url.port === "" || !["", "/"].includes(url.pathname) || url.search !== ""))
    return "must have a host and a port, and nothing else"
  const host = hostOf(url)
  const literal = host === "localhost" ? "127.0.0.1" : host
  if (isWithoutTls(url, kind) && kind === "webhook" && !networks.allowsPlain(literal))
    return `${wanted}; ${ONLY_MACHINE}`
  if (isWithoutTls(url, kind) && isIP(literal) !== 0 && !networks.isNamed(literal)) return `${wanted}; ${ONLY_NAMED}`
  if (isIP(literal) !== 0 && !networks.allows(literal))
    return "must not be in a private, local or special network, unless the operator allows it"
  return undefined
}

/**
 * Resolves a name for a connection, and gives it only addresses that are allowed. A name with one that is not is refused altogether.
 * An address in numbers is not resolved: it is checked by `addressProblem`.
 */
export const checkedLookup =
  (allows: AllowsAddress): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "")
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => allows(address)))
        return callback(new AddressRefused(), "")
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }
