/** Reads the parameters of the lists over all keys. */
import {
  adminPermitsQuerySchema,
  adminRunsQuerySchema,
  auditQuerySchema,
  placeOf,
  policiesQuerySchema,
  publishedQuerySchema,
  sharesQuerySchema,
} from "@runseal/api/queries"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import { readQuery, searchFilters } from "./query.ts"

const withLimit = <Query extends { readonly limit?: number }>({ limit = PAGE_LIMIT_DEFAULT, ...query }: Query) => ({
  ...query,
  limit,
})

/** @throws HttpError 400 */
export function readAdminRuns(url: string) {
  const { limit, before, key, ...filters } = withLimit(readQuery(adminRunsQuerySchema, url))
  return { page: { limit, before }, key, filters: searchFilters(filters) }
}

/** @throws HttpError 400 */
export function readAdminPermits(url: string) {
  const { limit, before = "", key, state } = withLimit(readQuery(adminPermitsQuerySchema, url))
  return { page: { limit, before: placeOf(before) }, key, state }
}

/** @throws HttpError 400 */
export const readPublished = (url: string) => withLimit(readQuery(publishedQuerySchema, url))

/** @throws HttpError 400 */
export const readShares = (url: string) => withLimit(readQuery(sharesQuerySchema, url))

/** @throws HttpError 400 */
export const readPolicies = (url: string) => withLimit(readQuery(policiesQuerySchema, url))

/** @throws HttpError 400 */
export const readAudit = (url: string) => withLimit(readQuery(auditQuerySchema, url))

/** `next` of a full page: there may be more. @param placeOf where the page after a row begins */
export function nextOf<Row, Next>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => Next,
): { readonly next?: Next } {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last === undefined ? {} : { next: placeOf(last) }
}
