/** *Admin audit*: what administrators did, each sealed in a chain of its own. */
import { actorText } from "@runseal/core/presentation/account"
import { eventsPageSchema, type ListedEvent } from "@runseal/core/wire/admin-answers"
import { address, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { empty, heading, readable } from "../parts/pieces.ts"
import { knownFilters, show, type Visit } from "../visit.ts"

const PATH = "/console/audit"
const PAGE_SIZE = 50
/** Parameters of the address, as the API names them. */
const FILTERS = ["action", "subject_kind", "subject_id"] as const

const EXPORT = html`<a class="button plain" href="/admin/audit/export" download="runseal-admin-events.ndjson">Export, for the verifier</a>`

const item = (event: ListedEvent): Markup => {
  const { ordinal, who, action, subject, event_clock, before, after, sealed } = event
  const details = [
    ["Before", before],
    ["After", after],
  ] as const
  return html`<li class="event"><p><a href="${address(PATH, { action })}"><strong>${action}</strong></a> <a href="${address(PATH, { subject_kind: subject.kind, subject_id: subject.id })}">${subject.kind.replaceAll("_", " ")} ${subject.id}</a></p>
<p class="quiet">${ordinal} · ${time(event_clock)} · ${actorText(who)} · ${sealed === undefined ? "being sealed" : html`<a href="/log/entry/${sealed.log_index}">entry ${sealed.log_index}</a> · <a href="/admin/audit/${ordinal}" download="runseal-admin-event-${ordinal}.json">sealed event</a>`}</p>
${details.map(([name, state]) => (state === undefined ? "" : html`<details><summary>${name}</summary>${readable(state)}</details>`))}</li>`
}

export async function auditPage(visit: Visit): Promise<Response> {
  const { c } = visit
  knownFilters(c, [...FILTERS, "before"])
  const filters = Object.fromEntries(FILTERS.map(name => [name, c.req.query(name) || undefined]))
  const path = address("/admin/audit", { ...filters, before: c.req.query("before"), limit: PAGE_SIZE })
  const { events, next } = await visit.api.get(path, eventsPageSchema)
  const shown = FILTERS.flatMap(name => filters[name] ?? [])
  const body = html`${heading("Admin audit", "Every action of an administrator is sealed, as a link of a chain: the verifier finds one in an export that was changed or left out.", EXPORT)}
${shown.length === 0 ? "" : html`<p>Those of ${shown.join(" ")}. <a href="${PATH}">All actions</a></p>`}
${events.length === 0 ? empty(shown.length === 0 ? "No administrator has changed anything yet." : "There is no such action.") : html`<ol class="events">${events.map(item)}</ol>`}
<nav class="pages" aria-label="Pages">${next === undefined ? "" : html`<a rel="next" href="${address(PATH, { ...filters, before: next })}">Older actions</a>`}</nav>`
  return show(visit, { title: "Admin audit", body })
}
