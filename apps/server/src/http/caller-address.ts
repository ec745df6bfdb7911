/** Remote address of the caller. A header is believed only as far as the operator says that proxies of his wrote it. */
import { getConnInfo } from "@hono/node-server/conninfo"
import type { Context } from "hono"
import { type IpAddress, readIpAddress } from "./ip-address.ts"

/**
 * The caller's address; undefined when the request did not come over a socket.
 *
 * With N trusted hops it is the N-th address from the right of X-Forwarded-For: each proxy appends the address it was called
 * from, so what stands further left was written by the caller himself. Where that header has no such address, the peer's.
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

/** The address that stands `hops` from the right, counted from 1. */
function forwardedFor(header: string, hops: number): IpAddress | undefined {
  const written = header.split(",").at(-hops)
  return written === undefined ? undefined : readIpAddress(written.trim())
}
