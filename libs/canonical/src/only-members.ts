/** Canonical texts without the members that are not asked for: large values in them are not read. */

/** The members that stay: whole, or of each some members. Their names are ASCII. */
export type WantedMembers = { readonly [name: string]: true | WantedMembers }

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * An object with the wanted members that it has, in linear time.
 * @param text of an object in RFC 8785 form. Of any other text it makes one of which nothing is known
 */
export function onlyMembers(text: string, wanted: WantedMembers): string {
  const members: string[] = []
  let missing = Object.keys(wanted).length
  for (let at = 1; missing > 0 && text.charCodeAt(at) === QUOTE; ) {
    const colon = stringEnd(text, at)
    const end = valueEnd(text, colon + 1)
    const name = text.slice(at + 1, colon - 1)
    const inner = Object.hasOwn(wanted, name) ? wanted[name] : undefined
    if (inner !== undefined) {
      const value = text.slice(colon + 1, end)
      members.push(`"${name}":${inner === true ? value : onlyMembers(value, inner)}`)
      missing -= 1
    }
    at = end + 1
  }
  return `{${members.join(",")}}`
}

/** Where the string ends that begins at a place: behind its closing quote. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((quote - before) % 2 === 1) return quote + 1
  }
  return text.length
}

/** Where the value ends that begins at a place: at the comma or the bracket behind it. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (depth === 0 && (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET)) return at
    if (code === QUOTE) at = stringEnd(text, at)
    else {
      if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
      if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1
      at += 1
    }
  }
  return at
}
