/** *Permits*: decisions before an act, and what became of them. */
import { adminPermitRecordSchema, adminPermitsPageSchema } from "@runseal/core/wire/admin-answers"
import { type PermitSummary, permitRecordSchema, permitsPageSchema } from "@runseal/core/wire/permit-answers"
import { PERMIT_STATES } from "@runseal/core/wire/permit-requests"
import { html } from "hono/html"
import { isRefusal, type Refusal } from "../api.ts"
import { address, type Markup, number, shortHash, shortTime, time } from "../parts/format.ts"
import { empty, facts, heading, refused, table } from "../parts/pieces.ts"
import { filterOf, knownFilters, seesAll, show, type Visit } from "../visit.ts"

const PATH = "/console/permits"
const PAGE_SIZE = 50

type State = PermitSummary["state"]
const TONES: Readonly<Record<State, string>> = { open: "info", closed: "good", ended: "warn", refused: "warn" }
const SIGNS: Readonly<Record<State, string>> = { open: "○", closed: "✓", ended: "–", refused: "■" }

export const permitLabel = (state: State): Markup =>
  html`<span class="label ${TONES[state]}"><span aria-hidden="true">${SIGNS[state]}</span> ${state}</span>`

type Found = { readonly permits: readonly (PermitSummary & { readonly key_id?: number })[]; readonly next?: string }

async function findPermits(
  visit: Visit,
  state: State | undefined,
  before: string | undefined,
): Promise<Found | Refusal> {
  if (seesAll(visit))
    return visit.api.ask(address("/admin/permits", { state, before, limit: PAGE_SIZE }), adminPermitsPageSchema)
  const offset = Number(before ?? 0)
  const found = await visit.api.ask(address("/permits", { state, offset, limit: PAGE_SIZE }), permitsPageSchema)
  if (isRefusal(found)) return found
  const end = offset + found.permits.length
  return { permits: found.permits, ...(end < found.total ? { next: `${end}` } : {}) }
}

export async function permitsPage(visit: Visit): Promise<Response> {
  const { c } = visit
  knownFilters(c, ["state", "before"])
  const state = filterOf(c, "state", PERMIT_STATES)
  const found = await findPermits(visit, state, c.req.query("before"))
  const link = (one: State | undefined, text: string): Markup =>
    html`<li><a href="${address(PATH, { state: one })}" ${one === state ? html`aria-current="true"` : ""}>${text}</a></li>`
  const body = html`${heading("Permits", "A permit is the decision before the act; its close seals what became of it.")}
<ul class="chips" aria-label="State">${link(undefined, "All")}${PERMIT_STATES.map(one => link(one, one))}</ul>
${isRefusal(found) ? refused(found) : list(found, state)}`
  return show(visit, { title: "Permits", body })
}

function list({ permits, next }: Found, state: State | undefined): Markup {
  if (permits.length === 0) return empty(state === undefined ? "No permit was opened yet." : `No permit is ${state}.`)
  const rows = permits.map(
    ({ permit_id, state: its, audience, route_id, reserve_tokens, opened_at, close_by, run_id }) =>
      html`<tr><td class="nowrap"><a href="${PATH}/${permit_id}"><code>${permit_id.slice(4, 12)}…</code></a></td><td>${permitLabel(its)}</td><td class="long">${route_id}</td><td class="long">${audience}</td><td class="figure">${number(reserve_tokens)}</td><td class="nowrap">${shortTime(opened_at)}</td><td class="nowrap">${shortTime(close_by)}</td><td>${run_id === undefined ? "" : html`<a href="/console/runs/${run_id}">${run_id}</a>`}</td></tr>`,
  )
  const columns = ["Permit", "State", "Route", "Audience", "Tokens", "Opened (UTC)", "Close by", "Run"]
  return html`${table("Permits, newest first", columns, rows)}<nav class="pages" aria-label="Pages">${next === undefined ? "" : html`<a rel="next" href="${address(PATH, { state, before: next })}">Older permits</a>`}</nav>`
}

export async function permitPage(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const found = seesAll(visit)
    ? await visit.api.get(`/admin/permits/${id}`, adminPermitRecordSchema)
    : await visit.api.get(`/permits/${id}`, permitRecordSchema)
  const {
    state,
    audience,
    route_id,
    program_id,
    reserve_tokens,
    opened_at,
    expires_at,
    close_by,
    redeemed_at,
    run_id,
    end,
  } = found
  const body = html`<p class="back"><a href="${PATH}">Permits</a></p>${heading(`Permit ${id.slice(4, 12)}…`, permitLabel(state))}
<section class="card">${facts([
    ["Permit", html`<code>${id}</code>`],
    ["Route", route_id],
    ["Audience", audience],
    ["Program", shortHash(program_id)],
    ["Tokens reserved", number(reserve_tokens)],
    ["Opened", time(opened_at)],
    ["Act until", time(expires_at)],
    ["Close by", time(close_by)],
    ["Redeemed", redeemed_at === undefined ? "no" : time(redeemed_at)],
    ["Ended", end?.reason],
    ["Run", run_id === undefined ? undefined : html`<a href="/console/runs/${run_id}">Run ${run_id}</a>`],
  ])}</section>`
  return show(visit, { title: `Permit ${id.slice(4, 12)}`, body })
}
