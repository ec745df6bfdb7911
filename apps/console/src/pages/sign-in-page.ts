/** Signing in, with a key or with the identity provider, and signing out. A key goes to the service once, and is neither in the page nor in the browser afterwards. */

import { approvalPage } from "@runseal/core/wire/approval-answers"
import { versionAnswerSchema } from "@runseal/core/wire/service-answers"
import {
  closedSessionSchema,
  consolePage,
  finishedSignInSchema,
  type SessionAnswer,
  sessionAnswerSchema,
  startedSignInSchema,
} from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import { type Api, ApiRefusal, isRefusal, type Refusal } from "../api.ts"
import type { News } from "../news.ts"
import { page } from "../parts/layout.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { holderOf } from "../parts/page-forms.ts"
import { refused } from "../parts/pieces.ts"
import { FORM_MAX_BYTES, formOf, leadTo, parsedForm, type RefusedStatus, statusOf } from "../visit.ts"
import { APPROVAL_PATH } from "./approval-page.ts"
import { APPROVALS_PATH } from "./approvals-page.ts"

/** A wrong key is refused with the sentence for programs, which would not help here. */
const sentenceOf = (refusal: Refusal): Refusal =>
  refusal.code === "key_required" ? { ...refusal, error: "This is no valid key of this service." } : refusal

/** Leads to the identity provider. A link: the policy of the page lets no form lead to another host. */
const providerLink = (host: string, next: string): Markup =>
  html`<p><a class="button" href="/console/sign-in/provider?${new URLSearchParams({ next })}">Sign in with ${host}</a></p><p class="quiet">or with a key:</p>`

/** The field for a key, and the button that sends it. @param does what the button says */
const keyField = (does: string, autofocus: boolean): Markup => html`<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required ${autofocus ? html`autofocus` : ""} placeholder="rsk_…" aria-describedby="key-note">
<button>${does}</button>`

/** @param host of the identity provider; undefined where there is none */
const form = (host: string | undefined, next: string, before: Markup | string): Markup => html`<div class="sign-in">
<h1><svg viewBox="0 0 16 16" width="36" height="36" aria-hidden="true"><circle cx="8" cy="8" r="8" class="seal"/><path d="M4 8.5l3 3 5-6" class="tick"/></svg> Runseal</h1>
${before}${host === undefined ? "" : providerLink(host, next)}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
${keyField("Sign in", host === undefined)}
<p id="key-note" class="quiet">You see what the key may see. The key is sent once and is not stored in this browser; the session ends after half an hour without use.</p>
</form>
<p class="quiet">To check a record you need no key: <a href="/verify">verify it here</a>.</p>
</div>`

/** Host of the identity provider; undefined where there is none, and where the service does not say. */
async function providerOf(api: Api): Promise<string | undefined> {
  const version = await api.ask("/version", versionAnswerSchema)
  return isRefusal(version) ? undefined : version.sign_in_with
}

/** The page that signs in. @param before what it says first */
async function showSignIn(
  c: Context,
  api: Api,
  {
    next,
    before,
    status = 200,
  }: { readonly next: string; readonly before: Markup | string; readonly status?: 200 | RefusedStatus },
): Promise<Response> {
  const body = form(await providerOf(api), next, before)
  return c.html(await page({ title: "Sign in", here: "/console/sign-in", body }), status)
}

export async function signInPage(c: Context, api: Api): Promise<Response> {
  const host = c.req.query("signed_out") === undefined ? undefined : await providerOf(api)
  const before =
    SAYS.find(([why]) => c.req.query(why) !== undefined)?.[1] ?? (host === undefined ? "" : signedOut(host))
  const next = consolePage(c.req.query("next"))
  return showSignIn(c, api, { next, before: html`${before}${next.startsWith(approvalPage("")) ? ASKED : ""}` })
}

/** To who comes by the link of a request. */
const ASKED = html`<p class="lead">You are asked to approve an act. Sign in to read it and to decide.</p>`

const ENDED = html`<div class="notice warn" role="status"><p>The session has ended. Sign in again to go on.</p></div>`

const AGAIN = html`<div class="notice warn" role="status"><p>You signed in more than 15 minutes ago, and your groups may have changed since. Nothing was decided: sign in again, and then decide.</p></div>`

const FRESH = html`<div class="notice warn" role="status"><p>You signed in more than 5 minutes ago. Nothing was changed: sign in again, and then do it.</p></div>`

/** Why the visitor was led here, by the parameter of the address that says so. */
const SAYS: readonly (readonly [parameter: string, notice: Markup])[] = [
  ["ended", ENDED],
  ["again", AGAIN],
  ["fresh", FRESH],
]

const signedOut = (host: string): Markup =>
  html`<div class="notice warn" role="status"><p>You are signed out here. Your session at ${host} goes on: on a machine that others use, sign out there too.</p></div>`

/** Sends cookies of the service on to the browser. */
function handOn(c: Context, response: Response): void {
  for (const cookie of response.headers.getSetCookie()) c.header("Set-Cookie", cookie, { append: true })
}

/** Opens the session of a key, whose cookie goes to the browser; a refusal is a value. */
export async function openSession(c: Context, api: Api, key: string): Promise<SessionAnswer | Refusal> {
  const response = await api.send("POST", "/session", { key })
  if (response.ok) handOn(c, response)
  return api.read(response, sessionAnswerSchema)
}

/** @param dispatch answers a request to the console itself */
export async function signIn(
  c: Context,
  api: Api,
  dispatch: (request: Request) => Promise<Response>,
): Promise<Response> {
  const field = await formOf(c)
  const next = consolePage(field("next"))
  const session = await openSession(c, api, field("key"))
  if (!isRefusal(session)) {
    const held = await heldFields(c)
    return held === undefined ? c.redirect(next, 303) : sendHeld(c, session, next, held, dispatch)
  }
  const [status, before] = [session.status === 401 ? 403 : statusOf(session), refused(sentenceOf(session))]
  const held = await heldFields(c)
  if (held !== undefined) return showHeld(c, api, next, held, { before, status })
  return showSignIn(c, api, { next, before, status })
}

/** @param isPerson whether the session began at the identity provider. @throws ApiRefusal where the session lives on */
export async function signOut(c: Context, api: Api, isPerson: boolean): Promise<Response> {
  const response = await api.send("DELETE", "/session")
  handOn(c, response)
  const closed = await api.read(response, closedSessionSchema)
  if (isRefusal(closed) && closed.status !== 401) throw new ApiRefusal(closed)
  return c.redirect(isPerson ? "/console/sign-in?signed_out" : "/console/sign-in", 303)
}

// Signing in with the identity provider: the way there, and the way back.

/**
 * Leads to the provider. A page of another site must not begin a sign-in, which would end the session that the browser has: its visitor
 * decides on the page that signs in. Fetch Metadata.
 */
export async function startWithProvider(c: Context, api: Api): Promise<Response> {
  const next = consolePage(c.req.query("next"))
  const site = c.req.header("Sec-Fetch-Site") ?? "same-origin"
  if (site !== "same-origin" && site !== "none")
    return c.redirect(`/console/sign-in?${new URLSearchParams({ next })}`, 303)
  const response = await api.send("POST", "/session/sign-in", { next })
  handOn(c, response)
  const started = await api.read(response, startedSignInSchema)
  return isRefusal(started)
    ? showSignIn(c, api, { next, before: refused(started), status: statusOf(started) })
    : c.redirect(started.url, 303)
}

/** Takes the answer with which the provider sends the browser back. */
export async function finishWithProvider(c: Context, api: Api): Promise<Response> {
  const query = new URL(c.req.url).search.replace(/^\?/, "")
  const response = await api.send("POST", "/session/sign-in/answer", { query })
  handOn(c, response)
  const finished = await api.read(response, finishedSignInSchema)
  return isRefusal(finished)
    ? showSignIn(c, api, { next: "/console", before: refused(finished), status: statusOf(finished) })
    : c.redirect(consolePage(finished.next), 303)
}

// A form that was sent after its session had ended. It is in the page that signs in again, and nowhere else: no store holds what was typed.

/** Most fields of a form that are held, and most bytes of it as it is sent; the sign-in needs some for itself. */
const HELD_MAX_FIELDS = 64
const HELD_MAX_BYTES: number = FORM_MAX_BYTES - 16_384
/** What the name of a held field begins with. */
const HELD = "held."

type Held = ReadonlyMap<string, string>

/** The fields of a form as they were sent. @param prefix of their names, which is taken away. @throws ApiRefusal for a body that is none */
async function fieldsOf(c: Context, prefix: string): Promise<Held> {
  const body = await parsedForm(c)
  return new Map(
    Object.entries(body).flatMap(([name, value]) =>
      name.startsWith(prefix) && typeof value === "string" ? [[name.slice(prefix.length), value] as const] : [],
    ),
  )
}

/** The form that goes with a sign-in; undefined where none does. None goes with that form in turn: a request opens no row of sessions. */
async function heldFields(c: Context): Promise<Held | undefined> {
  const held = [...(await fieldsOf(c, HELD))].filter(([name]) => !name.startsWith(HELD))
  return held.length === 0 ? undefined : new Map(held)
}

/** The answer to a form whose session has ended: it is held, and sent when its holder has signed in again. */
export async function heldForm(c: Context, api: Api): Promise<Response> {
  const { pathname, search } = new URL(c.req.url)
  const held = await fieldsOf(c, "")
  const bytesOf = (): number => new URLSearchParams([...held]).toString().length
  if (held.size <= HELD_MAX_FIELDS && bytesOf() <= HELD_MAX_BYTES)
    return showHeld(c, api, consolePage(pathname + search), held, { status: 403 })
  const body = html`<h1>The session has ended</h1><p>Nothing was done. The form is too large to be held here: go back, sign in in another window, and send it again.</p>`
  return c.html(await page({ title: "The session has ended", here: c.req.path, body }), 403)
}

const hidden = (held: Held, prefix: string): Markup =>
  html`${[...held].map(([name, value]) => html`<input type="hidden" name="${prefix}${verbatim(name)}" value="${verbatim(value)}">`)}`

/** What a held form decides on an approval; undefined for any other form. Nothing but a press of its holder sends a decision. */
function decisionOf(action: string, held: Held): string | undefined {
  const [path, query] = action.split("?")
  if (path !== APPROVAL_PATH) return undefined
  const does =
    held.get("action") === "delete_comments"
      ? "deletes comments on"
      : held.get("decision") === "reject"
        ? "rejects"
        : "approves"
  return `${does} the request ${new URLSearchParams(query).get("id") ?? ""}`
}

/** @param action address of the form */
async function showHeld(
  c: Context,
  api: Api,
  action: string,
  held: Held,
  { before, status }: { readonly before?: Markup; readonly status: RefusedStatus },
): Promise<Response> {
  const host = await providerOf(api)
  const decision = decisionOf(action, held)
  const provider =
    host === undefined
      ? ""
      : html`<p><a class="button" target="_blank" rel="noopener" href="/console/sign-in/provider?next=/console">Sign in with ${host}</a> in another window, and come back here.</p>
<form method="post" action="${action}" id="held" ${decision === undefined ? "" : html`data-pressed`}>${hidden(held, "")}<button class="plain">${decision === undefined ? "I have signed in" : "Send it now"}</button></form><p class="quiet">or with a key:</p>`
  const body = html`<div class="sign-in"><h1>The session has ended</h1>${before ?? ""}
<p>Nothing was done yet. ${decision === undefined ? "Sign in again, and what you typed is sent." : html`What you sent <strong>${verbatim(decision)}</strong>. Sign in again, and send it then if you still want it.`}</p>${provider}
<form method="post" action="/console/sign-in"><input type="hidden" name="next" value="${action}">${hidden(held, HELD)}
${keyField("Sign in and send it", host === undefined)}
<p id="key-note" class="quiet">It is sent for the same key or person alone.</p></form></div>`
  const islands = ["session.js"] as const
  return c.html(await page({ title: "The session has ended", here: "/console/sign-in", body, islands }), status)
}

const NOT_SENT: News = {
  tone: "warn",
  text: "You are signed in. What was typed before was typed by somebody else, and was not sent.",
}

/** Sends a form that was held, in the session that was just opened. */
async function sendHeld(
  c: Context,
  session: SessionAnswer,
  action: string,
  held: Held,
  dispatch: (request: Request) => Promise<Response>,
): Promise<Response> {
  // The first page that its scope sees.
  if (held.get("by") !== holderOf(session))
    return leadTo({ c, session }, session.scope === "approver" ? APPROVALS_PATH : "/console", NOT_SENT)
  const headers = new Headers(c.req.raw.headers)
  headers.set("Cookie", withCookies(c.req.header("Cookie"), c.res.headers.getSetCookie()))
  for (const name of ["Content-Type", "Content-Length"]) headers.delete(name)
  const body = new URLSearchParams([...new Map([...held, ["csrf", session.csrf_token ?? ""]])])
  const answer = await dispatch(new Request(new URL(action, c.req.url), { method: "POST", headers, body }))
  handOn(c, answer)
  return answer
}

/** What the browser sends once it has taken these cookies. */
function withCookies(sent: string | undefined, given: readonly string[]): string {
  const pairs = [...(sent?.split("; ") ?? []), ...given.map(cookie => cookie.split(";")[0] ?? "")]
  return [...new Map(pairs.map(pair => [pair.split("=")[0], pair])).values()].join("; ")
}
