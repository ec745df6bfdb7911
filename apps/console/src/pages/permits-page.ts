/** *Permits*: decisions before an act, and what became of them. */
import { canonicalize } from "@runseal/canonical"
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
import { clipped, empty, facts, heading, label, marked, named, refused, table } from "../parts/pieces.ts"
import { filterOf, knownFilters, numberOf, seesAll, show, type Visit } from "../visit.ts"

const PATH = "/console/permits"
const PAGE_SIZE = 50

type State = PermitSummary["state"]
/** That a permit is closed says nothing of its act, which may have failed. */
const TONES: Readonly<Record<State, "info" | "warn">> = { open: "info", closed: "info", ended: "warn", refused: "warn" }
const SIGNS: Readonly<Record<State, string>> = { open: "○", closed: "●", ended: "–", refused: "■" }

/** Permits of open mode belong to no key. */
const keyName = (id: number): string => (id === 0 ? "none" : `${id}`)

const permitLabel = ({ state, ...closed }: Pick<PermitSummary, "state" | "closing_outcome">): Markup =>
  marked(label(TONES[state], SIGNS[state], state), closed)

type Found = { readonly permits: readonly (PermitSummary & { readonly key_id?: number })[]; readonly next?: string }

/** What the address of a list says. */
type View = { readonly state: State | undefined; readonly key: string | undefined }

const findPermits = (visit: Visit, { state, key }: View, before: string | undefined): Promise<Found | Refusal> =>
  seesAll(visit)
    ? visit.api.ask(address("/admin/permits", { key, state, before, limit: PAGE_SIZE }), adminPermitsPageSchema)
    : visit.api.ask(address("/permits", { state, before, limit: PAGE_SIZE }), permitsPageSchema)

export async function permitsPage(visit: Visit): Promise<Response> {
  const { c } = visit
  knownFilters(c, ["state", ...(seesAll(visit) ? ["key"] : []), "before"])
  const state = filterOf(c, "state", PERMIT_STATES)
  const view = { state, key: numberOf(c, "key") }
  const before = c.req.query("before") || undefined
  const found = await findPermits(visit, view, before)
  const link = (one: State | undefined, text: string): Markup =>
    html`<li><a href="${address(PATH, { ...view, state: one })}" ${one === state ? html`aria-current="true"` : ""}>${text}</a></li>`
  const body = html`${heading("Permits", "A permit is the decision before the act; its close seals what its client reports of it.")}
<ul class="chips" aria-label="State">${link(undefined, "All")}${PERMIT_STATES.map(one => link(one, one))}</ul>
${view.key === undefined ? "" : html`<p>Those of key ${view.key}. <a href="${address(PATH, { state })}">Those of all keys</a></p>`}
${isRefusal(found) ? refused(found) : list(found, view, before)}`
  return show(visit, { title: "Permits", body, live: true })
}

function list({ permits, next }: Found, view: View, before: string | undefined): Markup {
  if (permits.length === 0) return empty(nothingOf(view, before))
  const rows = permits.map(permit => {
    const { permit_id, audience, route_id, reserve_tokens, opened_at, close_by, run_id, key_id } = permit
    return html`<tr><td class="nowrap"><a href="${PATH}/${permit_id}"><code>${permit_id.slice(4, 12)}…</code></a></td><td>${permitLabel(permit)}</td><td class="long">${clipped(route_id)}</td><td class="name">${clipped(audience)}</td>${key_id === undefined ? "" : html`<td><a href="${address(PATH, { key: key_id })}">${keyName(key_id)}</a></td>`}<td class="figure">${number(reserve_tokens)}</td><td class="nowrap">${shortTime(opened_at)}</td><td class="nowrap">${shortTime(close_by)}</td><td>${run_id === undefined ? "" : html`<a href="/console/runs/${run_id}">${run_id}</a>`}</td></tr>`
  })
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

type OnePermit = PermitRecord & { readonly key_id?: number }

const permitOf = (visit: Visit, id: string): Promise<OnePermit> =>
  seesAll(visit)
    ? visit.api.get(`/admin/permits/${id}`, adminPermitRecordSchema)
    : visit.api.get(`/permits/${id}`, permitRecordSchema)

export async function permitPage(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const found = await permitOf(visit, id)
  const { redeemed_at, run_id, end, key_id } = found
  const short = id.slice(4, 12)
  const body = html`<p class="back"><a href="${PATH}">Permits</a></p>${heading(`Permit ${short}…`, permitLabel(found))}
<section class="card">${facts([
    ["Permit", html`<code data-copy="${id}">${id}</code>`],
    ["Route", named(found.route_id)],
    ["Audience", named(found.audience)],
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
    ["Act, as reported", found.closing_outcome],
    ["Ended", end && endText(end, id)],
    ["Run", run_id === undefined ? undefined : html`<a href="/console/runs/${run_id}">Run ${run_id}</a>`],
    [
      "Documents",
      found.opening &&
        (end === undefined
          ? html`${document(id, "opening")}, as it is sealed: it verifies by itself`
          : html`${document(id, "opening")} and ${document(id, "end")}, as they are sealed: each verifies by itself`),
    ],
  ])}</section>`
  return show(visit, { title: `Permit ${short}`, body, live: true })
}

const document = (id: string, name: "opening" | "end"): Markup =>
  html`<a href="${PATH}/${id}/${name}.json" download="runseal-permit-${id.slice(4, 12)}-${name}.json">${name}</a>`

/** A sealed document of a permit, byte for byte, for a verifier. */
export const permitDocument =
  (name: "opening" | "end") =>
  async (visit: Visit): Promise<Response> => {
    const found = await permitOf(visit, visit.c.req.param("id") ?? "")
    const sealed = found[name]
    if (sealed === undefined) return visit.c.notFound()
    return visit.c.body(canonicalize(sealed), 200, { "Content-Type": "application/json" })
  }

/** How a permit ended, and what became of its tokens. */
function endText({ reason, openings }: PermitEnd, permitId: string): string {
  const ended = openings.find(({ permit_id }) => permit_id === permitId)
  if (ended === undefined) return reason
  return "released" in ended
    ? `${reason}; ${number(ended.released)} tokens released`
    : `${reason}; redeemed, so the act was started, and nobody reported it: ${number(ended.charged)} tokens stay charged`
}
