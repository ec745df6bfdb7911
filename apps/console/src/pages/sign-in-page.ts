/** Signing in with a key, and signing out. The key goes to the service once, and is neither in the page nor in the browser afterwards. */
import { closedSessionSchema, type SessionAnswer, sessionAnswerSchema } from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import { type Api, ApiRefusal, isRefusal, type Refusal } from "../api.ts"
import { page } from "../parts/layout.ts"
import { html, type Markup } from "../parts/markup.ts"
import { refused } from "../parts/pieces.ts"
import { formOf, statusOf } from "../visit.ts"

/** An address of the console, for after the sign-in; anything else is its first page. */
export const ownAddress = (text: string | undefined): string =>
  text !== undefined && /^\/console(?:[/?][\w/.?=&%+-]*)?$/.test(text) ? text : "/console"

/** A wrong key is refused with the sentence for programs, which would not help here. */
const sentenceOf = (refusal: Refusal): Refusal =>
  refusal.code === "key_required" ? { ...refusal, error: "This is no valid key of this service." } : refusal

const form = (next: string, before: Markup | string): Markup => html`<div class="sign-in">
<h1><svg viewBox="0 0 16 16" width="36" height="36" aria-hidden="true"><circle cx="8" cy="8" r="8" class="seal"/><path d="M4 8.5l3 3 5-6" class="tick"/></svg> Runseal</h1>
${before}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus placeholder="rsk_…" aria-describedby="key-note">
<button>Sign in</button>
<p id="key-note" class="quiet">You see what the key may see. The key is sent once and is not stored in this browser; the session ends after half an hour without use.</p>
</form>
<p class="quiet">To check a record you need no key: <a href="/verify">verify it here</a>.</p>
</div>`

export async function signInPage(c: Context): Promise<Response> {
  const next = ownAddress(c.req.query("next"))
  const ended =
    c.req.query("ended") === undefined
      ? ""
      : html`<div class="notice warn" role="status"><p>The session has ended. Sign in again to go on.</p></div>`
  return c.html(await page({ title: "Sign in", here: c.req.path, body: form(next, ended) }))
}

/** Sends the session's cookie on to the browser. */
function handOn(c: Context, response: Response): void {
  for (const cookie of response.headers.getSetCookie()) c.header("Set-Cookie", cookie, { append: true })
}

/** Opens the session of a key, whose cookie goes to the browser; a refusal is a value. */
export async function openSession(c: Context, api: Api, key: string): Promise<SessionAnswer | Refusal> {
  const response = await api.send("POST", "/session", { key })
  if (response.ok) handOn(c, response)
  return api.read(response, sessionAnswerSchema)
}

export async function signIn(c: Context, api: Api): Promise<Response> {
  const field = await formOf(c)
  const next = ownAddress(field("next"))
  const refusal = await openSession(c, api, field("key"))
  if (!isRefusal(refusal)) return c.redirect(next, 303)
  const text = await page({ title: "Sign in", here: c.req.path, body: form(next, refused(sentenceOf(refusal))) })
  return c.html(text, refusal.status === 401 ? 403 : statusOf(refusal))
}

/** @throws ApiRefusal where the session lives on */
export async function signOut(c: Context, api: Api): Promise<Response> {
  const response = await api.send("DELETE", "/session")
  handOn(c, response)
  const closed = await api.read(response, closedSessionSchema)
  if (isRefusal(closed) && closed.status !== 401) throw new ApiRefusal(closed)
  return c.redirect("/console/sign-in", 303)
}
