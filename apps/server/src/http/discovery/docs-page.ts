/**
 * The files of `GET /docs`: Swagger UI as its package ships it, and a page that loads it. What starts it has the console among its assets. Every file is on this list; the
 * name in a request never reaches the file system.
 */

import { utf8Encode } from "@runseal/canonical"
import { siteHeader } from "@runseal/verify-page/face/site-header"
import { readSwaggerUiFile } from "#swagger-ui"
import type { ServedFile } from "../served-file.ts"
import { entityTag } from "../served-file.ts"

/** Addresses are relative, so that the page works behind a proxy that adds a prefix. */
const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Runseal API</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png" />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
    <link rel="stylesheet" href="console/assets/docs.css" />
  </head>
  <body>
    ${siteHeader({ root: "", here: "docs" })}
    <main id="main" tabindex="-1"><div id="api"></div></main>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="console/assets/docs.js"></script>
  </body>
</html>
`

const JAVASCRIPT = "text/javascript; charset=utf-8"

/** What is served of Swagger UI. */
export const SWAGGER_UI_FILES: readonly (readonly [name: string, type: string])[] = [
  ["swagger-ui.css", "text/css; charset=utf-8"],
  ["swagger-ui-bundle.js", JAVASCRIPT],
  ["favicon-32x32.png", "image/png"],
]

type DocsPage = {
  readonly page: ServedFile
  /** What the page loads, by name. */
  readonly files: ReadonlyMap<string, ServedFile>
}

const pageFile = (type: string, bytes: Uint8Array): ServedFile => ({
  type,
  bytes: new Uint8Array(bytes),
  etag: entityTag(bytes),
})

/** The page and its files. The page is not one of the files: its links are relative to its own address. */
export function readPageFiles(): DocsPage {
  const shipped = SWAGGER_UI_FILES.map(([name, type]) => [name, pageFile(type, readSwaggerUiFile(name))] as const)
  return {
    page: pageFile("text/html; charset=utf-8", utf8Encode(HTML)),
    files: new Map(shipped),
  }
}
