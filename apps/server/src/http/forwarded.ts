/** The header Forwarded, RFC 7239. */

/** The `for` of each element, as it was written but for quotation marks, the nearest proxy's first; an empty text where there is none. */
export const forwardedNodes = (header: string): readonly string[] => partsFromRight(header, ",").map(nodeOf)

/** Whether a proxy says that its caller spoke https. */
export const forwardsHttps = (header: string): boolean =>
  partsFromRight(header, ",").some(element => valuesOf(element, "proto").some(proto => /^https$/i.test(proto)))

function nodeOf(element: string): string {
  const [node = "", ...more] = valuesOf(element, "for")
  return more.length === 0 ? node : ""
}

/** The values of a parameter of one element. */
const valuesOf = (element: string, name: string): readonly string[] =>
  partsFromRight(element, ";").flatMap(pair => {
    const [key = "", ...value] = pair.split("=")
    return key.trim().toLowerCase() === name ? [unquoted(value.join("=").trim())] : []
  })

const unquoted = (value: string): string => /^"(.*)"$/.exec(value)?.[1]?.replace(/\\(.)/g, "$1") ?? value

/**
 * The parts of a list, the last first. A separator in a quoted string is none. It is read from the right: what the caller wrote is on
 * the left, and a quotation mark that it never closed changes nothing of what proxies added.
 */
function partsFromRight(text: string, separator: "," | ";"): readonly string[] {
  const parts: string[] = []
  let end = text.length
  let quoted = false
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at]
    if (character === '"' && !(quoted && isEscaped(text, at))) quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(at + 1, end))
      end = at
    }
  }
  return [...parts, text.slice(0, end)]
}

/** Whether an odd number of backslashes is before this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text[first - 1] === "\\") first--
  return (at - first) % 2 === 1
}
