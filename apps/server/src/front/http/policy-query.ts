/** Parameters of `GET /admin/policies`. */
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import { integerText, type QuerySchema, readQuery } from "./query.ts"

export const policiesQuerySchema: QuerySchema<{ readonly limit?: number; readonly before?: number }> = v.object({
  limit: v.exactOptional(integerText(1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT)),
  before: v.exactOptional(
    v.pipe(
      integerText(1, Number.MAX_SAFE_INTEGER),
      v.description("Only versions below this one: `next` of the page before."),
    ),
  ),
})

/** @throws HttpError 400 */
export function readPoliciesQuery(url: string): { readonly limit: number; readonly before: number } {
  const { limit = PAGE_LIMIT_DEFAULT, before = Number.MAX_SAFE_INTEGER } = readQuery(policiesQuerySchema, url)
  return { limit, before }
}
