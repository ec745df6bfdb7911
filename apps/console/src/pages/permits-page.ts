/** *Permits*: decisions before an act, and what became of them. */
import type { PermitEnd } from "@runseal/core/artifacts/permit-end"
import { adminPermitRecordSchema, adminPermitsPageSchema } from "@runseal/core/wire/admin-answers"
import {
  type PermitRecord,
  type PermitSummary,
  permitRecordSchema,
  permitsPageSchema,
} from "@runseal/core/wire/permit-answers"
import { PERMIT_STATES } from "@runseal/core/wire/permit-requests"
import { isRefusal, type Refusal } from "../api.ts"
import { address, number, shortHash, shortTime, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, facts, heading, refused, table, whole } from "../parts/pieces.ts"
import { filterOf, knownFilters, numberOf, seesAll, show, type Visit } from "../visit.ts"
import { ownPage } from "./own-pages.ts"

const PATH = "/console/permits"
const PAGE_SIZE = 50

type State = PermitSummary["state"]
const TONES: Readonly<Record<State, string>> = { open: "info", closed: "good", ended: "warn", refused: "warn" }
const SIGNS: Readonly<Record<State, string>> = { open: "○", closed: "✓", ended: "–", refused: "■" }

/** Permits of open mode belong to no key. */
const keyName = (id: number): string => (id === 0 ? "none" : `${id}`)

export const permitLabel = (state: State): Markup =>
  html`<span class="label ${TONES[state]}"><span aria-hidden="true">${SIGNS[state]}</span> ${state}</span>`

type Found = { readonly permits: readonly (PermitSummary & { readonly key_id?: number })[]; readonly next?: string }

/** What the address of a list says. */
type View = { readonly state: State | undefined; readonly key: string | undefined }

async function findPermits(visit: Visit, { state, key }: View, before: string | undefined): Promise<Found | Refusal> {
  if (seesAll(visit))
    return visit.api.ask(address("/admin/permits", { key, state, before, limit: PAGE_SIZE }), adminPermitsPageSchema)
  const found = await ownPage({ before, limit: PAGE_SIZE }, async (offset, limit) => {
    const page = await visit.api.ask(address("/permits", { state, offset, limit }), permitsPageSchema)
    return isRefusal(page) ? page : { total: page.total, rows: page.permits }
  })
  return isRefusal(found) ? found : { permits: found.rows, ...(found.next === undefined ? {} : { next: found.next }) }
}

export async function permitsPage(visit: Visit): Promise<Response> {
  const { c } = visit
  knownFilters(c, ["state", ...(seesAll(visit) ? ["key"] : []), "before"])
  const state = filterOf(c, "state", PERMIT_STATES)
  const view = { state, key: numberOf(c, "key") }
  const before = seesAll(visit) ? c.req.query("before") || undefined : numberOf(c, "before")
  const found = await findPermits(visit, view, before)
  const link = (one: State | undefined, text: string): Markup =>
    html`<li><a href="${address(PATH, { ...view, state: one })}" ${one === state ? html`aria-current="true"` : ""}>${text}</a></li>`
  const body = html`${heading("Permits", "A permit is the decision before the act; its close seals what became of it.")}
<ul class="chips" aria-label="State">${link(undefined, "All")}${PERMIT_STATES.map(one => link(one, one))}</ul>
${view.key === undefined ? "" : html`<p>Those of key ${view.key}. <a href="${address(PATH, { state })}">Those of all keys</a></p>`}
${isRefusal(found) ? refused(found) : list(found, view, before)}`
  return show(visit, { title: "Permits", body })
}

function list({ permits, next }: Found, view: View, before: string | undefined): Markup {
  if (permits.length === 0) return empty(nothingOf(view, before))
  const rows = permits.map(
    ({ permit_id, state: its, audience, route_id, reserve_tokens, opened_at, close_by, run_id, key_id }) =>
      html`<tr><td class="nowrap"><a href="${PATH}/${permit_id}"><code>${permit_id.slice(4, 12)}…</code></a></td><td>${permitLabel(its)}</td><td class="long">${clipped(route_id)}</td><td class="name">${clipped(audience)}</td>${key_id === undefined ? "" : html`<td><a href="${address(PATH, { key: key_id })}">${keyName(key_id)}</a></td>`}<td class="figure">${number(reserve_tokens)}</td><td class="nowrap">${shortTime(opened_at)}</td><td class="nowrap">${shortTime(close_by)}</td><td>${run_id === undefined ? "" : html`<a href="/console/runs/${run_id}">${run_id}</a>`}</td></tr>`,
  )
  const isOfAll = permits.some(({ key_id }) => key_id !== undefined)
  const columns = [
    "Permit",
    "State",
    "Route",
    "Audience",
    ...(isOfAll ? ["Key"] : []),
    "Tokens",
    "Opened (UTC)",
    "Close by",
    "Run",
  ]
  return html`${table("Permits, newest first", columns, rows)}<nav class="pages" aria-label="Pages">${next === undefined ? "" : html`<a rel="next" href="${address(PATH, { ...view, before: next })}">Older permits</a>`}</nav>`
}

function nothingOf({ state, key }: View, before: string | undefined): string {
  if (before !== undefined) return "There are no older permits."
  const ofKey = key === undefined ? "" : ` of key ${key}`
  return state === undefined ? `No permit${ofKey} was opened yet.` : `No permit${ofKey} is ${state}.`
}

export async function permitPage(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const path = `${seesAll(visit) ? "/admin" : ""}/permits/${id}`
  const found: PermitRecord & { readonly key_id?: number } = seesAll(visit)
    ? await visit.api.get(path, adminPermitRecordSchema)
    : await visit.api.get(path, permitRecordSchema)
  const { state, redeemed_at, run_id, end, key_id } = found
  const short = id.slice(4, 12)
  const body = html`<p class="back"><a href="${PATH}">Permits</a></p>${heading(`Permit ${short}…`, permitLabel(state))}
<section class="card">${facts([
    ["Permit", html`<code>${id}</code>`],
    ["Route", whole(found.route_id)],
    ["Audience", found.audience],
    [
      "Key",
      key_id === undefined ? undefined : html`<a href="${address(PATH, { key: key_id })}">${keyName(key_id)}</a>`,
    ],
    ["Program", shortHash(found.program_id)],
    ["Tokens reserved", number(found.reserve_tokens)],
    ["Opened", time(found.opened_at)],
    ["Act until", time(found.expires_at)],
    ["Close by", time(found.close_by)],
    ["Redeemed", redeemed_at === undefined ? "no" : time(redeemed_at)],
    ["Ended", end && endText(end, id)],
    ["Run", run_id === undefined ? undefined : html`<a href="/console/runs/${run_id}">Run ${run_id}</a>`],
    [
      "Documents",
      html`<a href="${path}" download="runseal-permit-${short}.json">opening and end</a>, as they are sealed`,
    ],
  ])}</section>`
  return show(visit, { title: `Permit ${short}`, body })
}

/** How a permit ended, and what became of its tokens. */
function endText({ reason, openings }: PermitEnd, permitId: string): string {
  const ended = openings.find(({ permit_id }) => permit_id === permitId)
  if (ended === undefined) return reason
  return "released" in ended
    ? `${reason}; ${number(ended.released)} tokens released`
    : `${reason}; redeemed, so the act was started, and nobody reported it: ${number(ended.charged)} tokens stay charged`
}
