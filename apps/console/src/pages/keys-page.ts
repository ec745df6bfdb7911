/** *Keys*: who may call the service. A new secret is shown once, by the page that its form leads to. */
import {
  changedKeySchema,
  keyListSchema,
  type ListedKey,
  mintedKeySchema,
  type RotatedKey,
  revokedKeySchema,
  rotatedKeySchema,
} from "@runseal/core/wire/key-requests"
import { isRefusal } from "../api.ts"
import type { News } from "../news.ts"
import { address, number, shortTime, time } from "../parts/format.ts"
import { page } from "../parts/layout.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, facts, heading, newsNotice, notice, table } from "../parts/pieces.ts"
import { administers, answerForm, formOf, leadTo, show, type Visit } from "../visit.ts"
import { changeKeyForm, changeKeyRequest, newKeyForm, newKeyRequest, revokeForm, rotateForm } from "./key-forms.ts"
import { openSession } from "./sign-in-page.ts"

const PATH = "/console/keys"

const stateOf = ({ revoked, expires_at }: ListedKey, now: number): "revoked" | "expired" | "active" =>
  revoked ? "revoked" : expires_at !== undefined && Date.parse(expires_at) <= now ? "expired" : "active"

const stateLabel = (key: ListedKey): Markup => {
  const state = stateOf(key, Date.now())
  return html`<span class="label ${state === "active" ? "good" : "warn"}"><span aria-hidden="true">${state === "active" ? "✓" : "–"}</span> ${state}</span>`
}

const row = (key: ListedKey): Markup =>
  html`<tr><td><a href="${PATH}/${key.id}">${key.id}</a></td><td class="long">${clipped(key.name)}</td><td>${key.scope}</td><td>${key.tier}</td><td>${stateLabel(key)}</td><td class="figure">${number(key.run_count)}</td><td class="nowrap">${key.last_used_at === null ? html`<span class="quiet">never</span>` : shortTime(key.last_used_at)}</td></tr>`

export async function keysPage(visit: Visit): Promise<Response> {
  const { keys } = await visit.api.get("/admin/keys", keyListSchema)
  const form = administers(visit)
    ? html`<section class="card"><h2>New key</h2>${newKeyForm(visit.session.csrf_token)}</section>`
    : ""
  const list =
    keys.length === 0
      ? empty("No key was made yet: everybody who reaches the service may use it.")
      : table("Keys", ["Id", "Name", "Scope", "Tier", "State", "Runs", "Last used (UTC)"], keys.map(row))
  const body = html`${heading("Keys", "A key is the owner of its runs, its permits and its budget.")}${visit.news ?? ""}${list}${form}`
  return show(visit, { title: "Keys", body })
}

export async function newKey(visit: Visit): Promise<Response> {
  const made = await visit.api.change("POST", "/admin/keys", mintedKeySchema, newKeyRequest(await formOf(visit.c)))
  return answerForm(visit, made, {
    path: PATH,
    news: ({ id, name, secret }) => ({ tone: "good", text: `The secret of key ${id}, ${name}.`, secret }),
    page: keysPage,
  })
}

export async function keyPage(visit: Visit): Promise<Response> {
  const id = Number(visit.c.req.param("id"))
  const { keys } = await visit.api.get("/admin/keys", keyListSchema)
  const key = keys.find(one => one.id === id)
  if (key === undefined) return keysPage({ ...visit, news: notice("warn", `There is no key ${id}.`) })
  const body = html`<p class="back"><a href="${PATH}">Keys</a></p>${heading(`Key ${key.id}, ${key.name}`, stateLabel(key))}${visit.news ?? ""}
<section class="card">${keyFacts(key)}</section>${administers(visit) && !key.revoked ? forms(key, visit) : ""}`
  return show(visit, { title: `Key ${key.id}`, body })
}

const keyFacts = (key: ListedKey): Markup =>
  facts([
    ["Scope", key.scope],
    ["Tier", key.tier],
    [
      "Runs",
      html`<a href="${address("/console/runs", { key: key.id })}">${number(key.run_count)}</a> · <a href="${address("/admin/runs/export", { key: key.id })}" download="runseal-key-${key.id}.ndjson">sealed records, for the verifier</a>`,
    ],
    ["Made", html`${time(key.created_at)}${key.created_by === undefined ? "" : html` by ${key.created_by}`}`],
    ["Last used", key.last_used_at === null ? "never" : time(key.last_used_at)],
    ["Secret rotated", key.rotated_at && time(key.rotated_at)],
    ["Old secret works until", key.overlap_until && time(key.overlap_until)],
    ["Expires", key.expires_at && time(key.expires_at)],
    [
      "Revoked",
      key.revoked_at && html`${time(key.revoked_at)}${key.revoked_by === undefined ? "" : html` by ${key.revoked_by}`}`,
    ],
    ["Tokens of one run", key.run_token_budget === undefined ? undefined : number(key.run_token_budget)],
    ["Tokens of a window", key.window_token_budget === undefined ? undefined : number(key.window_token_budget)],
    ["Requests a minute", key.rate_limit === undefined ? undefined : number(key.rate_limit)],
    ["Reads the runs of", key.reads?.map(one => `key ${one}`).join(", ")],
    ["Shares", key.share === true ? "what it reads" : undefined],
    ["May ask for observed runs", key.observe && "yes"],
    ["Notes", key.notes],
  ])

const forms = (key: ListedKey, { session: { csrf_token } }: Visit): Markup => html`<div class="columns"><div>
<section class="card"><h2>Rotate</h2><p>A new secret. The key keeps its id, its runs and its budgets.</p>${rotateForm(key, csrf_token)}</section>
<section class="card"><h2>Revoke</h2><p>Its next request is refused; its sessions, its open permits and the links that it shares end. This cannot be undone.</p>${revokeForm(key, csrf_token)}</section>
</div><div><section class="card"><h2>Change</h2>${changeKeyForm(key, csrf_token)}</section></div></div>`

export async function keyAction(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const path = `/admin/keys/${id}`
  const field = await formOf(visit.c)
  const answer = { path: `${PATH}/${id}`, page: keyPage }
  const withText = (text: string) => ({ ...answer, news: () => ({ tone: "good", text }) as const })
  switch (field("action")) {
    case "rotate": {
      const overlap_seconds = Number(field("overlap_seconds"))
      const done = await visit.api.change("POST", `${path}/rotate`, rotatedKeySchema, { overlap_seconds })
      if (!isRefusal(done) && done.id === visit.session.key_id) return ownRotation(visit, done)
      return answerForm(visit, done, { ...answer, news: newSecret })
    }
    case "revoke":
      return answerForm(
        visit,
        await visit.api.change("DELETE", path, revokedKeySchema),
        withText("The key is revoked."),
      )
    default: {
      const done = await visit.api.change("PATCH", path, changedKeySchema, changeKeyRequest(field))
      return answerForm(visit, done, withText("Saved."))
    }
  }
}

const newSecret = ({ secret }: RotatedKey): News => ({ tone: "good", text: "The new secret.", secret })

/** The secret of the visitor's own key ends the session that was opened with the one before. So another one is opened with it. */
async function ownRotation(visit: Visit, done: RotatedKey): Promise<Response> {
  const session = await openSession(visit.c, visit.api, done.secret)
  if (!isRefusal(session)) return leadTo({ c: visit.c, session }, `${PATH}/${done.id}`, newSecret(done))
  const body = html`<h1>Key ${done.id} has a new secret</h1>${newsNotice(newSecret(done))}<p><a href="/console/sign-in">Sign in with it</a>.</p>`
  return visit.c.html(await page({ title: "New secret", here: visit.c.req.path, body }))
}
