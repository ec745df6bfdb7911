/** *Admin audit*: what administrators did, each sealed in a chain of its own. */
import { eventsPageSchema, type ListedEvent } from "@runseal/core/wire/admin-answers"
import { html } from "hono/html"
import { address, type Markup, time } from "../parts/format.ts"
import { empty, heading, readable } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

const PAGE_SIZE = 50

const item = (event: ListedEvent): Markup => {
  const { ordinal, who, action, subject, event_clock, before, after, sealed } = event
  const details = [
    ["Before", before],
    ["After", after],
  ] as const
  return html`<li class="event"><p><strong>${action}</strong> ${subject.kind.replaceAll("_", " ")} ${subject.id}</p>
<p class="quiet">${ordinal} · ${time(event_clock)} · ${who.name ?? who.actor} · ${sealed === undefined ? "being sealed" : html`<a href="/log/entry/${sealed.log_index}">entry ${sealed.log_index}</a>`}</p>
${details.map(([name, state]) => (state === undefined ? "" : html`<details><summary>${name}</summary>${readable(state)}</details>`))}</li>`
}

export async function auditPage(visit: Visit): Promise<Response> {
  const before = visit.c.req.query("before")
  const { events, next } = await visit.api.get(address("/admin/audit", { before, limit: PAGE_SIZE }), eventsPageSchema)
  const body = html`${heading("Admin audit", "Every action of an administrator is sealed: none can be changed or left out without it being seen.")}
${events.length === 0 ? empty("No administrator has changed anything yet.") : html`<ol class="events">${events.map(item)}</ol>`}
<nav class="pages" aria-label="Pages">${next === undefined ? "" : html`<a rel="next" href="${address("/console/audit", { before: next })}">Older actions</a>`}</nav>`
  return show(visit, { title: "Admin audit", body })
}
