/** One request for an approval: all that a person needs to decide on it, and the decision itself. */
import { canonicalize } from "@runseal/canonical"
import { type ShownAct, shownAct } from "@runseal/core/artifacts/act-section"
import {
  type ApprovalRecord,
  approvalPage as addressOf,
  approvalRecordSchema,
  COMPARED_REQUESTS_MAX,
  type DecidedApproval,
  decidedApprovalSchema,
} from "@runseal/core/wire/approval-answers"
import { ApiRefusal, isRefusal, type Refusal } from "../api.ts"
import {
  actValue,
  approvalLabel,
  approvalsFor,
  decisionItem,
  isOpen,
  ownDecision,
  personName,
  progress,
  ruleText,
  timeLeft,
} from "../parts/approval-pieces.ts"
import { everyCharacter, everyLine } from "../parts/characters.ts"
import { declaredSections, NOTHING_DECLARED, WITHHELD_DECLARED } from "../parts/declared-pieces.ts"
import { number, plural, seconds, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { payloadTree } from "../parts/payload-tree.ts"
import { facts, formTokens, heading, named, refused } from "../parts/pieces.ts"
import { administers, answerForm, type Field, formOf, show, statusOf, type Visit } from "../visit.ts"
import { decideCard } from "./decide-card.ts"

export const APPROVAL_PATH = "/console/approval"

type ActValue = ShownAct["values"][number]

/** The id of the address. @throws ApiRefusal 404 for a text that is none */
function idOf({ c }: Visit): string {
  const id = c.req.query("id") ?? ""
  if (/^apr-[0-9a-f]{32}$/.test(id)) return id
  throw new ApiRefusal({ status: 404, code: "not_found", error: "There is no such request for an approval." })
}

export async function requestPage(visit: Visit): Promise<Response> {
  const record = await visit.api.get(`/approvals/${idOf(visit)}`, approvalRecordSchema)
  const { rejections, route_id } = record
  const body = html`<p class="back"><a href="/console/approvals">Approvals</a></p>
${heading(route_id, html`${approvalLabel(record)} ${progress(record)}${isOpen(record) ? html`, ${timeLeft(record)}` : ""}`)}
${visit.news ?? ""}
${rejections.length === 0 ? "" : rejectedCard(rejections)}
${actCard(record)}${askedCard(record)}${rulesCard(record)}${termsCard(record)}${declaredCard(record)}${payloadCard(record)}
${decisionsCard(visit, record)}
${await decideCard(visit, record)}`
  return show(visit, { title: `Approval of ${route_id}`, body, islands: ["approval.js"] })
}

const rejectedCard = (rejections: ApprovalRecord["rejections"]): Markup =>
  html`<section class="card warned"><h2>The same act was rejected before</h2><ul class="decisions">${rejections.map(one => decisionItem(one, html`<a href="${addressOf(one.approval_id)}">that request</a>`))}</ul></section>`

function actCard(record: ApprovalRecord): Markup {
  const act = record.request.sections.act && shownAct(record.request.sections.act)
  if (act === undefined)
    return html`<section class="card"><h2>The act</h2><p>No act table reads payloads of this route: what is asked for is in the payload alone.</p></section>`
  const before = record.approved_before?.act
  const values = act.values.map(value => {
    const last = before?.values.find(({ name }) => name === value.name)
    const differs = before !== undefined && !isSame(value, last)
    const was = last === undefined ? "not there" : actValue(last)
    return html`<div ${differs ? html`class="changed"` : ""}><dt>${value.name} <span class="quiet">${value.type}</span></dt><dd><span class="large">${actValue(value)}</span>${differs ? html`<span class="was"><span class="label warn">changed</span> last time ${was}</span>` : ""}<span class="at quiet">at <code>${everyCharacter(value.at)}</code></span></dd></div>`
  })
  const gone = before?.values.filter(({ name }) => act.values.every(value => value.name !== name)) ?? []
  return html`<section class="card"><h2>The act: ${act.table}</h2><dl class="act">${values}</dl>${gone.map(value => html`<p><span class="label warn">gone</span> ${value.name}: last time ${actValue(value)}</p>`)}
${comparedText(record)}</section>`
}

const isSame = (one: ActValue, other: ActValue | undefined): boolean =>
  other !== undefined && one.type === other.type && canonicalize(one.value) === canonicalize(other.value)

/** With what the values are compared. */
function comparedText({ approved_before: before, payload }: ApprovalRecord): Markup | "" {
  if (before === undefined)
    return payload === undefined
      ? ""
      : html`<p class="quiet">Among the last ${number(COMPARED_REQUESTS_MAX)} requests of this key before this one, none of this route that you may see got a permit: there is nothing to compare it with.</p>`
  const approved = before.decisions.filter(({ decision }) => decision === "approve")
  const names = approved.map((one, index) => html`${index === 0 ? "" : ", "}${personName(one)}`)
  const link = html`<a href="${addressOf(before.approval_id)}">last one of its kind</a>`
  return html`<p class="quiet">Compared with the ${link}, ${time(before.requested_at)}, approved by ${names}.${before.act === undefined ? " No act table read that one." : ""}</p>`
}

function rulesCard({ needed, decisions, state }: ApprovalRecord): Markup {
  const rules = needed.map(rule => {
    const given = approvalsFor(rule, decisions)
    const names = given.map((one, index) => html`${index === 0 ? "" : ", "}${personName(one)}`)
    return html`<li class="rule"><p><code>${rule.rule_id}</code> ${ruleText(rule)}</p><p>${given.length === 0 ? html`<span class="quiet">Nobody has approved yet.</span>` : html`Approved by ${names}: ${Math.min(given.length, rule.count)} of ${rule.count}`}</p></li>`
  })
  const once =
    needed.length > 1 && state === "waiting" ? html`<p class="quiet">A person counts for one of these rules.</p>` : ""
  return html`<section class="card"><h2>Whose approval is needed</h2><ul class="rules">${rules}</ul>${once}</section>`
}

function askedCard({ end_user, asked_by, expires_at, requested_at }: ApprovalRecord): Markup {
  return html`<section class="card"><h2>Who asks</h2>${facts([
    ["Asked by", asked_by === undefined ? "a caller without a key" : html`key ${everyCharacter(asked_by)}`],
    [
      "End user",
      end_user === undefined
        ? html`<span class="quiet">none</span>`
        : html`${everyCharacter(end_user.subject)} <span class="quiet">of ${everyCharacter(end_user.issuer)}</span>`,
    ],
    ["Asked at", time(requested_at)],
    ["Until", time(expires_at)],
  ])}</section>`
}

/** What else was sealed of the request: the terms of the permit, and by what a program knows it. */
function termsCard(record: ApprovalRecord): Markup {
  const { request, audience, program_id, route_id, run_id, permit_id } = record
  const { policy_name } = request.sections.policy_evaluation
  return html`<section class="card"><h2>The terms</h2><p>For ${everyCharacter(audience)}: one act, within ${seconds(request.valid_for_seconds)} of the permit.</p><details><summary>All terms</summary>${facts(
    [
      ["Route", named(route_id)],
      ["Audience", everyCharacter(audience)],
      [
        "Permit",
        `for one act, valid for ${seconds(request.valid_for_seconds)}; to be closed within ${seconds(request.close_within_seconds)} more`,
      ],
      ["Tokens reserved", number(request.reserve_tokens)],
      ["Policy", everyCharacter(policy_name)],
      ["Became", permit_id === undefined ? undefined : html`permit <code>${permit_id}</code>`],
      ["Became", run_id === undefined ? undefined : `the refused run ${run_id}`],
      ["Program", html`<code>${program_id}</code>`],
      ["Request", html`<code>${record.approval_id}</code>`],
      ["Its digest", html`<code>${record.request_digest}</code>`],
    ],
  )}</details></section>`
}

/** The longest declared sections that are shown as trees, in UTF-16 units together: as long as a payload. */
const DECLARED_TREES_MAX_LENGTH = 65_536

/**
 * What the caller declared besides the payload. Approvers that it names have approved nothing. It may be sixteen times as long as a payload, and a
 * tree of that would keep the service from all else for seconds.
 */
function declaredCard({ request: { sections } }: ApprovalRecord): Markup {
  const present = declaredSections(sections).map(({ name, declared }) => ({
    name,
    text: declared === undefined ? undefined : canonicalize(declared),
  }))
  const length = present.reduce((sum, { text = "" }) => sum + text.length, 0)
  const contentOf = (text: string): Markup => {
    const tree = length > DECLARED_TREES_MAX_LENGTH ? undefined : payloadTree(text, [])
    return tree?.markup ?? html`<p class="payload-text">${everyLine(text)}</p>`
  }
  const shown = present.map(
    ({ name, text }) =>
      html`<details><summary>${name}</summary><div class="payload">${text === undefined ? WITHHELD_DECLARED : contentOf(text)}</div></details>`,
  )
  const inner =
    present.length === 0
      ? NOTHING_DECLARED
      : html`<p class="quiet">Sealed as the caller declared it. Nobody checked whether it is true.</p>${shown}`
  return html`<section class="card"><h2>Declared by the caller</h2>${inner}</section>`
}

/** What people decided, with the buttons that delete comments: an administrator deletes those of all, everybody else the own. */
function decisionsCard(visit: Visit, record: ApprovalRecord): Markup {
  const { decisions } = record
  const { session } = visit
  const own = administers(visit) ? undefined : ownDecision(record, session)
  const items = decisions.map(one =>
    decisionItem(
      one,
      "",
      one === own && one.comment !== undefined ? deleteForm(visit, record, "Delete my comment") : "",
    ),
  )
  const isCommented = decisions.some(({ comment }) => comment !== undefined)
  const all = administers(visit) && isCommented ? deleteForm(visit, record, "Delete all comments") : ""
  return html`<section class="card"><h2>Decisions so far</h2>${decisions.length === 0 ? html`<p class="quiet">Nobody has decided yet.</p>` : html`<ul class="decisions">${items}</ul>`}${all}</section>`
}

const deleteForm = ({ session }: Visit, { approval_id }: ApprovalRecord, text: string): Markup =>
  html`<details><summary>${text}</summary><form method="post" action="${addressOf(approval_id)}">${formTokens(session.csrf_token)}
<p>The decision stays as it is sealed, with the hash of the comment. Nobody can read the comment here any more.</p>
<p class="buttons"><button name="action" value="delete_comments" class="danger">${text}</button></p></form></details>`

/** Its last line is what has to be seen before *Approve* is active. */
function payloadCard({ payload, request, state }: ApprovalRecord): Markup {
  const { payload_bytes, payload_hash } = request.sections.payload
  const head = html`<h2>The whole payload</h2>`
  if (payload === undefined) {
    const why = isOpen({ state })
      ? "It is not shown to you, or its key is gone."
      : "It is not stored any more: the request is over."
    return html`<section class="card">${head}<p>${why} The sealed request has its hash: <code>${payload_hash}</code></p></section>`
  }
  const act = request.sections.act && shownAct(request.sections.act)
  const tree = payloadTree(payload, act?.values ?? [])
  const lead =
    tree === undefined
      ? html`<p>It is not read as JSON, and no rule reads it. It is shown as a text.</p>`
      : html`<p><strong>${plural(tree.unread, "member")} that no rule reads</strong>, of ${number(tree.members)}. <span class="quiet">A name in a frame is the value of the act that was read there.</span></p>`
  const shown = tree === undefined ? html`<p class="payload-text">${everyLine(payload)}</p>` : tree.markup
  return html`<section class="card">${head}${lead}<div class="payload">${shown}</div>
<p id="payload-end" class="quiet">End of the payload, ${plural(payload_bytes, "byte")}. <span class="nowrap"><b class="char">U+…</b> is a character</span> that would not be seen, or not as what it is.</p></section>`
}

/** What a form of the page asks for. */
export async function approvalForm(visit: Visit): Promise<Response> {
  const field = await formOf(visit.c)
  return field("action") === "delete_comments" ? commentsForm(visit) : decisionForm(visit, field)
}

async function commentsForm(visit: Visit): Promise<Response> {
  const id = idOf(visit)
  const done = await visit.api.change("DELETE", `/approvals/${id}/comments`, decidedApprovalSchema)
  const text = administers(visit) ? "The comments are deleted." : "The comment is deleted."
  return answerForm<DecidedApproval>(visit, done, {
    path: addressOf(id),
    news: () => ({ tone: "good", text }),
    page: requestPage,
  })
}

/** The decision is on the document that the page showed, and on no other. */
async function decisionForm(visit: Visit, field: Field): Promise<Response> {
  const { c, api } = visit
  const id = idOf(visit)
  const comment = field("comment").replaceAll("\r\n", "\n")
  const withPasskey = field("decision") === "passkey"
  const decided = await api.change("POST", `/approvals/${id}/decision`, decidedApprovalSchema, {
    request_digest: field("request_digest"),
    decision: withPasskey ? "approve" : field("decision"),
    ...(comment === "" ? {} : { comment }),
    ...(withPasskey && comment !== "" ? { comment_salt: field("comment_salt") } : {}),
    ...(withPasskey ? { passkey: signedOf(field) } : {}),
  })
  if (isRefusal(decided) && decided.code === "sign_in_again")
    return c.redirect(`/console/sign-in?${new URLSearchParams({ again: "", next: addressOf(id) })}`, 303)
  return answerForm<DecidedApproval>(visit, decided, {
    path: addressOf(id),
    news: ({ state }) =>
      state === "waiting"
        ? { tone: "good", text: "You approved. Others have to approve as well." }
        : field("decision") !== "reject"
          ? { tone: "good", text: "You approved, and it is enough: the permit can be collected." }
          : { tone: "warn", text: "You rejected. The request is over." },
    page: refusedVisit => undecidedPage(refusedVisit, id, isRefusal(decided) ? decided : undefined, comment),
  })
}

/** What the browser put into the form once the passkey had signed. */
const signedOf = (field: Field): object => ({
  passkey_id: field("passkey_id"),
  authenticator_data: field("authenticator_data"),
  client_data_json: field("client_data_json"),
  signature: field("signature"),
})

/** It does not show the request anew: who decides again has to look at it again. */
function undecidedPage(visit: Visit, id: string, refusal: Refusal | undefined, comment: string): Promise<Response> {
  const body = html`<p class="back"><a href="/console/approvals">Approvals</a></p>${heading("Nothing was decided")}
${refusal === undefined ? "" : refused(refusal)}${refusal?.code === "approval_over" ? html`<p>The request changed or is over since its page was loaded. Load it again to see what became of it.</p>` : ""}
<p><a class="button" href="${addressOf(id)}">Load the request again</a></p>
${comment === "" ? "" : html`<p class="quiet">Your comment was:</p><blockquote>${comment}</blockquote>`}`
  return show(visit, { title: "Nothing was decided", body, status: refusal === undefined ? 503 : statusOf(refusal) })
}
