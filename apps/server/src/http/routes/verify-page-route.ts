/** `GET /verify`, `GET /public/runs/{token}` and `GET /shared/{token}`: one page, which verifies in the visitor's browser. */
import { utf8Encode } from "@runseal/canonical"
import { endingOf } from "@runseal/core/presentation/account"
import { OUTCOMES, withMark } from "@runseal/core/vocabulary/outcomes"
import { siteHeader } from "@runseal/verify-page/face/site-header"
import { loadPage } from "@runseal/verify-page/load-page"
import type { Context } from "hono"
import { html } from "hono/html"
import type { Deps } from "../../deps.ts"
import type { PublishedFacts } from "../../store/tables/publications-table.ts"
import type { SharedRun } from "../../store/tables/shares-table.ts"
import { plainPage } from "../discovery/plain-page.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { entityTag, readsPages, type ServedFile, sendFile } from "../served-file.ts"
import { noSuchPublication, publishedFacts } from "./publications-routes.ts"
import { nothingShared, sharedRun } from "./shares-routes.ts"

/** For everybody, without a key. */
export function verifyPageRoutes(deps: Deps): Handlers {
  return {
    verify_page: async c => {
      const page = await verifyPage()
      c.header("Content-Security-Policy", page.policy)
      return sendFile(c, page)
    },
    public_run: async c => {
      c.header("Vary", "Accept")
      const facts = await publishedFacts(deps, c.req.param("token") ?? "")
      if (facts !== undefined) return sendFile(c, await pageOf(c, publishedAs(facts)))
      if (!readsPages(c)) throw noSuchPublication()
      return sendNothing(c, await nothingPublished())
    },
    shared_run: async c => {
      c.header("Vary", "Accept")
      const found = await sharedRun(c, deps)
      if (found !== undefined) {
        const { bytes, type } = await pageOf(c, sharedAs(found, c.req.param("token") ?? ""))
        return c.body(bytes, 200, { "Content-Type": type })
      }
      if (!readsPages(c)) throw nothingShared()
      return sendNothing(c, await nothingSharedPage())
    },
  }
}

const sendNothing = (c: Context, page: Awaited<ReturnType<typeof plainPage>>): Response =>
  c.body(page.html, 404, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": page.policy,
  })

const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`

type RunFacts = Pick<PublishedFacts, "run_id" | "outcome_kind" | "enforcement" | "closing_outcome" | "created_at">
/** A run, and how its page came to be. */
type Linked = {
  readonly facts: RunFacts
  /** From its page to the root of the service, relative. */
  readonly root: string
  /** For the title: by whom, and when or until when. */
  readonly title: string
  readonly sentence: string
  /** Behind the sentence. */
  readonly more?: ReturnType<typeof html>
}

const publishedAs = (facts: PublishedFacts): Linked => {
  const { created_at, published_at, publisher } = facts
  const published = `published by ${publisher} ${minuteOf(published_at)}.`
  return {
    facts,
    root: "../../",
    title: `published by ${publisher}, ${minuteOf(published_at)}`,
    sentence: `Made ${minuteOf(created_at)}, ${published}`,
  }
}

const sharedAs = (facts: SharedRun, token: string): Linked => {
  const { created_at, made_by_name, expires_at } = facts
  const until = `shared by ${made_by_name} until ${minuteOf(expires_at)}`
  return {
    facts,
    root: "../",
    title: until,
    sentence: `Made ${minuteOf(created_at)}, ${until}.`,
    more: html` <a href="${token}/report.pdf">Report</a> (PDF)`,
  }
}

/**
 * The page of /verify with the run in its title, its description and its heading: what the server states, for previews of links and while
 * the record is being verified. The page itself says below what the record proves.
 */
async function pageOf(c: Context, { facts, root, title: linked, sentence: made, more }: Linked): Promise<ServedFile> {
  const { run_id, outcome_kind } = facts
  const mark = facts.enforcement === "" ? {} : { enforcement: facts.enforcement }
  const failed = facts.closing_outcome === "failed"
  const sentence = `${withMark(OUTCOMES[outcome_kind].sentence, mark)}${failed ? " Its act failed." : ""}`
  const title = `Run ${run_id}${endingOf(outcome_kind, mark, failed ? { act: "; its act failed" } : {})}`
  const named = `${title}, ${linked}`
  const head = await html`<title>${named}</title>
<meta name="description" content="${`${sentence} ${made}`}">
<meta property="og:title" content="${named}">
<meta property="og:description" content="${sentence}">`
  const heading = await html`<h1>${title}</h1>
<p class="hint">${made}${more ?? ""}</p>`
  const page = await verifyPage()
  const text = page.html
    .replace(/<title>[^<]*<\/title>/, () => head.toString())
    .replace(/<h1>[^<]*<\/h1>/, () => heading.toString())
    .replace(HEAD, () => siteHeader({ root }))
  const bytes = new Uint8Array(utf8Encode(text))
  c.header("Content-Security-Policy", page.policy)
  return { type: page.type, bytes, etag: entityTag(bytes) }
}

/** The head as the page of /verify has it. */
const HEAD = siteHeader({ root: "", here: "verify" })

const nothingPublished = () =>
  plainPage({
    title: "Nothing is published here",
    root: "../../",
    body: html`<h1>Nothing is published here</h1>
<p>No run is published under this address: it was mistyped, or the run was withdrawn. Ask the person who sent you the address.</p>
<p>If you have the record as a file, <a href="../../verify">verify it in your browser</a>.</p>`,
  })

const nothingSharedPage = () =>
  plainPage({
    title: "Nothing is shared here",
    root: "../",
    body: html`<h1>Nothing is shared here</h1>
<p>The address was mistyped, or its time is over, or it was ended before. Ask the person who sent it to you for another one.</p>
<p>If you have the record as a file, <a href="../verify">verify it in your browser</a>.</p>`,
  })

// The page that verifies records in the visitor's browser. Decision 0050.

type VerifyPageFile = ServedFile & {
  readonly html: string
  /** Content-Security-Policy: the page's own, and that no other page frames it. */
  readonly policy: string
}

async function load(): Promise<VerifyPageFile> {
  const { html, policy } = await loadPage()
  const bytes = new Uint8Array(utf8Encode(html))
  return {
    html,
    type: "text/html; charset=utf-8",
    bytes,
    etag: entityTag(bytes),
    policy: `${policy}; frame-ancestors 'none'`,
  }
}

let loading: Promise<VerifyPageFile> | undefined

/** Loaded by the first request and cached; requests meanwhile wait for the same load, and a failure is not cached. */
export function verifyPage(): Promise<VerifyPageFile> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}
