/** `GET /openapi.json` and `GET /docs`: what the service offers, for programs and for people. */
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { utf8Encode } from "@runseal/canonical"
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { notFound } from "../../http-error.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import { readPageFiles } from "../discovery/docs-page.ts"
import { entityTag, type ServedFile, sendFile } from "../served-file.ts"

/** Made by the first call and cached. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function documentFile(baseUrl: string | undefined): ServedFile {
  const bytes = new Uint8Array(utf8Encode(JSON.stringify(openApiDocument(SERVICE_VERSION, baseUrl))))
  return { type: "application/json", bytes, etag: entityTag(bytes) }
}

const docs = lazily(readPageFiles)

export function discoveryRoutes({ baseUrl }: Deps): Hono {
  const app = new Hono()
  const document = lazily(() => documentFile(baseUrl))
  const file = (name: string): ServedFile => {
    const found = docs().files.get(name)
    if (found === undefined) throw notFound("There is no such file.")
    return found
  }
  app.get("/openapi.json", c => sendFile(c, document()))
  app.get("/docs", c => sendFile(c, docs().page))
  app.get("/docs/:file", c => sendFile(c, file(c.req.param("file"))))
  return app
}
