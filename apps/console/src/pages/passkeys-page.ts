/** *Passkeys*: with which people sign what they approve. Each person has its own here; administrators confirm and revoke those of others. */
import { APPROVER_KEYS_KIND, type ApproverKeys } from "@runseal/core/artifacts/passkey"
import {
  PASSKEY_SIGN_IN_MAX_MS,
  PASSKEYS_OF_PERSON_MAX,
  type PasskeyList,
  type PasskeyState,
  type PasskeySummary,
  passkeyAnswerSchema,
  passkeyListSchema,
} from "@runseal/core/wire/passkey-messages"
import { ApiRefusal, isRefusal, type Refusal } from "../api.ts"
import type { News } from "../news.ts"
import { everyCharacter } from "../parts/characters.ts"
import { number, plural, time } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { empty, facts, formTokens, heading, label } from "../parts/pieces.ts"
import { administers, answerForm, formOf, show, type Visit } from "../visit.ts"

export const PASSKEYS_PATH = "/console/passkeys"

type Person = Pick<PasskeySummary, "issuer" | "subject">
const isOf = ({ issuer, subject }: Person, person: Person | undefined): boolean =>
  issuer === person?.issuer && subject === person.subject

/** Passkeys of a state, the visitor's own first: so many that these are all there. */
const ofState = ({ api }: Visit, state: PasskeyState): Promise<PasskeyList | Refusal> =>
  api.ask(`/passkeys?${new URLSearchParams({ state, limit: `${PASSKEYS_OF_PERSON_MAX}` })}`, passkeyListSchema)

/** The passkeys with which the person who visits can sign a decision on this console; none where the service refuses to say. */
export async function countingPasskeys(visit: Visit): Promise<readonly PasskeySummary[]> {
  const list = await ofState(visit, "counts")
  if (isRefusal(list)) return []
  const { enrolment, passkeys } = list
  return passkeys.filter(one => isOf(one, visit.session.person) && one.origin === enrolment?.origin)
}

export async function passkeysPage(visit: Visit): Promise<Response> {
  const { person } = visit.session
  const list = await visit.api.get("/passkeys", passkeyListSchema)
  const own = list.passkeys.filter(one => isOf(one, person))
  const others = list.passkeys.filter(one => !isOf(one, person))
  const seesOthers = visit.session.scope === "admin" || visit.session.scope === "auditor"
  const islands = person === undefined ? [] : (["passkey.js"] as const)
  const mine =
    person === undefined ? "" : html`${ownSection(visit, own, list)}${enrolCard(visit, list, own)}${entryCard(own)}`
  const theirs = seesOthers ? othersSection(visit, others, list) : ""
  const waits = others.some(({ state }) => state === "pending")
  const body = html`${HEADING}${visit.news ?? ""}${waits ? html`${theirs}${mine}` : html`${mine}${theirs}`}`
  return show(visit, { title: "Passkeys", body, islands })
}

const HEADING = heading(
  "Passkeys",
  "A passkey is a key of your telephone, computer or security key. With it you sign what you approve, and this service cannot.",
)

const shortMinute = (text: string): string => `${text.slice(0, 16).replace("T", " ")} UTC`

function stateLabel({ state, counts_from }: PasskeySummary): Markup {
  if (state === "revoked") return label("bad", "–", "revoked")
  return state === "counts"
    ? label("good", "✓", "counts")
    : label("info", "○", `counts from ${shortMinute(counts_from)}`)
}

type Shown = {
  /** Whether it says whose it is. */
  readonly withPerson: boolean
  /** Of the console: a passkey of another origin signs nothing here. */
  readonly here: string | undefined
}

function item(one: PasskeySummary, forms: Markup | "", { withPerson, here }: Shown): Markup {
  const { passkey_id, issuer, subject, name, enrolled_at, confirmed_by, revoked_at, origin } = one
  const person = html`${everyCharacter(subject)} <span class="quiet">of ${everyCharacter(issuer)}</span>`
  return html`<li class="card"><h3>${everyCharacter(withPerson ? subject : name)}</h3>
<p class="states">${stateLabel(one)}</p>
${facts([
  ["Person", withPerson ? person : undefined],
  ["Name", withPerson ? everyCharacter(name) : undefined],
  ["Enrolled", time(enrolled_at)],
  ["Confirmed by", confirmed_by && everyCharacter(confirmed_by.subject)],
  ["Revoked", revoked_at && time(revoked_at)],
  ["Signs only at", origin === here ? undefined : everyCharacter(origin)],
  ["Id", html`<code>${passkey_id}</code>`],
])}${forms}</li>`
}

/** Those that wait first; those that are revoked are folded up. */
function items(passkeys: readonly PasskeySummary[], forms: (one: PasskeySummary) => Markup | "", shown: Shown): Markup {
  const list = (wanted: PasskeyState): Markup | "" => {
    const some = passkeys.filter(({ state }) => state === wanted)
    return some.length === 0 ? "" : html`<ul class="asked">${some.map(one => item(one, forms(one), shown))}</ul>`
  }
  const revoked = passkeys.filter(({ state }) => state === "revoked").length
  return html`${list("pending")}${list("counts")}${revoked === 0 ? "" : html`<details><summary>${plural(revoked, "revoked passkey")}</summary>${list("revoked")}</details>`}`
}

function ownSection(visit: Visit, own: readonly PasskeySummary[], { enrolment }: PasskeyList): Markup {
  const shown = { withPerson: false, here: enrolment?.origin }
  return html`<h2>Yours</h2>${own.length === 0 ? empty("You have no passkey.") : items(own, one => revokeForm(visit, one), shown)}`
}

function othersSection(visit: Visit, others: readonly PasskeySummary[], list: PasskeyList): Markup {
  const { total, passkeys, enrolment } = list
  const isPending = others.some(({ state }) => state === "pending")
  const how = !isPending ? "" : visit.session.person === undefined ? BY_A_PERSON : HOW_TO_CONFIRM
  const more =
    total > passkeys.length
      ? html`<p class="quiet">The newest ${number(passkeys.length)} of ${number(total)} passkeys.</p>`
      : ""
  const forms = (one: PasskeySummary): Markup | "" =>
    administers(visit) ? html`${confirmForm(visit, one)}${revokeForm(visit, one)}` : ""
  return html`<h2>Of other people</h2>${how}${others.length === 0 ? empty("There is no passkey of another person.") : items(others, forms, { withPerson: true, here: enrolment?.origin })}${more}`
}

const BY_A_PERSON = html`<p>An administrator who signed in confirms those that wait. A key cannot.</p>`
const HOW_TO_CONFIRM = html`<p>Confirm one when its person has read you its id, in person or in a call, and it is the same as here. From then on it counts.</p>`

function confirmForm({ session: { csrf_token, person } }: Visit, { passkey_id, state }: PasskeySummary): Markup | "" {
  if (state !== "pending" || person === undefined) return ""
  return html`<form method="post" action="${PASSKEYS_PATH}">${formTokens(csrf_token)}<input type="hidden" name="passkey_id" value="${passkey_id}">
<label class="check"><input type="checkbox" name="sure" value="yes" required> Its person read me this id</label>
<p class="buttons"><button name="action" value="confirm">Confirm</button></p></form>`
}

function revokeForm({ session: { csrf_token } }: Visit, { passkey_id, state }: PasskeySummary): Markup | "" {
  if (state === "revoked") return ""
  return html`<details><summary>Revoke</summary><form method="post" action="${PASSKEYS_PATH}">${formTokens(csrf_token)}<input type="hidden" name="passkey_id" value="${passkey_id}">
<p>It signs no later decision, and cannot be enrolled again. What it signed before counts.</p>
<p class="buttons"><button name="action" value="revoke" class="danger">Revoke this passkey</button></p></form></details>`
}

function enrolCard({ session }: Visit, { enrolment }: PasskeyList, own: readonly PasskeySummary[]): Markup {
  const { person, csrf_token, name } = session
  if (person === undefined) return html``
  const card = (inner: Markup): Markup => html`<section class="card"><h2>New passkey</h2>${inner}</section>`
  if (enrolment === undefined)
    return card(html`<p>People enrol no passkeys here: the console has no https address with a name.</p>`)
  const living = own.filter(({ state }) => state !== "revoked")
  if (living.length >= PASSKEYS_OF_PERSON_MAX)
    return card(html`<p>You have ${living.length} passkeys, which is the most. Revoke one to make another.</p>`)
  if (Date.now() - Date.parse(person.signed_in_at) > PASSKEY_SIGN_IN_MAX_MS)
    return card(
      html`<p>For a new passkey your sign-in has to be at most five minutes old.</p><p class="buttons"><a class="button" href="/console/sign-in/provider?${new URLSearchParams({ next: PASSKEYS_PATH })}">Sign in again</a></p>`,
    )
  const exclude = living.map(({ credential_id }) => credential_id).join(" ")
  return card(html`<form method="post" action="${PASSKEYS_PATH}" class="enrol" autocomplete="off" data-issuer="${verbatim(person.issuer)}" data-subject="${verbatim(person.subject)}" data-person="${verbatim(name)}" data-origin="${enrolment.origin}" data-rp-id="${enrolment.rp_id}" data-exclude="${exclude}">
${formTokens(csrf_token)}<input type="hidden" name="action" value="enrol">
<div class="fields"><label>Name, to know it by<input name="name" required maxlength="64" placeholder="my telephone"></label></div>
<p id="enrol-status" role="status">Your browser asks you twice: to make the passkey, and to sign with it.</p>
<p class="buttons"><button type="button" name="make" disabled>Make a passkey</button> <button name="sign" disabled>Sign with it</button></p>
<p class="quiet">It counts 24 hours later, or when an administrator confirms it, who asks you for its id. Make a second one on another device.</p>
</form>`)
}

/** JSON in ASCII: a character that is not seen is an escape, and the text is still what it was. */
const asciiJson = (value: ApproverKeys): string =>
  JSON.stringify(value, null, 1).replace(
    /[^\n\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

function entryCard(own: readonly PasskeySummary[]): Markup | "" {
  const keys = own
    .filter(({ state }) => state !== "revoked")
    .map(({ issuer, subject, public_key, origin, rp_id }) => ({ issuer, subject, public_key, origin, rp_id }))
  if (keys.length === 0) return ""
  return html`<section class="card"><h2>Your public keys, for others</h2>
<p>Give this entry to your auditor, and to the service that executes what you approve, yourself: then they need not take the operator's word for whose signature it is.</p>
<pre tabindex="0" class="code-block whole-text" aria-label="Your entry of a file of approver keys"><code>${verbatim(asciiJson({ kind: APPROVER_KEYS_KIND, keys }))}</code></pre>
<p class="quiet">This page is the operator's, and could show the key of another device. Who fears that reads the public key with a program of their own, from a security key.</p></section>`
}

/** Enrols, confirms or revokes. */
export async function passkeyForm(visit: Visit): Promise<Response> {
  const field = await formOf(visit.c)
  const action = field("action")
  if (action !== "enrol" && action !== "confirm" && action !== "revoke")
    throw new ApiRefusal({ status: 400, code: "invalid_field", error: "The form does not say what to do." })
  const path = `/passkeys/${encodeURIComponent(field("passkey_id"))}`
  const done =
    action === "enrol"
      ? await visit.api.change("POST", "/passkeys", passkeyAnswerSchema, {
          name: field("name"),
          credential_id: field("credential_id"),
          public_key: field("public_key"),
          authenticator_data: field("authenticator_data"),
          client_data_json: field("client_data_json"),
          signature: field("signature"),
        })
      : action === "confirm"
        ? await visit.api.change("POST", `${path}/confirmation`, passkeyAnswerSchema)
        : await visit.api.change("DELETE", path, passkeyAnswerSchema)
  if (isRefusal(done) && done.code === "sign_in_again")
    return visit.c.redirect(`/console/sign-in?${new URLSearchParams({ fresh: "", next: PASSKEYS_PATH })}`, 303)
  return answerForm(visit, done, { path: PASSKEYS_PATH, news: newsOf, page: passkeysPage })
}

const newsOf = ({ state, subject, counts_from }: PasskeySummary): News =>
  state === "revoked"
    ? { tone: "good", text: "The passkey is revoked." }
    : state === "counts"
      ? { tone: "good", text: `The passkey of ${subject} counts from now on.` }
      : {
          tone: "good",
          text: `The passkey is enrolled. It counts from ${shortMinute(counts_from)}, or when an administrator confirms it.`,
        }
