/** Pages that the server renders: text and links, one style sheet, no script. */
import { encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import { html, raw } from "hono/html"

export type PlainPage = {
  readonly html: string
  /** Content-Security-Policy: its style sheet and nothing else. */
  readonly policy: string
}

const STYLE = `:root{color-scheme:light dark;--ink:#1b2430;--soft:#55606e;--ground:#f5f6f8;--line:#c9d0d8;--accent:#1d5c8f}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#a3adba;--ground:#12161c;--line:#3a4452;--accent:#7db8ea}}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,"Segoe UI",Roboto,Arial,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
a{color:var(--accent)}
dt{color:var(--soft)}
dd{margin:0 0 .5rem;overflow-wrap:anywhere}
code{font:.9em ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;border:1px solid var(--line);border-radius:.3rem;padding:.6rem}
pre code{overflow-wrap:normal}`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${encodeBase64(sha256(utf8Encode(STYLE)))}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** What a template literal of `hono/html` gives: text in which every value is escaped. */
export type Markup = ReturnType<typeof html>

/** @param body made by `html`, which escapes every value */
export async function plainPage(title: string, body: Markup): Promise<PlainPage> {
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
  return { html: page.toString(), policy: POLICY }
}
