/** Pieces that several pages have: headings, lists of facts, notices, tables, empty states. */
import type { JsonValue } from "@runseal/canonical"
import type { RunSummary } from "@runseal/core/wire/run-summaries"
import { raw } from "hono/html"
import type { Refusal } from "../api.ts"
import type { News } from "../news.ts"
import { number } from "./format.ts"
import { html, type Markup } from "./markup.ts"
import { marksOf, OUTCOME_NAMES, SIGNS, toneOf, wordsOf } from "./run-words.ts"

/** The heading of a page, with what it says below it and what can be done beside it. */
export const heading = (title: string, lead?: Markup | string, actions?: Markup): Markup => html`<div class="heading">
<div><h1>${title}</h1>${lead === undefined ? "" : html`<p class="lead">${lead}</p>`}</div>${actions === undefined ? "" : html`<div class="actions">${actions}</div>`}</div>`

export type Fact = readonly [label: string, value: Markup | string | undefined]

/** Labelled values; those without a value are left out. */
export const facts = (rows: readonly Fact[]): Markup =>
  html`<dl class="facts">${rows.map(([label, value]) => (value === undefined || value === "" ? "" : html`<div><dt>${label}</dt><dd>${value}</dd></div>`))}</dl>`

/** What a list shows when there is nothing in it. */
export const empty = (sentence: string, then?: Markup): Markup =>
  html`<div class="empty"><p>${sentence}</p>${then === undefined ? "" : html`<p>${then}</p>`}</div>`

/** Says why something was refused, in the words of the API. */
export const refused = ({ error, retryAfter }: Refusal): Markup =>
  html`<div class="notice bad" role="alert"><p>${error}</p>${retryAfter === undefined ? "" : html`<p>Try again in ${retryAfter} s.</p>`}</div>`

export const notice = (tone: "good" | "warn" | "bad", body: Markup | string): Markup =>
  html`<div class="notice ${tone}" role="status">${typeof body === "string" ? html`<p>${body}</p>` : body}</div>`

/** What a form has done. A secret is in no other answer. */
export const newsNotice = ({ tone, text, link, secret }: News): Markup =>
  html`<div data-own>${notice(
    tone,
    secret === undefined
      ? html`<p>${text}${link === undefined ? "" : html` <a href="${link}">${link}</a>`}</p>`
      : html`<p><strong>${text}</strong> It is shown this once; copy it now.</p><p><code class="secret" data-copy="${secret}" data-name="it">${secret}</code></p>`,
  )}</div>`

/** A state in a word, with a sign: colour is not all that tells one from another. */
export const label = (tone: "good" | "warn" | "bad" | "info", sign: string, text: string): Markup =>
  html`<span class="label ${tone}"><span aria-hidden="true">${sign}</span> ${text}</span>`

/** The state of a run or permit, with what it alone would not say. */
export const marked = (state: Markup, of: Parameters<typeof marksOf>[0]): Markup =>
  html`<span class="labels">${state}${marksOf(of).map(mark => html` <span class="label ${mark.tone}">${mark.text}</span>`)}</span>`

export const outcomeLabel = (run: Pick<RunSummary, "outcome_kind" | "enforcement" | "closing_outcome">): Markup => {
  const tone = toneOf(run.outcome_kind)
  return marked(label(tone, SIGNS[tone], OUTCOME_NAMES[run.outcome_kind]), run)
}

/** Where a cell of a row begins. Text of a cell has no such sign: it is escaped. */
const CELL = /<t[dh](?=[ >])/g

/** A row in which each cell names its column, for narrow screens, where a row is a card. */
async function labelled(row: Markup, columns: readonly string[]): Promise<ReturnType<typeof raw>> {
  let column = -1
  const text = `${await row}`.replace(CELL, cell => {
    column++
    return html`${raw(cell)} data-label="${columns[column] ?? ""}"`.toString()
  })
  return raw(text)
}

/** A table that scrolls by itself where it is too wide, and can be reached by keyboard to do so. On a narrow screen its rows are cards. */
export const table = (caption: string, columns: readonly string[], rows: readonly Markup[], className = ""): Markup =>
  html`<div class="scroll ${className}" role="region" aria-label="${caption}" tabindex="0"><table><caption class="unseen">${caption}</caption>
<thead><tr>${columns.map(column => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>${rows.map(row => labelled(row, columns))}</tbody></table></div>`

/** A share of a whole as a bar with its figures in words. */
export function meter(label: string, value: number, cap: number): Markup {
  const share = cap === 0 ? (value > 0 ? 100 : 0) : Math.min(100, (100 * value) / cap)
  const tone = share >= 100 ? "bad" : share >= 80 ? "warn" : "good"
  return html`<div class="meter"><svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}: ${number(value)} of ${number(cap)}"><rect width="100" height="6" class="track"/><rect width="${share.toFixed(2)}" height="6" class="fill ${tone}"/></svg><span class="figures">${number(value)} <span class="quiet">of ${number(cap)}</span></span></div>`
}

/** Levels of a declared section that are laid out; what is deeper is shown as JSON. */
const MAX_LEVELS = 6
/** Items of a list that are laid out. */
const MAX_ITEMS = 50

/** UTF-16 units of a text that are shown before it is opened. */
const MAX_SHOWN = 300

/** A text of any length: of a long one its beginning, which opens. */
const whole = (text: string): Markup | string =>
  text.length <= MAX_SHOWN
    ? text
    : html`<details class="whole"><summary><span class="cut">${text.slice(0, MAX_SHOWN)}…</span> <span class="more">all ${number(text.length)} characters</span></summary>${text}</details>`

/** A name whose lines break between its words. */
export const named = (name: string): Markup => html`${wordsOf(name).map(word => html`${word}<wbr>`)}`

/** A name in a list, in at most two lines; its title is the whole. */
export const clipped = (name: string): Markup => html`<span class="clip" title="${name}">${named(name)}</span>`

/** A JSON value to be read: members as labelled values, lists as lists. */
export function readable(value: JsonValue, level = 0): Markup {
  if (value === null || typeof value !== "object") return html`<span class="value">${whole(scalar(value))}</span>`
  if (level >= MAX_LEVELS) return html`<code>${whole(JSON.stringify(value))}</code>`
  if (Array.isArray(value)) {
    if (value.length === 0) return html`<span class="quiet">none</span>`
    const more = beyondShown(value.length)
    return html`<ol class="tree">${value.slice(0, MAX_ITEMS).map(item => html`<li>${readable(item, level + 1)}</li>`)}${more && html`<li class="quiet">${more}</li>`}</ol>`
  }
  const members = Object.entries(value)
  if (members.length === 0) return html`<span class="quiet">nothing</span>`
  const more = beyondShown(members.length)
  return html`<dl class="tree">${members.slice(0, MAX_ITEMS).map(([name, member]) => html`<div><dt>${clipped(name.replaceAll("_", " "))}</dt><dd>${readable(member, level + 1)}</dd></div>`)}${more && html`<div class="quiet"><dt>${more}</dt></div>`}</dl>`
}

const beyondShown = (length: number): string =>
  length <= MAX_ITEMS ? "" : `and ${number(length - MAX_ITEMS)} more, in the bundle`

const scalar = (value: string | number | boolean | null): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : value === null ? "null" : `${value}`

/** The hidden fields of every form: the session's token, and one of this form, which is used up by what it asks for. */
export const formTokens = (csrf: string | undefined): Markup =>
  html`<input type="hidden" name="csrf" value="${csrf ?? ""}"><input type="hidden" name="once" value="${crypto.randomUUID()}">`
