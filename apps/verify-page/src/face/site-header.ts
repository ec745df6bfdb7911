/** The head of every page of a service: its name, and where its pages are. */

const LINKS = [
  ["console", "Console"],
  ["verify", "Verify"],
  ["docs", "API"],
] as const

/** A page that the head leads to. */
export type SitePlace = (typeof LINKS)[number][0]

/** The seal of the brand; its colours follow from the style sheet. */
export const SEAL =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="8" class="seal"/><path d="M4 8.5l3 3 5-6" class="tick"/></svg>'

/** The icon of every page, as an address that asks for nothing. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='8' fill='%2317598c'/%3E%3Cpath d='M4 8.5l3 3 5-6' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E"

type HeadParts = {
  /** From the page to the root of the service, relative or absolute: empty, or with a final slash. */
  readonly root: string
  /** Where the page is. */
  readonly here?: SitePlace
  /** Markup at the end of the head, with its values escaped. */
  readonly beside?: string
}

/** The head as markup. The page has an element of the id `main`. */
export function siteHeader({ root, here, beside = "" }: HeadParts): string {
  const links = LINKS.map(
    ([path, name]) => `<li><a href="${root}${path}"${path === here ? ' aria-current="true"' : ""}>${name}</a></li>`,
  )
  return `<a class="skip" href="#main">Skip to the content</a>
<header class="site"><a class="brand" href="${root === "" ? "./" : root}">${SEAL}Runseal</a>
<nav aria-label="Runseal"><ul class="site-links">${links.join("")}</ul></nav>${beside}</header>`
}
