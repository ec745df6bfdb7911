/** Remote address of the caller, and whether it came by https. Headers are trusted only as far as the operator's own proxies wrote them. */
import { isIPv4, isIPv6 } from "node:net"
import { getConnInfo } from "@hono/node-server/conninfo"
import type { Context } from "hono"
import type { Config } from "../options/config.ts"

/** How many proxies are in front of the service, and in which header they write whom they were called from. */
export type Proxies = Pick<Config, "trustedProxyHops" | "proxyHeader">

/**
 * The caller's address; undefined when the request did not come over a socket.
 *
 * With N trusted hops it is the N-th address from the right of the proxies' header: each proxy appends the address it was called
 * from, so that addresses further left were written by the caller. Where the header has fewer, it is the peer's.
 */
export function callerAddress(c: Context, { trustedProxyHops, proxyHeader }: Proxies): IpAddress | undefined {
  const peer = peerAddress(c)
  if (trustedProxyHops === 0) return peer
  const written = c.req.header(proxyHeader) ?? ""
  const nodes = proxyHeader === "forwarded" ? forwardedNodes(written) : written.split(",").reverse()
  return nodes.length < trustedProxyHops ? peer : (nearestAddress(nodes.slice(0, trustedProxyHops)) ?? peer)
}

function peerAddress(c: Context): IpAddress | undefined {
  const env: unknown = c.env
  const overSocket = typeof env === "object" && env !== null && "incoming" in env
  return overSocket ? readIpAddress(getConnInfo(c).remote.address ?? "") : undefined
}

/**
 * The last of these addresses, which proxies wrote, the nearest proxy's first. One that cannot be read, such as an obfuscated one, counts as that of
 * the proxy that wrote it, which is the one before.
 */
const nearestAddress = (nodes: readonly string[]): IpAddress | undefined =>
  nodes.map(readNode).findLast(address => address !== undefined)

const BRACKETS = /^\[(.*)\]$/
/** Of RFC 7239 §6.2: a port, or a name in place of one. */
const PORT = /:(?:\d{1,5}|_[\w.-]{1,64})$/

/** An address as proxies write it: bare, or with a port as Azure and IIS do, IPv6 with brackets or without. */
export function readNode(written: string): IpAddress | undefined {
  const node = written.trim()
  const host = node.replace(PORT, "")
  return readIpAddress(node) ?? readIpAddress(BRACKETS.exec(host)?.[1] ?? host)
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

// The header Forwarded, RFC 7239.

/** The `for` of each element, as it was written but for quotation marks, the nearest proxy's first; an empty text where there is none. */
export const forwardedNodes = (header: string): readonly string[] => partsFromRight(header, ",").map(nodeOf)

/** Whether a proxy says that its caller spoke https. */
export const forwardsHttps = (header: string): boolean =>
  partsFromRight(header, ",").some(element => valuesOf(element, "proto").some(proto => /^https$/i.test(proto)))

function nodeOf(element: string): string {
  const [node = "", ...more] = valuesOf(element, "for")
  return more.length === 0 ? node : ""
}

/** The values of a parameter of one element. */
const valuesOf = (element: string, name: string): readonly string[] =>
  partsFromRight(element, ";").flatMap(pair => {
    const [key = "", ...value] = pair.split("=")
    return key.trim().toLowerCase() === name ? [unquoted(value.join("=").trim())] : []
  })

const unquoted = (value: string): string => /^"(.*)"$/.exec(value)?.[1]?.replace(/\\(.)/g, "$1") ?? value

/**
 * The parts of a list, the last first. A separator in a quoted string is none. It is read from the right: what the caller wrote is on
 * the left, and a quotation mark that it never closed changes nothing of what proxies added.
 */
function partsFromRight(text: string, separator: "," | ";"): readonly string[] {
  const parts: string[] = []
  let end = text.length
  let quoted = false
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at]
    if (character === '"' && !(quoted && isEscaped(text, at))) quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(at + 1, end))
      end = at
    }
  }
  return [...parts, text.slice(0, end)]
}

/** Whether an odd number of backslashes is before this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text[first - 1] === "\\") first--
  return (at - first) % 2 === 1
}
