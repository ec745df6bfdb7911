/** `GET /openapi.json` and `GET /docs`: what the service offers, for programs and for people. */
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Context } from "hono"
import { Hono } from "hono"
import type { Deps } from "../deps.ts"
import { PAGE, type PageFile, readPageFiles } from "../discovery/docs-page.ts"
import { openApiDocument } from "../discovery/openapi.ts"
import { namesEtag } from "../http/conditional.ts"
import { notFound } from "../http/http-error.ts"

/** Minutes in which nobody needs to ask again: both change with a release only. */
const CACHED = "public, max-age=300"

function send(c: Context, { type, bytes, etag }: PageFile): Response {
  const headers = { ETag: etag, "Cache-Control": CACHED }
  if (namesEtag(c.req.header("If-None-Match"), etag)) return c.body(null, 304, headers)
  return c.body(bytes, 200, { ...headers, "Content-Type": type })
}

/** Made when it is first asked for. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function documentFile(baseUrl: string | undefined): PageFile {
  const bytes = new Uint8Array(utf8Encode(JSON.stringify(openApiDocument(baseUrl))))
  return { type: "application/json", bytes, etag: `"${sha256Hex(bytes)}"` }
}

const pageFiles = lazily(readPageFiles)

export function discoveryRoutes({ baseUrl }: Deps): Hono {
  const app = new Hono()
  const document = lazily(() => documentFile(baseUrl))
  const file = (name: string): PageFile => {
    const found = pageFiles().get(name)
    if (found === undefined) throw notFound("There is no such file.")
    return found
  }
  app.get("/openapi.json", c => send(c, document()))
  app.get("/docs", c => send(c, file(PAGE)))
  app.get("/docs/:file", c => send(c, file(c.req.param("file"))))
  return app
}
