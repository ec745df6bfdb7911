/** *Deliveries*: the receivers of events, how far each is, and what an administrator does to one. */
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import {
  type Delivery,
  type DeliveryFault,
  type DeliveryList,
  deliveryListSchema,
  type ResumedDestination,
  resumedDestinationSchema,
  testedDestinationSchema,
} from "@runseal/core/wire/delivery-messages"
import {
  changedDestinationSchema,
  createdDestinationSchema,
  DESTINATION_KINDS,
  type Destination,
  deletedDestinationSchema,
  destinationListSchema,
  EVENT_FORMATS,
  type RotatedDestination,
  rotatedDestinationSchema,
} from "@runseal/core/wire/event-messages"
import { isRefusal } from "../api.ts"
import type { News } from "../news.ts"
import { number, plural, seconds, shortTime, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { empty, facts, formTokens, heading, label, notice, table } from "../parts/pieces.ts"
import { OUTCOME_NAMES } from "../parts/run-words.ts"
import {
  administers,
  answerForm,
  type Field,
  formOf,
  overlapFields,
  overlapOf,
  show,
  typedNumber,
  type Visit,
} from "../visit.ts"

const PATH = "/console/deliveries"

const nameOf = ({ id, name }: Pick<Delivery, "id" | "name">): string => (name === "" ? `Destination ${id}` : name)

function stateLabel({ active, last_error, backlog }: Delivery): Markup {
  if (!active) return label("warn", "–", "paused")
  if (last_error !== undefined) return label("bad", "✗", "failing")
  return backlog > 0 ? label("info", "○", "behind") : label("good", "✓", "up to date")
}

/** Why a receiver did not take an event. */
const FAULT_NAMES: Readonly<Record<DeliveryFault, string>> = {
  unreachable: "it cannot be reached",
  timed_out: "it did not answer in time",
  tls_failed: "TLS failed",
  address_refused: "its address is not allowed",
  refused: "it refused",
}

const faultText = ({ last_error }: Delivery): string =>
  last_error === undefined
    ? ""
    : `${FAULT_NAMES[last_error.fault]}${last_error.status === undefined ? "" : `, HTTP ${last_error.status}`}`

/** What deliveries that fail or lag show in short. */
const row = (delivery: Delivery): Markup =>
  html`<tr><td class="long"><a href="${PATH}/${delivery.id}">${nameOf(delivery)}</a></td><td>${delivery.kind}</td><td class="nowrap">${stateLabel(delivery)}</td><td class="figure">${number(delivery.backlog)}</td><td class="nowrap">${delivery.lag_seconds === 0 ? html`<span class="quiet">none</span>` : seconds(delivery.lag_seconds)}</td><td class="nowrap">${shortTime(delivery.delivered_at)}</td><td class="long">${faultText(delivery)}</td></tr>`

export async function deliveriesPage(visit: Visit): Promise<Response> {
  const { deliveries } = await visit.api.get("/admin/deliveries", deliveryListSchema)
  const form = administers(visit)
    ? html`<section class="card"><h2>New destination</h2>${newDestinationForm(visit.session.csrf_token)}</section>`
    : ""
  const body = html`${heading("Deliveries", "Receivers of events. What one of them has not taken stays in the log and is sent when it answers again: nothing is lost.")}${visit.news ?? ""}
${
  deliveries.length === 0
    ? empty("Events are delivered to nobody.", html`They can be asked for: <code>GET /admin/events</code>.`)
    : table(
        "Deliveries",
        ["Name", "Kind", "State", "Backlog", "Behind", "Last taken (UTC)", "Last error"],
        deliveries.map(row),
      )
}${form}`
  return show(visit, { title: "Deliveries", body, live: true })
}

export async function newDestination(visit: Visit): Promise<Response> {
  const request = newDestinationRequest(await formOf(visit.c))
  const made = await visit.api.change("POST", "/admin/destinations", createdDestinationSchema, request)
  return answerForm(visit, made, {
    path: PATH,
    news: ({ destination, secret, position }) =>
      secret === undefined
        ? { tone: "good", text: `${nameOf(destination)} gets events from position ${position} on.` }
        : { tone: "good", text: `The secret by which ${nameOf(destination)} verifies events.`, secret },
    page: deliveriesPage,
  })
}

export async function deliveryPage(visit: Visit): Promise<Response> {
  const id = Number(visit.c.req.param("id"))
  const [list, destinations] = await Promise.all([
    visit.api.get("/admin/deliveries", deliveryListSchema),
    administers(visit) ? visit.api.get("/admin/destinations", destinationListSchema) : undefined,
  ])
  const delivery = list.deliveries.find(one => one.id === id)
  if (delivery === undefined)
    return deliveriesPage({ ...visit, news: notice("warn", `There is no destination ${id}.`) })
  const destination = destinations?.destinations.find(one => one.id === id)
  const body = html`<p class="back"><a href="${PATH}">Deliveries</a></p>${heading(nameOf(delivery), stateLabel(delivery))}${visit.news ?? ""}${failure(delivery)}
<section class="card"><h2>How far it is</h2>${progress(delivery, list)}</section>
${destination === undefined ? "" : html`<section class="card"><h2>What it gets</h2>${setting(destination)}</section>${destinationForms(destination, delivery, visit.session.csrf_token)}`}`
  return show(visit, { title: nameOf(delivery), body })
}

function failure(delivery: Delivery): Markup | "" {
  const { last_error, failing_since, failures = 0, next_try_at } = delivery
  if (last_error === undefined || failing_since === undefined) return ""
  return notice(
    "bad",
    html`<p><strong>It has taken no events since ${time(failing_since)}:</strong> ${faultText(delivery)}. ${plural(failures, "try failed", "tries failed")}${next_try_at === undefined || !delivery.active ? "" : html`, the next is at ${time(next_try_at)}`}.</p>`,
  )
}

const progress = ({ position, backlog, lag_seconds, delivered_at }: Delivery, { log_size }: DeliveryList): Markup =>
  facts([
    ["Position", html`${number(position)} of ${number(log_size)} log entries`],
    [
      "Backlog",
      backlog === 0
        ? "none"
        : html`${plural(backlog, "entry", "entries")} of the log, the oldest for ${seconds(lag_seconds)}`,
    ],
    ["Last taken", delivered_at === undefined ? "never" : time(delivered_at)],
  ])

const listOf = (values: readonly (string | number)[]): string => (values.length === 0 ? "all" : values.join(", "))

const setting = ({ kind, format, url, types, outcomes, key_ids, created_at, created_by }: Destination): Markup =>
  facts([
    ["Address", html`<code>${url}</code>`],
    ["Kind", kind],
    ["Format", format],
    ["Types", listOf(types)],
    ["Outcomes", listOf(outcomes)],
    ["Keys", listOf(key_ids)],
    ["Made", html`${time(created_at)} by ${created_by === undefined ? "a person" : html`key ${created_by}`}`],
  ])

/** Does what the form of a destination asks for. */
export async function deliveryAction(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const path = `/admin/destinations/${id}`
  const field = await formOf(visit.c)
  const { change } = visit.api
  const answer = { path: `${PATH}/${id}`, page: deliveryPage }
  const withText = (text: string) => ({ ...answer, news: () => ({ tone: "good", text }) as const })
  switch (field("action")) {
    case "test": {
      const done = await change("POST", `${path}/test`, testedDestinationSchema, {})
      return answerForm(visit, done, { ...answer, news: ({ error }) => testNews(error) })
    }
    case "rotate": {
      const overlap_seconds = overlapOf(field)
      const done = isRefusal(overlap_seconds)
        ? overlap_seconds
        : await change("POST", `${path}/rotate`, rotatedDestinationSchema, { overlap_seconds })
      const news = ({ secret }: RotatedDestination): News => ({ tone: "good", text: "The new secret.", secret })
      return answerForm(visit, done, { ...answer, news })
    }
    case "resume": {
      const from = typedNumber(field("from"))
      const done = await change("POST", `${path}/resume`, resumedDestinationSchema, { from })
      const news = ({ position }: ResumedDestination): News => ({
        tone: "good",
        text: `The next position to deliver is ${number(position)}.`,
      })
      return answerForm(visit, done, { ...answer, news })
    }
    case "delete":
      return answerForm(visit, await change("DELETE", path, deletedDestinationSchema), {
        ...withText("Deleted."),
        path: PATH,
      })
    default: {
      const active = field("action") === "continue"
      const done = await change("PATCH", path, changedDestinationSchema, { active })
      return answerForm(visit, done, withText(active ? "Deliveries go on." : "Deliveries are paused."))
    }
  }
}

const testNews = (error: Delivery["last_error"]): News =>
  error === undefined
    ? { tone: "good", text: "The receiver took a test event." }
    : {
        tone: "bad",
        text: `The receiver did not take a test event: ${FAULT_NAMES[error.fault]}${error.status === undefined ? "" : `, HTTP ${error.status}`}.`,
      }

// The forms of a destination, and how what was typed in them becomes a request.

const newDestinationForm = (
  csrf: string | undefined,
): Markup => html`<form method="post" action="${PATH}">${formTokens(csrf)}
<div class="fields"><label class="wide">Address<input name="url" required maxlength="2048" placeholder="https://siem.example/hooks/runseal" autocomplete="off" spellcheck="false"></label>
<label>Name<input name="name" maxlength="128" autocomplete="off"></label>
<label>Kind<select name="kind">${DESTINATION_KINDS.map(kind => html`<option>${kind}</option>`)}</select></label>
<label>Format<select name="format">${EVENT_FORMATS.map(format => html`<option>${format}</option>`)}</select></label>
<label>Outcomes<select name="outcomes"><option value="">all</option><option value="refused">all but passed</option>${OUTCOME_KINDS.map(kind => html`<option value="${kind}">${OUTCOME_NAMES[kind]}</option>`)}</select></label></div>
<p class="buttons"><button>Deliver events there</button></p></form>`

function outcomesOf(text: string): object {
  if (text === "") return {}
  return { outcomes: text === "refused" ? OUTCOME_KINDS.filter(kind => kind !== "ok") : [text] }
}

const newDestinationRequest = (field: Field): object => ({
  url: field("url"),
  ...Object.fromEntries(["name", "kind", "format"].flatMap(name => (field(name) === "" ? [] : [[name, field(name)]]))),
  ...outcomesOf(field("outcomes")),
})

/** What an administrator does to a destination. */
function destinationForms(destination: Destination, { position }: Delivery, csrf: string | undefined): Markup {
  const form = (action: string, fields: Markup): Markup =>
    html`<form method="post" action="${PATH}/${destination.id}">${formTokens(csrf)}<input type="hidden" name="action" value="${action}">${fields}</form>`
  const button = (text: string, kind = ""): Markup =>
    html`<p class="buttons"><button class="${kind}">${text}</button></p>`
  const pause = destination.active
    ? html`<p>Nothing is lost while it is paused.</p>${form("pause", button("Pause"))}`
    : html`<p>It is paused. It gets what was sealed meanwhile.</p>${form("continue", button("Go on"))}`
  const rotate = html`<section class="card"><h2>Rotate the secret</h2>${form(
    "rotate",
    html`${overlapFields("signs")}${button("Rotate the secret")}`,
  )}</section>`
  return html`<div class="columns even"><div>
<section class="card"><h2>Try it</h2><p>Sends a test event now.</p>${form("test", button("Send a test event"))}</section>
<section class="card"><h2>${destination.active ? "Pause" : "Go on"}</h2>${pause}</section>
${destination.kind === "webhook" ? rotate : ""}
</div><div>
<section class="card"><h2>Set the position</h2><p>Ahead to skip an event that the receiver refuses for ever, or back to send events again.</p>${form(
    "resume",
    html`<label>Next position to deliver<input name="from" required inputmode="numeric" pattern="[0-9]*" value="${position}"></label>${button("Set the position", "plain")}`,
  )}</section>
<section class="card"><h2>Delete</h2>${form(
    "delete",
    html`<label class="check"><input type="checkbox" name="sure" value="yes" required> I want to deliver nothing to it any more</label>${button("Delete", "danger")}`,
  )}</section>
</div></div>`
}
