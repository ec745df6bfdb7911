import { wellFormed } from "./utf16.ts"
import { standInFor } from "./visible.ts"

/** Text for places that are not drawn (titles, outline, alternatives): what would act without showing is written out. */
export function readable(text: string): string {
  return Array.from(wellFormed(text), character => {
    const standIn = standInFor(character)
    return standIn === undefined ? character : standIn.reads
  }).join("")
}
