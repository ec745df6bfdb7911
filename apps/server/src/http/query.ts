/** Query parameters of the list endpoints. A bad value is a 400, never quietly another one. FORMATS §8. */
import { isSha256Hex } from "@runseal/canonical"
import { rfc3339Millis } from "@runseal/core/kernels/tok"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { ROUTE_ID_MAX_LENGTH } from "@runseal/core/wire/execute"
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "@runseal/core/wire/runs"
import { badRequest, notFound } from "./http-error.ts"

export type Page = { readonly limit: number; readonly offset: number }
export type Query = Readonly<Record<string, string | undefined>>

function integer(query: Query, name: string, fallback: number, min: number, max: number): number {
  const text = query[name]
  if (text === undefined) return fallback
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw badRequest(`${name} must be an integer from ${min} to ${max}.`)
  return value
}

/** `limit` and `offset`. */
export const readPage = (query: Query): Page => ({
  limit: integer(query, "limit", PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX),
  offset: integer(query, "offset", 0, 0, Number.MAX_SAFE_INTEGER),
})

export type SearchFilters = {
  readonly manifest_hash_prefix?: string
  readonly program_id?: string
  readonly route_id?: string
  readonly status?: OutcomeKind
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded: one later than `to`, which is included. */
  readonly to_ms?: number
}

function matching(query: Query, name: string, accept: (text: string) => boolean, rule: string): string | undefined {
  const text = query[name]
  if (text !== undefined && !accept(text)) throw badRequest(`${name} must be ${rule}.`)
  return text
}

function instant(query: Query, name: string): number | undefined {
  const text = matching(query, name, value => rfc3339Millis(value) !== undefined, "an RFC 3339 timestamp")
  return text === undefined ? undefined : rfc3339Millis(text)
}

const isHexPrefix = (text: string): boolean => /^[0-9a-f]{1,64}$/.test(text)
const isStatus = (text: string): boolean => OUTCOME_KINDS.some(kind => kind === text)
const isRouteId = (text: string): boolean =>
  text.length > 0 && text.length <= ROUTE_ID_MAX_LENGTH && !text.includes("\u0000") && text.isWellFormed()

/** Filters of `GET /runs/search`. */
export function readFilters(query: Query): SearchFilters {
  const manifest = matching(query, "manifest_hash", isHexPrefix, "1 to 64 lowercase hex digits")
  const program = matching(query, "program_id", isSha256Hex, "64 lowercase hex digits")
  const route = matching(query, "route_id", isRouteId, `1 to ${ROUTE_ID_MAX_LENGTH} characters`)
  const named = matching(query, "status", isStatus, `one of ${OUTCOME_KINDS.join(", ")}`)
  const status = OUTCOME_KINDS.find(kind => kind === named)
  const [from, to] = [instant(query, "from"), instant(query, "to")]
  return {
    ...(manifest === undefined ? {} : { manifest_hash_prefix: manifest }),
    ...(program === undefined ? {} : { program_id: program }),
    ...(route === undefined ? {} : { route_id: route }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined ? {} : { from_ms: from }),
    ...(to === undefined ? {} : { to_ms: to + 1 }),
  }
}

/** A run id from the path; what is no positive integer names no run. */
export function readRunId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw notFound("There is no such run.")
  return id
}
