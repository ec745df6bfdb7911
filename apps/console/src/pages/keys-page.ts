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
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { clipped, empty, facts, formTokens, heading, label, newsNotice, notice, table } from "../parts/pieces.ts"
import {
  administers,
  answerForm,
  type Field,
  formOf,
  leadTo,
  overlapFields,
  overlapOf,
  show,
  typedNumber,
  type Visit,
} from "../visit.ts"
import { openSession } from "./sign-in-page.ts"

const PATH = "/console/keys"

function stateLabel({ revoked, expires_at }: ListedKey): Markup {
  if (revoked) return label("warn", "–", "revoked")
  const isOver = expires_at !== undefined && Date.parse(expires_at) <= Date.now()
  return isOver ? label("warn", "–", "expired") : label("good", "✓", "active")
}

const row = (key: ListedKey): Markup =>
  html`<tr><td><a href="${PATH}/${key.id}">${key.id}</a></td><td class="long">${clipped(key.name)}</td><td>${key.scope}</td><td>${key.tier}</td><td>${stateLabel(key)}</td><td class="figure">${number(key.run_count)}</td><td class="nowrap">${shortTime(key.last_used_at)}</td></tr>`

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

const by = (actor: string | undefined): string => (actor === undefined ? "" : ` by ${actor}`)

const keyFacts = (key: ListedKey): Markup =>
  facts([
    ["Scope", key.scope],
    ["Tier", key.tier],
    [
      "Runs",
      html`<a href="${address("/console/runs", { key: key.id })}">${number(key.run_count)}</a> · <a href="${address("/admin/runs/export", { key: key.id })}" download="runseal-key-${key.id}.ndjson">sealed records, for the verifier</a>`,
    ],
    ["Made", html`${time(key.created_at)}${by(key.created_by)}`],
    ["Last used", key.last_used_at === null ? "never" : time(key.last_used_at)],
    ["Secret rotated", key.rotated_at && time(key.rotated_at)],
    ["Old secret works until", key.overlap_until && time(key.overlap_until)],
    ["Expires", key.expires_at && time(key.expires_at)],
    ["Revoked", key.revoked_at && html`${time(key.revoked_at)}${by(key.revoked_by)}`],
    ...NUMBERS.map(({ name, label: text }) => [text, key[name] === undefined ? "" : number(key[name])] as const),
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
      const overlap_seconds = overlapOf(field)
      const done = isRefusal(overlap_seconds)
        ? overlap_seconds
        : await visit.api.change("POST", `${path}/rotate`, rotatedKeySchema, { overlap_seconds })
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

// The forms of a key, and how what was typed in them becomes a request. An empty field means: none, as every key has it.

/** Settings of a key that are whole numbers. */
const NUMBERS = [
  { name: "run_token_budget", label: "Tokens of one run" },
  { name: "window_token_budget", label: "Tokens of a window" },
  { name: "rate_limit", label: "Requests a minute" },
] as const

const settings = (key: Partial<ListedKey>): Markup => html`<div class="fields">
${NUMBERS.map(({ name, label: text }) => html`<label>${text}<input name="${name}" inputmode="numeric" pattern="[0-9]*" value="${key[name] ?? ""}" placeholder="as every key"></label>`)}
<label>Expires (UTC)<input name="expires_at" type="datetime-local" step="1" value="${key.expires_at?.slice(0, 19) ?? ""}"></label>
<label class="wide">Notes<input name="notes" value="${verbatim(key.notes ?? "")}" maxlength="2000"></label>
</div>
<label class="check"><input type="checkbox" name="observe" value="yes"${key.observe === true ? html` checked` : ""}> May ask for runs that are only observed: OpenTelemetry, callbacks in Python, doors with mode observe</label>`

const newKeyForm = (
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys">${formTokens(csrf)}
<div class="fields"><label>Name<input name="name" required maxlength="128" autocomplete="off"></label>
<label>Scope<select name="scope"><option value="">customer</option><option value="auditor">auditor, reads only</option><option value="admin">administrator</option></select></label>
<label>Tier<select name="tier"><option value="">usual: trial for a customer</option><option>trial</option><option>production</option></select></label></div>
<details><summary>Limits, expiry and notes</summary>${settings({})}
<div class="fields"><label class="wide">An auditor reads the runs of keys<input name="reads" placeholder="all, or ids such as 2, 5" autocomplete="off"></label>
<label class="check"><input type="checkbox" name="share" value="yes"> An auditor shares what it reads</label></div></details>
<p class="buttons"><button>Make a key</button></p></form>`

const changeKeyForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="change">
<div class="fields"><label>Name<input name="name" required maxlength="128" value="${verbatim(key.name.replace(/^customer:/, ""))}"></label></div>${settings(key)}${key.scope === "auditor" ? html`<label class="check"><input type="checkbox" name="share" value="yes" ${key.share === true ? html`checked` : ""}> It shares what it reads</label><input type="hidden" name="shares" value="asked">` : ""}
<p class="buttons"><button>Save</button></p></form>`

const rotateForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="rotate">
${overlapFields("works")}
<p class="buttons"><button>Rotate the secret</button></p></form>`

const revokeForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="revoke">
<label class="check"><input type="checkbox" name="sure" value="yes" required> I want to revoke this key for ever</label>
<p class="buttons"><button class="danger">Revoke</button></p></form>`

/** A time that was picked has no zone, and is meant in UTC. */
const utcOf = (text: string): string => {
  const [, minute, second = ":00"] = /^([\d-]{10}T\d\d:\d\d)(:[\d.]+)?$/.exec(text) ?? []
  return minute === undefined ? text : `${minute}${second}Z`
}

/** How what was typed becomes a setting. */
const SETTINGS = [
  ...NUMBERS.map(({ name }) => ({ name, read: typedNumber })),
  { name: "expires_at", read: utcOf },
  { name: "notes", read: (text: string) => text },
]

/** @param absent what an empty field becomes: nothing of a new key, null to take a setting away */
const settingsOf = (field: Field, absent: readonly null[]): object =>
  Object.fromEntries(
    SETTINGS.flatMap(({ name, read }) =>
      (field(name) === "" ? absent : [read(field(name))]).map(value => [name, value]),
    ),
  )

const newKeyRequest = (field: Field): object => ({
  name: field("name"),
  ...(field("scope") === "" ? {} : { scope: field("scope") }),
  ...(field("scope") === "admin" ? { confirm_admin_scope: true } : {}),
  ...(field("tier") === "" ? {} : { tier: field("tier") }),
  ...(field("reads") === "" || (field("scope") === "auditor" && field("reads") === "all")
    ? {}
    : {
        reads: field("reads")
          .split(/[\s,]+/)
          .map(typedNumber),
      }),
  ...(field("share") === "" ? {} : { share: true }),
  ...settingsOf(field, []),
  ...(field("observe") === "" ? {} : { observe: true }),
})

const changeKeyRequest = (field: Field): object => ({
  name: field("name"),
  ...settingsOf(field, [null]),
  // A box that is not ticked is not sent.
  ...(field("shares") === "" ? {} : { share: field("share") !== "" }),
  observe: field("observe") !== "",
})
