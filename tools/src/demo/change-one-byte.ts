/** Forgeries: a saved document with one byte changed, and a receipt with another run's number on it. */
import type { Forgery } from "./demo-plan.ts"

/** The text with the first place of `from` changed. @throws Error when it is not there, or more than one byte would change */
export function changeOneByte(text: string, { from, to }: Pick<Forgery, "from" | "to">): string {
  const changed = [...from].filter((character, i) => character !== to[i]).length
  if (from.length !== to.length || changed !== 1) throw new Error(`"${from}" and "${to}" do not differ in one byte`)
  if (!text.includes(from)) throw new Error(`the document does not hold "${from}"`)
  return text.replace(from, to)
}

/** The text with the first digit of its first `run_id` changed: the receipt claims to be another run's. */
export function renumber(text: string): string {
  const found = /"run_id":(\d)/.exec(text)
  if (found?.[1] === undefined) throw new Error("the document has no run_id")
  return changeOneByte(text, { from: found[0], to: `"run_id":${found[1] === "9" ? "8" : Number(found[1]) + 1}` })
}
