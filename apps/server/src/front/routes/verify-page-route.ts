/** `GET /verify` and `GET /public/runs/{token}`: one page, which verifies in the visitor's browser. */
import { utf8Encode } from "@runseal/canonical"
import { endingOf } from "@runseal/core/presentation/account"
import { OUTCOMES, withMark } from "@runseal/core/vocabulary/outcomes"
import type { Context } from "hono"
import { Hono } from "hono"
import { html } from "hono/html"
import type { Deps } from "../../deps.ts"
import type { PublishedFacts } from "../../store/tables/publications-table.ts"
import { plainPage } from "../discovery/plain-page.ts"
import { verifyPage } from "../discovery/verify-page.ts"
import { entityTag, readsPages, sendFile } from "../http/served-file.ts"
import { noSuchPublication, publishedFacts } from "./publications-routes.ts"

/** For everybody, without a key. */
export function verifyPageRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get("/verify", async c => {
    const page = await verifyPage()
    c.header("Content-Security-Policy", page.policy)
    return sendFile(c, page)
  })
  app.get("/public/runs/:token", async c => {
    c.header("Vary", "Accept")
    const facts = await publishedFacts(deps, c.req.param("token"))
    if (facts !== undefined) return await sendPublishedPage(c, facts)
    if (!readsPages(c)) throw noSuchPublication()
    const page = await nothingPublished()
    return c.body(page.html, 404, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": page.policy,
    })
  })
  return app
}

const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`

/**
 * The page of /verify with the run in its title, its description and its heading: what the server states, for previews of links and while
 * the record is being verified. The page itself says below what the record proves.
 */
async function sendPublishedPage(c: Context, facts: PublishedFacts): Promise<Response> {
  const { run_id, outcome_kind, created_at, published_at, publisher } = facts
  const mark = facts.enforcement === "" ? {} : { enforcement: facts.enforcement }
  const failed = facts.closing_outcome === "failed"
  const sentence = `${withMark(OUTCOMES[outcome_kind].sentence, mark)}${failed ? " Its act failed." : ""}`
  const title = `Run ${run_id}${endingOf(outcome_kind, mark, failed ? { act: "; its act failed" } : {})}`
  const published = `Made ${minuteOf(created_at)}, published by ${publisher} ${minuteOf(published_at)}.`
  const named = `${title}, published by ${publisher}, ${minuteOf(published_at)}`
  const head = await html`<title>${named}</title>
<meta name="description" content="${`${sentence} ${published}`}">
<meta property="og:title" content="${named}">
<meta property="og:description" content="${sentence}">`
  const heading = await html`<h1>${title}</h1>
<p class="hint">${published}</p>`
  const page = await verifyPage()
  const text = page.html
    .replace(/<title>[^<]*<\/title>/, () => head.toString())
    .replace(/<h1>[^<]*<\/h1>/, () => heading.toString())
  const bytes = new Uint8Array(utf8Encode(text))
  c.header("Content-Security-Policy", page.policy)
  return sendFile(c, { type: page.type, bytes, etag: entityTag(bytes) })
}

const nothingPublished = () =>
  plainPage(
    "Nothing is published here",
    html`<h1>Nothing is published here</h1>
<p>No run is published under this address: it was mistyped, or the run was withdrawn. Ask the person who sent you the address.</p>
<p>If you have the record as a file, <a href="../../verify">verify it in your browser</a>.</p>`,
  )
