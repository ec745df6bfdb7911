/**
 * Query parameters, as schemas that requests are validated by and that the OpenAPI document is made of. A bad value, a parameter
 * given twice and one that the endpoint does not have are each a 400, never silently another value.
 */
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueReason, shownName } from "@runseal/core/artifacts/schema-issue"
import { rfc3339Millis } from "@runseal/core/derivation/v2/tok"
import { GATES, OUTCOME_KINDS, type OutcomeKind, STAGES } from "@runseal/core/vocabulary/outcomes"
import {
  clockMillis,
  ENFORCEMENT,
  type Enforcement,
  envelopeIdSchema,
  ROUTE_ID_MAX_LENGTH,
  sha256Schema,
} from "@runseal/core/vocabulary/scalars"
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, type RunFilters } from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import { HttpError } from "../http-error.ts"

/** Schema of an endpoint's parameters. */
export type QuerySchema<T> = v.GenericSchema<unknown, T> & { readonly entries: Readonly<Record<string, unknown>> }

export type Page = { readonly limit: number; readonly offset: number }

export const integerText = (min: number, max: number, fallback?: number): v.GenericSchema<string, number> => {
  const rule = `must be an integer from ${min} to ${max}`
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,16}$/, rule),
    v.transform(Number),
    v.number(),
    v.safeInteger(rule),
    v.minValue(min, rule),
    v.maxValue(max, rule),
    v.metadata(fallback === undefined ? {} : { default: fallback }),
  )
}

const opt = v.exactOptional
/** The message about a missing parameter. */
const REQUIRED = "is required"

/** The parameters of every list. */
export const page = {
  limit: opt(integerText(1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT)),
  offset: opt(integerText(0, Number.MAX_SAFE_INTEGER, 0)),
}
export const pageQuerySchema = v.object(page)

/** An exact text, as sealed records hold it. */
const exactText = (description: string): v.GenericSchema<string> => {
  const rule = `must be 1 to ${ROUTE_ID_MAX_LENGTH} characters`
  return v.pipe(
    v.string(),
    v.minLength(1, rule),
    v.maxLength(ROUTE_ID_MAX_LENGTH, rule),
    v.check(text => !text.includes("\u0000"), "must be without U+0000, which no record has"),
    v.check(text => text.isWellFormed(), "must not hold half a character"),
    v.description(`${description} Length in UTF-16 units; U+0000 is refused.`),
  )
}
const outcome = v.picklist(OUTCOME_KINDS, `must be one of ${OUTCOME_KINDS.join(", ")}`)
const ERROR_STAGES = [...GATES, ...STAGES] as const
const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/
/** The first millisecond of a timestamp, or of a day in UTC; undefined for other texts. */
const startMillis = (text: string): number | undefined => rfc3339Millis(DAY.test(text) ? `${text}T00:00:00Z` : text)
/** The first millisecond after it. */
const endMillis = (text: string): number | undefined => {
  const start = startMillis(text)
  return start === undefined ? undefined : start + (DAY.test(text) ? DAY_MS : 1)
}
/** A time whose offset was east of UTC: in a query an unescaped + is a space. */
const LOST_PLUS = /^\d{4}-\d{2}-\d{2}T[\d:.]+ \d{2}:\d{2}$/i
const instantText = v.pipe(
  v.string(),
  v.check(
    text => !LOST_PLUS.test(text),
    "must be an RFC 3339 timestamp: write the + of its offset as %2B, since a + in a query is a space",
  ),
  v.check(text => startMillis(text) !== undefined, "must be an RFC 3339 timestamp, or a day as YYYY-MM-DD"),
  v.metadata({
    anyOf: [{ format: "date-time" }, { format: "date" }],
    description: "RFC 3339, included. A day without a time is that day in UTC, from its start to its end.",
  }),
)
const hexPrefix = v.pipe(v.string(), v.regex(/^[0-9a-f]{1,64}$/, "must be 1 to 64 lowercase hex digits"))

export const searchQuerySchema = v.object({
  ...page,
  manifest_hash: opt(hexPrefix),
  program_id: opt(sha256Schema),
  route_id: opt(exactText("")),
  status: opt(outcome),
  outcome_kind: opt(v.pipe(outcome, v.description("The same as status."))),
  error_stage: opt(
    v.pipe(
      v.picklist(ERROR_STAGES, `must be one of ${ERROR_STAGES.join(", ")}`),
      v.description("The gate or stage at which the run ended."),
    ),
  ),
  enforcement: opt(
    v.pipe(
      v.literal(ENFORCEMENT, `must be ${ENFORCEMENT}`),
      v.description("Runs that were observed and not enforced."),
    ),
  ),
  rule_id: opt(
    exactText("Id of the policy rule or signature that decided, or of a signature whose match was observed."),
  ),
  payload_hash: opt(sha256Schema),
  envelope_id: opt(envelopeIdSchema),
  actor_id: opt(exactText("actor_id of attested_context.")),
  model_name: opt(exactText("model_name of attested_context.")),
  approver: opt(exactText("actor_id of one of the first 64 approvers of authorization_chain.")),
  from: opt(instantText),
  to: opt(instantText),
})

/** Bounds of `GET /runs/export`: like those of a search, within the years that a record's clock can express. */
const clockText = v.pipe(
  instantText,
  v.check(text => clockMillis(clockOf(startMillis(text))) !== undefined, "must be in the years 0000 to 9999 of UTC"),
  v.description("RFC 3339, included, or a day in UTC; in the years 0000 to 9999 of UTC."),
)
const clockOf = (millis: number | undefined): string => (millis === undefined ? "" : new Date(millis).toISOString())
const OPEN_MODE = "anonymous"
export const exportQuerySchema = v.object({
  from: opt(clockText),
  to: opt(clockText),
  tenant: opt(
    v.pipe(
      v.literal(OPEN_MODE, `must be ${OPEN_MODE}`),
      v.description("The records of open mode, for the key that they were given to; absent: the caller's own."),
    ),
  ),
})

/** Tree sizes of `GET /log/consistency`. */
export const consistencyQuerySchema = v.object(
  { first: integerText(1, Number.MAX_SAFE_INTEGER), second: integerText(1, Number.MAX_SAFE_INTEGER) },
  REQUIRED,
)

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
export const readPage = (url: string): Page => asPage(readQuery(pageQuerySchema, url))

export const asPage = ({ limit = PAGE_LIMIT_DEFAULT, offset = 0 }: Partial<Page>): Page => ({ limit, offset })

type SearchFilters = {
  readonly manifest_hash_prefix?: string
  readonly program_id?: string
  readonly route_id?: string
  readonly status?: OutcomeKind
  readonly error_stage?: string
  readonly enforcement?: Enforcement
  readonly terms?: readonly RunTerm[]
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded: one later than `to`, which is included. */
  readonly to_ms?: number
}

/** Filters that the index of values answers. */
const TERMS = ["rule_id", "payload_hash", "envelope_id", "actor_id", "model_name", "approver"] as const
type RunTerm = { readonly field: (typeof TERMS)[number]; readonly value: string }

/** Filters and page of `GET /runs/search`. @throws HttpError 400 */
export function readSearch(url: string): { readonly filters: SearchFilters; readonly page: Page } {
  const query = readQuery(searchQuerySchema, url)
  return { filters: searchFilters(query), page: asPage(query) }
}

/** The filters of a search, as the store has them. @throws HttpError 400 */
export function searchFilters(query: RunFilters): SearchFilters {
  const { manifest_hash, program_id, route_id, outcome_kind, error_stage, enforcement, status = outcome_kind } = query
  if (status !== (outcome_kind ?? status))
    throw invalidParameter("status and outcome_kind must be equal when both are given.")
  const terms = TERMS.flatMap(field => (query[field] === undefined ? [] : [{ field, value: query[field] }]))
  return {
    ...(manifest_hash === undefined ? {} : { manifest_hash_prefix: manifest_hash }),
    ...(program_id === undefined ? {} : { program_id }),
    ...(route_id === undefined ? {} : { route_id }),
    ...(status === undefined ? {} : { status }),
    ...(error_stage === undefined ? {} : { error_stage }),
    ...(enforcement === undefined ? {} : { enforcement }),
    ...(terms.length === 0 ? {} : { terms }),
    ...asRange(query),
  }
}

type Export = { readonly range: Pick<SearchFilters, "from_ms" | "to_ms">; readonly ofOpenMode: boolean }

/** When the records of an export were admitted, and whose they are. */
export function readExport(url: string): Export {
  const query = readQuery(exportQuerySchema, url)
  return { range: asRange(query), ofOpenMode: query.tenant === OPEN_MODE }
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
