/** The tokens that a caller declares, which budgets count and policies read. */
import type { JsonObject } from "@runseal/canonical"
import { member } from "./json-members.ts"

/** Declared tokens of a request; zero when it declares none. */
export function declaredTokens(substance: JsonObject | undefined): number {
  const total = member(member(substance, "cost"), "total_tokens")
  return typeof total === "number" ? total : 0
}
