/**
 * Which addresses events may be delivered to. An admin key names the receivers, and its holder need not be the operator: so only public
 * addresses are reached, beside the networks that the operator names.
 */
import { BlockList, isIP } from "node:net"

/** Neither private, nor this machine, nor a link, nor for documentation, multicast or translation. IANA special-purpose registries. */
const NOT_PUBLIC_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
]
const PUBLIC_IPV6 = "2000::/3"
const NOT_PUBLIC_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]
const LOOPBACK = blockListOf(["127.0.0.0/8", "::1/128"])
const CLOSED = blockListOf([...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6])
const OPEN_IPV6 = blockListOf([PUBLIC_IPV6])

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4"
}

type Network = { readonly address: string; readonly prefix: number }

/** Reads a network such as `10.0.0.0/8` or `fd00::/8`; an address alone is a network of one. Undefined for other texts. */
function readNetwork(text: string): Network | undefined {
  const [address = "", length, ...more] = text.split("/")
  const family = isIP(address)
  const longest = family === 6 ? 128 : 32
  const prefix = length === undefined ? longest : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  return family === 0 || more.length > 0 || !(prefix <= longest) ? undefined : { address, prefix }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const { address, prefix } of networks.flatMap(text => readNetwork(text) ?? []))
    list.addSubnet(address, prefix, familyOf(address))
  return list
}

export type DeliveryNetworks = {
  /** Whether events may be delivered to an IP address. */
  readonly allows: (address: string) => boolean
  /** Whether an address is in a network that the operator named. */
  readonly isNamed: (address: string) => boolean
  /** Whether an address is of this machine, and may be delivered to: then without TLS too. */
  readonly allowsPlain: (address: string) => boolean
}

/** @param texts networks beside the public ones. Undefined when one of them cannot be read */
export function deliveryNetworks(texts: readonly string[]): DeliveryNetworks | undefined {
  return texts.some(text => readNetwork(text) === undefined) ? undefined : networksOver(texts)
}

function networksOver(texts: readonly string[]): DeliveryNetworks {
  const named = blockListOf(texts)
  const isNamed = (address: string): boolean => isIP(address) !== 0 && named.check(address, familyOf(address))
  return {
    allows: address => isNamed(address) || (isIP(address) !== 0 && isPublic(address)),
    isNamed,
    allowsPlain: address => isNamed(address) && LOOPBACK.check(address, familyOf(address)),
  }
}

const isPublic = (address: string): boolean => {
  const family = familyOf(address)
  return !CLOSED.check(address, family) && (family === "ipv4" || OPEN_IPV6.check(address, family))
}

/** Where the operator names no network. */
export const PUBLIC_ONLY: DeliveryNetworks = networksOver([])
