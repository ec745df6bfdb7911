/** IP addresses in one spelling, so that one caller is not counted or hashed as several. */
import { isIPv4, isIPv6 } from "node:net"

export type IpAddress = {
  /** IPv4 in dotted decimal; IPv6 as RFC 5952 writes it, without a zone. */
  readonly text: string
  /** Whom a limit counts: the IPv4 address itself, or the /64 that one IPv6 subscriber has at the least (RFC 6177). */
  readonly network: string
}

const GROUPS = 8
const NETWORK_GROUPS = 4
/** An IPv4 address in IPv6 form, RFC 4291 §2.5.5.2: what a dual-stack socket calls an IPv4 peer. */
const MAPPED = ["0", "0", "0", "0", "0", "ffff"].join(":")

/** Reads an address; undefined for what is none. An IPv4-mapped IPv6 address is the IPv4 address. */
export function readIpAddress(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { text, network: text }
  const [unzoned = ""] = text.split("%", 1)
  if (!isIPv6(unzoned)) return undefined
  const canonical = new URL(`http://[${unzoned}]`).hostname.slice(1, -1)
  const groups = groupsOf(canonical)
  if (groups.slice(0, -2).join(":") === MAPPED) {
    const dotted = groups.slice(-2).flatMap(bytesOf).join(".")
    return { text: dotted, network: dotted }
  }
  return { text: canonical, network: `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64` }
}

/** All eight groups of a canonical IPv6 address, in hex without leading zeros. */
function groupsOf(canonical: string): readonly string[] {
  const [head = [], tail = []] = canonical.split("::").map(part => part.split(":").filter(group => group !== ""))
  return [...head, ...Array<string>(GROUPS - head.length - tail.length).fill("0"), ...tail]
}

function bytesOf(group: string): readonly number[] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}
