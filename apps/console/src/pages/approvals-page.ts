/** *Approvals*: what waits for the visitor, and what became of the rest. With the page of one approval it is all that an approver sees. */
import {
  type ApprovalSummary,
  type ApprovalsPage,
  approvalPage,
  approvalsPageSchema,
} from "@runseal/core/wire/approval-answers"
import { isRefusal } from "../api.ts"
import { actValue, approvalLabel, isOpen, ownDecision, progress, timeLeft } from "../parts/approval-pieces.ts"
import { everyCharacter } from "../parts/characters.ts"
import { address, plural, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, facts, heading, named, refused, table } from "../parts/pieces.ts"
import { filterOf, knownFilters, show, type Visit } from "../visit.ts"

export const APPROVALS_PATH = "/console/approvals"

/** Requests of one page. */
const PAGE_SIZE = 20
/** Values of an act that a list shows. */
const VALUES_SHOWN = 6

const VIEWS = ["waiting", "history"] as const
type View = (typeof VIEWS)[number]
const VIEW_NAMES: Readonly<Record<View, string>> = { waiting: "Waiting", history: "History" }

export async function approvalsPage(visit: Visit): Promise<Response> {
  const { c, api } = visit
  knownFilters(c, ["view", "before"])
  const view = filterOf(c, "view", VIEWS) ?? "waiting"
  const before = c.req.query("before") || undefined
  const state = view === "waiting" ? "waiting" : undefined
  const found = await api.ask(address("/approvals", { state, before, limit: PAGE_SIZE }), approvalsPageSchema)
  const body = html`${HEADING}${visit.news ?? ""}
<ul class="chips" aria-label="View">${VIEWS.map(one => html`<li><a href="${pathOf(one)}" ${one === view ? html`aria-current="true"` : ""}>${VIEW_NAMES[one]}</a></li>`)}</ul>
${isRefusal(found) ? refused(found) : view === "waiting" ? waitingLists(visit, found) : history(found)}${isRefusal(found) ? "" : olderLink(view, found)}`
  return show(visit, { title: "Approvals", body, live: true })
}

const pathOf = (view: View, before?: string): string =>
  address(APPROVALS_PATH, { view: view === "waiting" ? undefined : view, before })

const HEADING = heading("Approvals", "What an agent wants to do and may not do alone.")

const olderLink = (view: View, { next }: ApprovalsPage): Markup | "" =>
  next === undefined
    ? ""
    : html`<nav class="pages" aria-label="Pages"><a rel="next" href="${pathOf(view, next)}">${view === "waiting" ? "Older ones that wait" : "Older requests"}</a></nav>`

function waitingLists({ session }: Visit, { approvals }: ApprovalsPage): Markup {
  const mine = approvals.filter(one => ownDecision(one, session) === undefined)
  const others = approvals.filter(one => ownDecision(one, session) !== undefined)
  return html`${mine.length === 0 ? empty("No approval waits for you.") : list(mine)}
${others.length === 0 ? "" : html`<h2>You decided, others have not yet</h2>${list(others)}`}`
}

/** Every request that the visitor sees, one line each. */
function history({ approvals }: ApprovalsPage): Markup {
  if (approvals.length === 0) return empty("There is no request yet.")
  const rows = approvals.map(one => {
    const { approval_id, route_id, act, asked_by, decisions, requested_at } = one
    const values = (act?.values ?? []).slice(0, VALUES_SHOWN)
    return html`<tr><td class="long"><a href="${approvalPage(approval_id)}">${clipped(route_id)}</a></td><td>${approvalLabel(one)}</td><td class="long">${values.map(value => html`<span class="pair">${value.name} ${actValue(value)}</span> `)}</td><td class="name">${asked_by === undefined ? "" : clipped(asked_by)}</td><td class="name">${decisions.map(({ decision, name, subject }) => html`<span class="pair">${decision === "approve" ? "✓" : "✗"} ${everyCharacter(name ?? subject)}</span> `)}</td><td class="nowrap">${shortTime(requested_at)}</td></tr>`
  })
  return table("Requests, newest first", ["Route", "State", "Act", "Asked by", "Decided by", "Asked at (UTC)"], rows)
}

const list = (approvals: readonly ApprovalSummary[]): Markup => html`<ul class="asked">${approvals.map(item)}</ul>`

function item(one: ApprovalSummary): Markup {
  const { approval_id, route_id, act, end_user, asked_by, requested_at } = one
  const values = act?.values ?? []
  const more = values.length - VALUES_SHOWN
  return html`<li class="card"><h2><a href="${approvalPage(approval_id)}">${named(route_id)}</a></h2>
<p class="states">${approvalLabel(one)} <span>${progress(one)}</span>${isOpen(one) ? html` <span class="quiet">${timeLeft(one)}</span>` : ""}</p>
${facts([
  ...values.slice(0, VALUES_SHOWN).map(value => [value.name, html`<strong>${actValue(value)}</strong>`] as const),
  ...(more > 0 ? [["", `and ${plural(more, "value")} more`] as const] : []),
  ["Asked by", asked_by === undefined ? "a caller without a key" : everyCharacter(asked_by)],
  ["End user", end_user && everyCharacter(end_user.subject)],
  ["Asked at (UTC)", shortTime(requested_at)],
])}${isOpen(one) ? html`<p class="buttons"><a class="button" href="${approvalPage(approval_id)}">Read and decide</a></p>` : ""}</li>`
}
