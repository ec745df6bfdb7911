/** `GET /openapi.json` and `GET /docs`: what the service offers, for programs and for people. */
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { utf8Encode } from "@runseal/canonical"
import type { Deps } from "../../deps.ts"
import { notFound } from "../../http-error.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import { readPageFiles } from "../discovery/docs-page.ts"
import type { Handlers } from "../endpoint-routes.ts"
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

export function discoveryRoutes({ baseUrl }: Deps): Handlers {
  const document = lazily(() => documentFile(baseUrl))
  const file = (name: string): ServedFile => {
    const found = docs().files.get(name)
    if (found === undefined) throw notFound("There is no such file.")
    return found
  }
  return {
    openapi: c => sendFile(c, document()),
    docs: c => sendFile(c, docs().page),
    docs_file: c => sendFile(c, file(c.req.param("file") ?? "")),
  }
}
