/** What the rules of an entry are checked with: once in Node and once in the form a browser gets. */
import type { JsonValue } from "@runseal/canonical"
import * as v from "valibot"
import { type TransparencyLogEntry, transparencyLogEntrySchema } from "../src/entries/log-entry.ts"

export { verifyEcdsaP256, verifyEd25519 } from "#signatures"
export { checkEntry } from "../src/entries/check-entry.ts"
export { verifyNote } from "../src/notes/verified-note.ts"
export { parseTrust } from "../src/trust/trust-document.ts"

export function parseEntry(value: JsonValue): TransparencyLogEntry | undefined {
  const parsed = v.safeParse(transparencyLogEntrySchema, value)
  return parsed.success ? parsed.output : undefined
}
