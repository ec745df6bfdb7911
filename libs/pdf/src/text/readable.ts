import { wellFormed } from "../fonts/utf16.ts"
import { standInFor } from "./visible.ts"

/** What a string of a PDF/A holds (ISO 19005-3, 6.1.12: 32,767 bytes) with room for signs that are written out. */
const MAX_CHARACTERS = 2000

/** Text for places that are not drawn (titles, outline, alternatives): what would act without showing is written out, what is too long is cut. */
export function readable(text: string): string {
  const characters = Array.from(wellFormed(text.slice(0, 2 * MAX_CHARACTERS)))
  const shown = characters.slice(0, MAX_CHARACTERS).map(character => standInFor(character)?.reads ?? character)
  return shown.join("") + (text.length > 2 * MAX_CHARACTERS || characters.length > MAX_CHARACTERS ? "…" : "")
}
