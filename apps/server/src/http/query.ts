/**
 * Reads the parameters of a query by the schema of its endpoint. A bad value, a parameter given twice and one that the endpoint does not
 * have are each a 400, never silently another value. It has the parameters of the next page as well.
 */
import { endMillis, type QuerySchema, startMillis } from "@runseal/api/queries"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import type { ActOutcome } from "@runseal/core/artifacts/permit-sections"
import { issueReason, shownName } from "@runseal/core/artifacts/schema-issue"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { Enforcement } from "@runseal/core/vocabulary/scalars"
import { PAGE_LIMIT_DEFAULT, type RunFilters } from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import { HttpError } from "../http-error.ts"

export type Page = { readonly limit: number; readonly offset: number }

/** 400 for a query that an endpoint does not accept. */
export const invalidParameter = (message: string): HttpError => new HttpError("invalid_parameter", message)

/** The parameters of a URL's query, of which `refuseUnknown` has refused those that the schema does not name. @throws HttpError 400 naming the parameter, never its value */
export function readQuery<T>(schema: QuerySchema<T>, url: string): T {
  const values: Record<string, string> = {}
  for (const [name, value] of queryPairs(url)) {
    if (Object.hasOwn(values, name)) throw invalidParameter(`${name} must be given once.`)
    values[name] = value
  }
  const parsed = v.safeParse(schema, values, FIRST_ISSUE)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw invalidParameter(`${v.getDotPath(issue)} ${issueReason(issue)}.`)
}

/** @param schema absent for an endpoint without parameters. @throws HttpError 400 naming those that there are, and the one given if it is spelt like one */
export function refuseUnknown(schema: QuerySchema<unknown> | undefined, url: string): void {
  const known = Object.keys(schema?.entries ?? {})
  const unknown = queryPairs(url).find(([name]) => !known.includes(name))
  if (unknown === undefined) return
  const name = shownName(unknown[0])
  const given = name === undefined ? "An unknown query parameter was given" : `There is no query parameter ${name}`
  throw invalidParameter(
    known.length === 0
      ? "This endpoint takes no query parameters."
      : `${given}; this endpoint takes ${known.join(", ")}.`,
  )
}

/** Names and values of a query string, decoded as forms write them (WHATWG URL §5.1), but never with a replacement character. */
function queryPairs(url: string): readonly (readonly [name: string, value: string])[] {
  const start = url.indexOf("?")
  const pairs =
    start < 0
      ? []
      : url
          .slice(start + 1)
          .split("&")
          .filter(pair => pair !== "")
  return pairs.map(pair => {
    const at = pair.indexOf("=")
    return at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
  })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    throw invalidParameter("The query is not percent-encoded UTF-8.")
  }
}

/** `limit` and `offset` of a list. */
export const asPage = ({
  limit = PAGE_LIMIT_DEFAULT,
  offset = 0,
}: {
  readonly [Name in keyof Page]?: Page[Name] | undefined
}): Page => ({ limit, offset })

type SearchFilters = {
  readonly manifest_hash_prefix?: string
  readonly program_id?: string
  readonly route_id?: string
  readonly route_prefix?: string
  readonly status?: OutcomeKind
  readonly error_stage?: string
  readonly enforcement?: Enforcement
  readonly closing_outcome?: ActOutcome
  readonly terms?: readonly RunTerm[]
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded: one later than `to`, which is included. */
  readonly to_ms?: number
}

/** Filters that the index of values answers. */
const TERMS = [
  "rule_id",
  "payload_hash",
  "envelope_id",
  "actor_id",
  "model_name",
  "approver",
  "end_user",
  "end_user_issuer",
] as const
type RunTerm = { readonly field: (typeof TERMS)[number]; readonly value: string }

/** The filters of a search, as the store has them. @throws HttpError 400 */
export function searchFilters(query: RunFilters): SearchFilters {
  const { manifest_hash, program_id, route_id, route_prefix, outcome_kind, error_stage } = query
  const { enforcement, closing_outcome } = query
  const { status = outcome_kind } = query
  if (status !== (outcome_kind ?? status))
    throw invalidParameter("status and outcome_kind must be equal when both are given.")
  const terms = TERMS.flatMap(field => (query[field] === undefined ? [] : [{ field, value: query[field] }]))
  return {
    ...(manifest_hash === undefined ? {} : { manifest_hash_prefix: manifest_hash }),
    ...(program_id === undefined ? {} : { program_id }),
    ...(route_id === undefined ? {} : { route_id }),
    ...(route_prefix === undefined ? {} : { route_prefix }),
    ...(status === undefined ? {} : { status }),
    ...(error_stage === undefined ? {} : { error_stage }),
    ...(enforcement === undefined ? {} : { enforcement }),
    ...(closing_outcome === undefined ? {} : { closing_outcome }),
    ...(terms.length === 0 ? {} : { terms }),
    ...asRange(query),
  }
}

/** Both ends are included. @throws HttpError 400 for a range that ends before it starts */
export function asRange(query: {
  readonly from?: string
  readonly to?: string
}): Pick<SearchFilters, "from_ms" | "to_ms"> {
  const [from, to] = [startMillis(query.from ?? ""), endMillis(query.to ?? "")]
  if (from !== undefined && to !== undefined && from >= to) throw invalidParameter("from must not be later than to.")
  return {
    ...(from === undefined ? {} : { from_ms: from }),
    ...(to === undefined ? {} : { to_ms: to }),
  }
}

// Lists that are paged by a key of their rows.

/** `next` of a full page: there may be more. @param placeOf where the page after a row begins */
export function nextOf<Row, Next>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => Next,
): { readonly next?: Next } {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last === undefined ? {} : { next: placeOf(last) }
}
