/** *Shared*: what is read without a key, by links that end and by publications, and how both are ended. */
import { type Publication, publicationsPageSchema } from "@runseal/core/wire/admin-answers"
import { unpublishedRunSchema } from "@runseal/core/wire/key-requests"
import { revokedShareSchema, type Share, sharesPageSchema } from "@runseal/core/wire/share-messages"
import { address, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { empty, formTokens, heading, table } from "../parts/pieces.ts"
import { administers, answerForm, formOf, knownFilters, numberOf, shares, show, type Visit } from "../visit.ts"

const PATH = "/console/shared"
const PAGE_SIZE = 50

/** The page of a form that ends something, and where its answer leads. */
type Place = { readonly path: string; readonly page: (visit: Visit) => Promise<Response> }

/** The page for people of an address that the API gives for programs. */
export const pageOf = (bundleUrl: string): string => bundleUrl.replace(/\/bundle\.json$/, "")

/** Whether the visitor may end a link: an auditor ends its own. @param made_by id of the key that made it */
export const ends = (visit: Visit, made_by: number): boolean =>
  administers(visit) || (shares(visit) && made_by === visit.session.key_id)

/** Ends a link. @param id its number, as the form has it */
export async function endLink(visit: Visit, id: string, { path, page }: Place): Promise<Response> {
  const done = await visit.api.change("DELETE", `/admin/shares/${encodeURIComponent(id)}`, revokedShareSchema)
  const news = ({ share_id }: { readonly share_id: number }) =>
    ({ tone: "good", text: `Nothing is read under link ${share_id} any more.` }) as const
  return answerForm(visit, done, { path, page, news })
}

/** Withdraws a publication. @param run its number, as the form has it */
export async function withdraw(visit: Visit, run: string, { path, page }: Place): Promise<Response> {
  const target = `/admin/runs/${encodeURIComponent(run)}/unpublish`
  const done = await visit.api.change("POST", target, unpublishedRunSchema)
  const news = ({ run_id }: { readonly run_id: number }) =>
    ({ tone: "good", text: `Run ${run_id} is not published any more. Copies may be served for an hour.` }) as const
  return answerForm(visit, done, { path, page, news })
}

/** A button that ends something, in a form of its own. */
const ending = (visit: Visit, name: "share" | "run", id: number, text: string): Markup =>
  html`<form method="post" action="${PATH}">${formTokens(visit.session.csrf_token)}<button name="${name}" value="${id}" class="plain">${text}</button></form>`

const runLink = ({ run_id }: Share | Publication): Markup => html`<a href="/console/runs/${run_id}">${run_id}</a>`
/** Runs of open mode belong to no key. */
const keyLink = ({ key_id }: Share | Publication): Markup | string =>
  key_id === 0 ? "none" : html`<a href="${address("/console/runs", { key: key_id })}">${key_id}</a>`

/** The API lists links that work, and no token: none is stored. */
function linkList(links: readonly Share[], visit: Visit): Markup {
  if (links.length === 0)
    return empty(
      "No link works now.",
      shares(visit) ? html`Make one on the page of a <a href="/console/runs">run</a>.` : undefined,
    )
  const rows = links.map(
    link =>
      html`<tr><td>${link.share_id}</td><td>${runLink(link)}</td><td class="nowrap">${shortTime(link.expires_at)}</td><td>${ends(visit, link.made_by) ? ending(visit, "share", link.share_id, "End it") : ""}</td><td>${link.made_by}</td><td>${keyLink(link)}</td><td class="nowrap">${shortTime(link.made_at)}</td></tr>`,
  )
  return table(
    "Links",
    ["Link", "Run", "Works until (UTC)", "End", "Made by key", "Run of key", "Made (UTC)"],
    rows,
    "acts",
  )
}

function publicationList(published: readonly Publication[], visit: Visit): Markup {
  if (published.length === 0) return empty("No run is published.")
  const rows = published.map(
    one =>
      html`<tr><td>${runLink(one)}</td><td class="nowrap"><a href="${pageOf(one.url)}">its page</a></td><td>${administers(visit) ? ending(visit, "run", one.run_id, "Withdraw") : ""}</td><td>${keyLink(one)}</td><td class="nowrap">${shortTime(one.published_at)}</td></tr>`,
  )
  return table("Published runs", ["Run", "Address", "End", "Run of key", "Published (UTC)"], rows, "acts")
}

export async function sharedPage(visit: Visit): Promise<Response> {
  const { c, api, session } = visit
  knownFilters(c, ["before", "published_before"])
  const places = { before: numberOf(c, "before"), published_before: numberOf(c, "published_before") }
  const [{ shares: links, next }, { published, next: publishedNext }] = await Promise.all([
    api.get(address("/admin/shares", { before: places.before, limit: PAGE_SIZE }), sharesPageSchema),
    api.get(address("/admin/published", { before: places.published_before, limit: PAGE_SIZE }), publicationsPageSchema),
  ])
  const older = (text: string, place: { readonly before?: number; readonly published_before?: number }): Markup =>
    html`<nav class="pages" aria-label="${text}"><a rel="next" href="${address(PATH, { ...places, ...place })}">${text}</a></nav>`
  const body = html`${heading("Shared", "What is read without a key, by everybody who has its address.")}${visit.news ?? ""}
<section><h2>Links</h2>
<p class="quiet">Those that work now. ${session.reads === undefined ? html`<a href="/console/audit?action=run.share">Admin audit</a> has all that were made.` : ""}</p>
${linkList(links, visit)}${next === undefined ? "" : older("Older links", { before: next })}
</section>
<section><h2>Published runs</h2>
<p class="quiet">They stay public until they are withdrawn.</p>
${publicationList(published, visit)}${publishedNext === undefined ? "" : older("Older publications", { published_before: publishedNext })}
</section>`
  return show(visit, { title: "Shared", body })
}

/** Ends a link or withdraws a publication. */
export async function endSharing(visit: Visit): Promise<Response> {
  const field = await formOf(visit.c)
  const place = { path: PATH, page: sharedPage }
  return field("run") === "" ? endLink(visit, field("share"), place) : withdraw(visit, field("run"), place)
}
