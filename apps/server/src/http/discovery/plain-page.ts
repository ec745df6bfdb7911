/** Pages that the server renders: text and links, the style sheet that all pages share, no script. */
import { ICON, siteHeader } from "@runseal/verify-page/face/site-header"
import { html, raw } from "hono/html"

export type PlainPage = {
  readonly html: string
  /** Content-Security-Policy: style sheet and typeface of this service, and nothing else. */
  readonly policy: string
}

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** What a template literal of `hono/html` gives: text in which every value is escaped. */
export type Markup = ReturnType<typeof html>

type PageParts = {
  readonly title: string
  /** From the page to the root of the service, relative: a proxy may add a prefix. */
  readonly root: string
  /** Made by `html`, which escapes every value. */
  readonly body: Markup
}

/** A whole page. */
export async function plainPage({ title, root, body }: PageParts): Promise<PlainPage> {
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="${ICON}">
<title>${title}</title>
<link rel="stylesheet" href="${root}console/assets/site.css">
</head>
<body>
${raw(siteHeader({ root }))}
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`
  return { html: page.toString(), policy: POLICY }
}
