/** *Approvals*: what waits for the visitor, and what became of the rest. With the page of one approval it is all that an approver sees. */
import { type ApprovalSummary, approvalPage, approvalsPageSchema } from "@runseal/core/wire/approval-answers"
import { isRefusal } from "../api.ts"
import { actValue, approvalLabel, isOpen, ownDecision, progress, timeLeft } from "../parts/approval-pieces.ts"
import { everyCharacter } from "../parts/characters.ts"
import { address, plural, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { empty, facts, heading, named, refused } from "../parts/pieces.ts"
import { knownFilters, show, type Visit } from "../visit.ts"

export const APPROVALS_PATH = "/console/approvals"

/** Waiting requests of one page. */
const PAGE_SIZE = 20
/** Newest requests among which those that wait no more are looked for, and how many of them are shown. */
const LATELY = 50
const LATELY_SHOWN = 10
/** Values of an act that a list shows. */
const VALUES_SHOWN = 6

export async function approvalsPage(visit: Visit): Promise<Response> {
  const { c, api, session } = visit
  knownFilters(c, ["before"])
  const before = c.req.query("before") || undefined
  const [waiting, newest] = [
    await api.ask(address("/approvals", { state: "waiting", before, limit: PAGE_SIZE }), approvalsPageSchema),
    before === undefined ? await api.ask(address("/approvals", { limit: LATELY }), approvalsPageSchema) : undefined,
  ]
  if (isRefusal(waiting)) return show(visit, { title: "Approvals", body: html`${HEADING}${refused(waiting)}` })
  const mine = waiting.approvals.filter(one => ownDecision(one, session) === undefined)
  const others = waiting.approvals.filter(one => ownDecision(one, session) !== undefined)
  const lately =
    newest === undefined || isRefusal(newest)
      ? []
      : newest.approvals.filter(({ state }) => state !== "waiting").slice(0, LATELY_SHOWN)
  const older =
    waiting.next === undefined
      ? ""
      : html`<nav class="pages" aria-label="Pages"><a rel="next" href="${address(APPROVALS_PATH, { before: waiting.next })}">Older ones that wait</a></nav>`
  const body = html`${HEADING}${mine.length === 0 ? empty("No approval waits for you.") : list(mine)}
${others.length === 0 ? "" : html`<h2>You decided, others have not yet</h2>${list(others)}`}${older}
${lately.length === 0 ? "" : html`<h2>Lately decided or ended</h2>${list(lately)}`}`
  return show(visit, { title: "Approvals", body, live: true })
}

const HEADING = heading("Approvals", "What an agent wants to do and may not do alone.")

const list = (approvals: readonly ApprovalSummary[]): Markup => html`<ul class="asked">${approvals.map(item)}</ul>`

function item(one: ApprovalSummary): Markup {
  const { approval_id, route_id, act, end_user, asked_by, requested_at } = one
  const values = act?.values ?? []
  const more = values.length - VALUES_SHOWN
  return html`<li class="card"><h3><a href="${approvalPage(approval_id)}">${named(route_id)}</a></h3>
<p class="states">${approvalLabel(one)} <span>${progress(one)}</span>${isOpen(one) ? html` <span class="quiet">${timeLeft(one)}</span>` : ""}</p>
${facts([
  ...values.slice(0, VALUES_SHOWN).map(value => [value.name, actValue(value)] as const),
  ...(more > 0 ? [["", `and ${plural(more, "value")} more`] as const] : []),
  ["Asked by", asked_by === undefined ? "a caller without a key" : everyCharacter(asked_by)],
  ["End user", end_user && everyCharacter(end_user.subject)],
  ["Asked at (UTC)", shortTime(requested_at)],
])}</li>`
}
