/** Files that change only with a release: pages, their scripts, the API description. */
import { sha256Hex } from "@runseal/canonical"
import type { Context } from "hono"

/** The strong entity tag of these bytes: their hash. */
export const entityTag = (bytes: Uint8Array): string => `"${sha256Hex(bytes)}"`

/** Whether an If-None-Match field names the entity tag: then the answer is 304 without a body. Weak comparison, as a GET wants it. */
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const strong = (tag: string): string => tag.trim().replace(/^W\//, "")
  return ifNoneMatch.split(",").some(tag => tag.trim() === "*" || strong(tag) === strong(etag))
}

/** Whether a browser asks, to show a page to a person; programs get JSON. */
export const readsPages = (c: Context): boolean => c.req.header("Accept")?.includes("text/html") === true

export type ServedFile = { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string }

/** How long a browser may use its cached copy without a request, in seconds. */
const CACHED = "public, max-age=300"

/** Sends a file; 304 without a body when the client has this version. */
export function sendFile(c: Context, { type, bytes, etag }: ServedFile): Response {
  const headers = { ETag: etag, "Cache-Control": CACHED }
  if (namesEtag(c.req.header("If-None-Match"), etag)) return c.body(null, 304, headers)
  return c.body(bytes, 200, { ...headers, "Content-Type": type })
}
