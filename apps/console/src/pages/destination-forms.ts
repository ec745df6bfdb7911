/** The forms of a destination, and how what was typed in them becomes a request. */
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import type { Delivery } from "@runseal/core/wire/delivery-messages"
import { DESTINATION_KINDS, type Destination, EVENT_FORMATS } from "@runseal/core/wire/event-messages"
import { html, type Markup } from "../parts/markup.ts"
import { OUTCOME_NAMES } from "../parts/outcome-names.ts"
import { formTokens } from "../parts/pieces.ts"

const PATH = "/console/deliveries"

/** What was typed; a number that is none goes on as it is, and the API says what is wrong with it. */
export const typedNumber = (text: string): number | string => (/^\d{1,16}$/.test(text) ? Number(text) : text)

export const newDestinationForm = (
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

export const newDestinationRequest = (field: (name: string) => string): object => ({
  url: field("url"),
  ...(field("name") === "" ? {} : { name: field("name") }),
  ...(field("kind") === "" ? {} : { kind: field("kind") }),
  ...(field("format") === "" ? {} : { format: field("format") }),
  ...outcomesOf(field("outcomes")),
})

/** What an administrator does to a destination. */
export function destinationForms(destination: Destination, { position }: Delivery, csrf: string | undefined): Markup {
  const form = (action: string, fields: Markup): Markup =>
    html`<form method="post" action="${PATH}/${destination.id}">${formTokens(csrf)}<input type="hidden" name="action" value="${action}">${fields}</form>`
  const button = (text: string, kind = ""): Markup =>
    html`<p class="buttons"><button class="${kind}">${text}</button></p>`
  const pause = destination.active
    ? html`<p>Nothing is lost while it is paused.</p>${form("pause", button("Pause"))}`
    : html`<p>It is paused. It gets what was sealed meanwhile.</p>${form("continue", button("Go on"))}`
  const rotate = html`<section class="card"><h2>Rotate the secret</h2>${form(
    "rotate",
    html`<label>The old secret still signs for<select name="overlap_seconds"><option value="86400">a day</option><option value="3600">an hour</option><option value="604800">a week</option><option value="0">no time: it was leaked</option></select></label>${button("Rotate the secret")}`,
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
