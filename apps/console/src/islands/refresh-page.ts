/**
 * Makes a page like a newer one of the same address, and leaves alone what did not change: what has the focus, is selected or was opened stays
 * so. Rows are known by the address that they lead to, so that one that comes above the others moves none of them to another act.
 */

/** What keeps its own state: forms that are being filled, and what other scripts made or change. */
const OWN = "form, [data-own], .copy, button[data-copy], button[data-curl]"

/** The event of a page that was refreshed. */
const REFRESHED = "runseal-refreshed"

/** @param newer of the same address */
export function refresh(page: Document, newer: Document): void {
  page.title = newer.title
  for (const part of [".places", "main"]) {
    const [old, fresh] = [page.querySelector(part), newer.querySelector(part)]
    if (old !== null && fresh !== null) renew(old, fresh)
  }
  page.dispatchEvent(new Event(REFRESHED))
}

/** By what an element is known among its brothers. */
function keyOf(node: Node): string | undefined {
  if (!(node instanceof Element)) return undefined
  if (node.id !== "") return node.id
  return node.matches("tr, li") ? (node.querySelector("a")?.getAttribute("href") ?? undefined) : undefined
}

/** Whether one can become the other. */
const isAlike = (old: Node, fresh: Node): boolean =>
  old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh) && (!(old instanceof Element) || !old.matches(OWN))

function renew(old: Element, fresh: Element): void {
  if (old.isEqualNode(fresh)) return
  renewAttributes(old, fresh)
  const left = [...old.childNodes]
  let place: ChildNode | null = old.firstChild
  for (const next of [...fresh.childNodes]) {
    const found = left.findIndex(one => isAlike(one, next) || isOwned(one, next))
    const [one] = found < 0 ? [] : left.splice(found, 1)
    if (one === undefined) {
      const made = old.ownerDocument.importNode(next, true)
      if (made instanceof HTMLTableRowElement) made.classList.add("new")
      old.insertBefore(made, place)
      continue
    }
    if (one !== place) old.insertBefore(one, place)
    place = one.nextSibling
    if (one instanceof Element && next instanceof Element) {
      if (!one.matches(OWN)) renew(one, next)
    } else if (one.nodeValue !== next.nodeValue) one.nodeValue = next.nodeValue
  }
  // What a form has done is in no newer page.
  for (const one of left) if (!(one instanceof Element && one.matches(OWN))) one.remove()
}

const isOwned = (old: Node, fresh: Node): boolean =>
  old instanceof Element && fresh instanceof Element && old.matches(OWN) && fresh.matches(OWN)

/** What was opened stays open, and what was closed stays closed. */
function renewAttributes(old: Element, fresh: Element): void {
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name)
  for (const { name, value } of [...fresh.attributes])
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value)
}
