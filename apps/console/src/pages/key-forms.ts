/** The forms of a key, and how what was typed in them becomes a request. An empty field means: none, as every key has it. */
import type { ListedKey } from "@runseal/core/wire/key-requests"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { formTokens } from "../parts/pieces.ts"

type Field = (name: string) => string

/** Settings of a key that are whole numbers. */
const NUMBERS = [
  { name: "run_token_budget", label: "Tokens of one run" },
  { name: "window_token_budget", label: "Tokens of a window" },
  { name: "rate_limit", label: "Requests a minute" },
] as const

const numberInput = (name: string, label: string, value: number | undefined): Markup =>
  html`<label>${label}<input name="${name}" inputmode="numeric" pattern="[0-9]*" value="${value === undefined ? "" : `${value}`}" placeholder="as every key"></label>`

const settings = (key: Partial<ListedKey>): Markup => html`<div class="fields">
${NUMBERS.map(({ name, label }) => numberInput(name, label, key[name]))}
<label>Expires (UTC)<input name="expires_at" type="datetime-local" step="1" value="${key.expires_at?.slice(0, 19) ?? ""}"></label>
<label class="wide">Notes<input name="notes" value="${verbatim(key.notes ?? "")}" maxlength="2000"></label>
</div>
<label class="check"><input type="checkbox" name="observe" value="yes"${key.observe === true ? html` checked` : ""}> May ask for runs that are only observed: OpenTelemetry, callbacks in Python, doors with mode observe</label>`

export const newKeyForm = (
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys">${formTokens(csrf)}
<div class="fields"><label>Name<input name="name" required maxlength="128" autocomplete="off"></label>
<label>Scope<select name="scope"><option value="">customer</option><option value="auditor">auditor, reads only</option><option value="admin">administrator</option></select></label>
<label>Tier<select name="tier"><option value="">usual: trial for a customer</option><option>trial</option><option>production</option></select></label></div>
<details><summary>Limits, expiry and notes</summary>${settings({})}
<div class="fields"><label class="wide">An auditor reads the runs of keys<input name="reads" placeholder="all, or ids such as 2, 5" autocomplete="off"></label>
<label class="check"><input type="checkbox" name="share" value="yes"> An auditor shares what it reads</label></div></details>
<p class="buttons"><button>Make a key</button></p></form>`

export const changeKeyForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="change">
<div class="fields"><label>Name<input name="name" required maxlength="128" value="${verbatim(key.name.replace(/^customer:/, ""))}"></label></div>${settings(key)}${key.scope === "auditor" ? html`<label class="check"><input type="checkbox" name="share" value="yes" ${key.share === true ? html`checked` : ""}> It shares what it reads</label><input type="hidden" name="shares" value="asked">` : ""}
<p class="buttons"><button>Save</button></p></form>`

export const rotateForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="rotate">
<label>The old secret works for<select name="overlap_seconds"><option value="0">no time: it was leaked</option><option value="3600">an hour</option><option value="86400">a day</option><option value="604800">a week</option></select></label>
<p class="buttons"><button>Rotate the secret</button></p></form>`

export const revokeForm = (
  key: ListedKey,
  csrf: string | undefined,
): Markup => html`<form method="post" action="/console/keys/${key.id}">${formTokens(csrf)}<input type="hidden" name="action" value="revoke">
<label class="check"><input type="checkbox" name="sure" value="yes" required> I want to revoke this key for ever</label>
<p class="buttons"><button class="danger">Revoke</button></p></form>`

/** What was typed; a number that is none goes on as it is, and the API says what is wrong with it. */
const typed = (text: string): number | string => (/^\d{1,16}$/.test(text) ? Number(text) : text)

/** A time that was picked has no zone, and is meant in UTC. */
const utcOf = (text: string): string => {
  const [, minute, second = ":00"] = /^([\d-]{10}T\d\d:\d\d)(:[\d.]+)?$/.exec(text) ?? []
  return minute === undefined ? text : `${minute}${second}Z`
}

/** @param absent what an empty field becomes: left out of a new key, null to take a setting away */
function settingsOf(field: Field, absent: null | undefined): object {
  const made: Record<string, number | string | null> = {}
  for (const name of [...NUMBERS.map(({ name }) => name), "expires_at", "notes"]) {
    const text = field(name)
    if (text !== "") made[name] = name === "notes" ? text : name === "expires_at" ? utcOf(text) : typed(text)
    else if (absent === null) made[name] = null
  }
  return made
}

export const newKeyRequest = (field: Field): object => ({
  name: field("name"),
  ...(field("scope") === "" ? {} : { scope: field("scope") }),
  ...(field("scope") === "admin" ? { confirm_admin_scope: true } : {}),
  ...(field("tier") === "" ? {} : { tier: field("tier") }),
  ...(field("reads") === "" || (field("scope") === "auditor" && field("reads") === "all")
    ? {}
    : {
        reads: field("reads")
          .split(/[\s,]+/)
          .map(typed),
      }),
  ...(field("share") === "" ? {} : { share: true }),
  ...settingsOf(field, undefined),
  ...(field("observe") === "" ? {} : { observe: true }),
})

export const changeKeyRequest = (field: Field): object => ({
  name: field("name"),
  ...settingsOf(field, null),
  // A box that is not ticked is not sent.
  ...(field("shares") === "" ? {} : { share: field("share") !== "" }),
  observe: field("observe") !== "",
})
