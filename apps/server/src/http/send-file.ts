/** Files that change with a release only: pages, their scripts, the API description. */
import type { Context } from "hono"
import { namesEtag } from "./conditional.ts"

export type ServedFile = { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string }

/** Minutes in which nobody needs to ask again. */
const CACHED = "public, max-age=300"

/** Sends a file, or nothing to who has it. */
export function sendFile(c: Context, { type, bytes, etag }: ServedFile): Response {
  const headers = { ETag: etag, "Cache-Control": CACHED }
  if (namesEtag(c.req.header("If-None-Match"), etag)) return c.body(null, 304, headers)
  return c.body(bytes, 200, { ...headers, "Content-Type": type })
}
