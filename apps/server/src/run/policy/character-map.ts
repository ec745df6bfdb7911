/** Replaces the characters of a text one by one, by a rule that reads no neighbours. The result for each character is cached. */

const UNKNOWN = 0
const SAME = 1
const OTHER = 2

const CODE_POINTS = 0x11_0000
/** Parts of a result that are joined at a time: joining one by one would make a rope that is slow to read. */
const PARTS_JOINED = 4096

/**
 * A function that replaces each code point by the result of `rule`, in one pass. The cache has at most one entry for each
 * code point; a code point that stays as it is, as most do, costs one lookup.
 * @param rule must be pure; it is given one code point as a string, which is a lone surrogate where the text has one
 */
export function characterMap(rule: (character: string) => string): (text: string) => string {
  const kinds = new Uint8Array(CODE_POINTS)
  const forms = new Map<number, string>()
  const learn = (code: number): number => {
    const character = String.fromCodePoint(code)
    const form = rule(character)
    const kind = form === character ? SAME : OTHER
    if (kind === OTHER) forms.set(code, form)
    kinds[code] = kind
    return kind
  }
  return text => {
    let done = ""
    let parts: string[] = []
    let copiedEnd = 0
    for (let i = 0; i < text.length; ) {
      const code = text.codePointAt(i) ?? 0
      const next = i + (code > 0xffff ? 2 : 1)
      const kind = kinds[code]
      if ((kind === undefined || kind === UNKNOWN ? learn(code) : kind) === OTHER) {
        if (copiedEnd < i) parts.push(text.slice(copiedEnd, i))
        parts.push(forms.get(code) ?? "")
        copiedEnd = next
        if (parts.length >= PARTS_JOINED) {
          done += parts.join("")
          parts = []
        }
      }
      i = next
    }
    if (copiedEnd === 0) return text
    return done + parts.join("") + text.slice(copiedEnd)
  }
}
