/** How figures, times and hashes are written. */
import { html, type Markup } from "./markup.ts"

const NUMBER = new Intl.NumberFormat("en-US")
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 })

export const number = (value: number): string => NUMBER.format(value)
/** A large number in few characters, such as 1.2M. */
export const compact = (value: number): string => (value < 10_000 ? NUMBER.format(value) : COMPACT.format(value))

export const plural = (count: number, one: string, many: string = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** `2026-05-04 12:00:00 UTC`, in an element that says it for programs too. */
export const time = (text: string): Markup =>
  html`<time datetime="${text}">${text.slice(0, 19).replace("T", " ")}<span class="zone"> UTC</span></time>`

/** The same to the minute, for lists. @param text absent for what never was */
export const shortTime = (text: string | null | undefined): Markup =>
  text === null || text === undefined
    ? html`<span class="quiet">never</span>`
    : html`<time datetime="${text}" title="${text}">${text.slice(0, 16).replace("T", " ")}</time>`

/** The beginning of a hash; the whole is in its title. */
export const shortHash = (hash: string): Markup =>
  hash === ""
    ? html`<span class="quiet">none</span>`
    : html`<code title="${hash}" data-copy="${hash}">${hash.slice(0, 12)}…</code>`

/** Seconds as the largest unit that is not a fraction of one. */
export function seconds(value: number): string {
  if (value < 120) return plural(value, "second")
  if (value < 7200) return plural(Math.round(value / 60), "minute")
  return value < 172_800 ? plural(Math.round(value / 3600), "hour") : plural(Math.round(value / 86_400), "day")
}

/** An address with these parameters; those that are empty are left out. */
export function address(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") query.set(name, `${value}`)
  const text = query.toString()
  return text === "" ? path : `${path}?${text}`
}
