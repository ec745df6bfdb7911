/** Remote address of the caller. X-Forwarded-For is trusted only as far as the operator's own proxies wrote it. */
import { isIPv4, isIPv6 } from "node:net"
import { getConnInfo } from "@hono/node-server/conninfo"
import type { Context } from "hono"

/**
 * The caller's address; undefined when the request did not come over a socket.
 *
 * With N trusted hops it is the N-th address from the right of X-Forwarded-For: each proxy appends the address it was called
 * from, so that addresses further left were written by the caller. Where that header has no such address, it is the peer's.
 */
export function callerAddress(c: Context, trustedProxyHops: number): IpAddress | undefined {
  const peer = peerAddress(c)
  if (trustedProxyHops === 0) return peer
  return forwardedFor(c.req.header("x-forwarded-for") ?? "", trustedProxyHops) ?? peer
}

function peerAddress(c: Context): IpAddress | undefined {
  const env: unknown = c.env
  const overSocket = typeof env === "object" && env !== null && "incoming" in env
  return overSocket ? readIpAddress(getConnInfo(c).remote.address ?? "") : undefined
}

/** The address at position `hops` from the right, counted from 1. */
function forwardedFor(header: string, hops: number): IpAddress | undefined {
  const written = header.split(",").at(-hops)
  return written === undefined ? undefined : readIpAddress(written.trim())
}

/** An IP address in canonical form, so that one caller is not counted or hashed as several. */
export type IpAddress = {
  /** IPv4 in dotted decimal; IPv6 as RFC 5952 writes it, without a zone. */
  readonly text: string
  /** What a rate limit counts by: the IPv4 address itself, or the /64, which one IPv6 subscriber has at least (RFC 6177). */
  readonly network: string
}

const GROUPS = 8
const NETWORK_GROUPS = 4
/** An IPv4 address in IPv6 form, RFC 4291 §2.5.5.2: what a dual-stack socket calls an IPv4 peer. */
const MAPPED = ["0", "0", "0", "0", "0", "ffff"].join(":")

/** Reads an address; undefined for any other text. An IPv4-mapped IPv6 address is the IPv4 address. */
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
