/** Remote address of the connection. No header is believed: anyone can write one. */
import { getConnInfo } from "@hono/node-server/conninfo"
import type { Context } from "hono"

/** The peer's address; undefined when the request did not come over a socket. */
export function callerAddress(c: Context): string | undefined {
  const env: unknown = c.env
  const overSocket = typeof env === "object" && env !== null && "incoming" in env
  return overSocket ? getConnInfo(c).remote.address : undefined
}
