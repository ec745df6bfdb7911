/** *Admin audit*: what administrators did, each sealed in a chain of its own. */
import { actorText } from "@runseal/core/presentation/account"
import { eventsPageSchema, type ListedEvent } from "@runseal/core/wire/admin-answers"
import { address, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { empty, heading, readable, table } from "../parts/pieces.ts"
import { knownFilters, show, type Visit } from "../visit.ts"

const PATH = "/console/audit"
const PAGE_SIZE = 50
/** Parameters of the address, as the API names them. */
const FILTERS = ["action", "subject_kind", "subject_id"] as const

const EXPORT = html`<a class="button plain" href="/admin/audit/export" download="runseal-admin-events.ndjson">Export, for the verifier</a>`

const COLUMNS = ["No.", "Time (UTC)", "Who", "Action", "On", "Change", "Sealed"]

/** Characters of an id that are shown: those of an approval are longer than a line. */
const ID_SHOWN = 16
const shortId = (id: string): Markup | string =>
  id.length <= ID_SHOWN ? id : html`<span title="${id}">${id.slice(0, ID_SHOWN)}…</span>`

const row = ({ ordinal, who, action, subject, event_clock, before, after, sealed }: ListedEvent): Markup => {
  const states = [
    ["before", before],
    ["after", after],
  ] as const
  const on = address(PATH, { subject_kind: subject.kind, subject_id: subject.id })
  return html`<tr><td>${ordinal}</td><td class="nowrap">${shortTime(event_clock)}</td><td class="key">${actorText(who)}</td><td class="nowrap"><a href="${address(PATH, { action })}">${action}</a></td><td class="long"><a href="${on}">${subject.kind.replaceAll("_", " ")} ${shortId(subject.id)}</a></td>
<td class="change">${states.map(([name, state]) => (state === undefined ? "" : html`<details><summary>${name}</summary>${readable(state)}</details>`))}</td>
<td class="nowrap">${sealed === undefined ? "being sealed" : html`<a href="/log/entry/${sealed.log_index}">entry ${sealed.log_index}</a> <a href="/admin/audit/${ordinal}" download="runseal-admin-event-${ordinal}.json">event</a>`}</td></tr>`
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
${events.length === 0 ? empty(shown.length === 0 ? "No administrator has changed anything yet." : "There is no such action.") : table("Actions, newest first", COLUMNS, events.map(row), "audit")}
<nav class="pages" aria-label="Pages">${next === undefined ? "" : html`<a rel="next" href="${address(PATH, { ...filters, before: next })}">Older actions</a>`}</nav>`
  return show(visit, { title: "Admin audit", body, live: true })
}
