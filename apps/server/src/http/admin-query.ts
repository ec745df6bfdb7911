/** The parameters of the lists over all keys. Each is paged by a key of its rows. */
import { ADMIN_ACTIONS, SUBJECT_KINDS } from "@runseal/core/artifacts/admin-event"
import { EVENT_FORMATS, EVENTS_LIMIT_DEFAULT, EVENTS_LIMIT_MAX } from "@runseal/core/wire/event-messages"
import { OVERVIEW_RANGE_DEFAULT, OVERVIEW_RANGE_NAMES } from "@runseal/core/wire/overview-answer"
import { PERMIT_STATES } from "@runseal/core/wire/permit-requests"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import { exportQuerySchema, integerText, page, readQuery, searchFilters, searchQuerySchema } from "./query.ts"

const opt = v.exactOptional

/** Where in the list of all permits a page begins. */
type PermitPlace = { readonly opened_at: number; readonly permit_id: string }

const ordinal = (description: string) => v.pipe(integerText(1, Number.MAX_SAFE_INTEGER), v.description(description))
const limit = page.limit
const before = opt(ordinal("`next` of the page before."))
const key = opt(v.pipe(integerText(0, Number.MAX_SAFE_INTEGER), v.description("Id of a key; 0 = open mode.")))

const { limit: _limit, offset: _offset, ...runFilters } = searchQuerySchema.entries
/** `GET /admin/runs`. */
export const adminRunsQuerySchema = v.object({
  limit,
  before,
  key,
  ...runFilters,
})

const PERMIT_PLACE = /^(\d{1,16})\.(pmt-[0-9a-f]{32})$/

/** Where a page of permits begins: the time in milliseconds and the id of the last one before it. */
const permitPlace = v.pipe(
  v.string(),
  v.check(text => placeOf(text) !== undefined, "must be next of the page before"),
  v.metadata({ pattern: PERMIT_PLACE.source, description: "`next` of the page before, as it is." }),
)

/** `GET /admin/permits`. */
export const adminPermitsQuerySchema = v.object({
  limit,
  before: opt(permitPlace),
  key,
  state: opt(v.picklist(PERMIT_STATES, `must be one of ${PERMIT_STATES.join(", ")}`)),
})

/** `GET /admin/published`. */
export const publishedQuerySchema = v.object({ limit, before, key })

/** `GET /admin/shares`. */
export const sharesQuerySchema = v.object({ limit, before, key, run: opt(ordinal("Number of a run.")) })

/** `GET /admin/overview`. */
export const overviewQuerySchema = v.object({
  range: opt(
    v.pipe(
      v.picklist(OVERVIEW_RANGE_NAMES, `must be one of ${OVERVIEW_RANGE_NAMES.join(", ")}`),
      v.metadata({ default: OVERVIEW_RANGE_DEFAULT }),
    ),
  ),
})

/** `GET /admin/audit`. */
export const auditQuerySchema = v.object({
  limit,
  before,
  action: opt(v.picklist(ADMIN_ACTIONS, `must be one of ${ADMIN_ACTIONS.join(", ")}`)),
  subject_kind: opt(v.picklist(SUBJECT_KINDS, `must be one of ${SUBJECT_KINDS.join(", ")}`)),
  subject_id: opt(v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,256}$/, "must be 1 to 256 characters of ASCII"))),
})

/** `GET /admin/policies`. */
export const policiesQuerySchema = v.object({
  limit,
  before: opt(ordinal("Only versions below this one: `next` of the page before.")),
})

/** `GET /admin/events`. */
export const eventsQuerySchema = v.object({
  after: opt(
    v.pipe(
      integerText(0, Number.MAX_SAFE_INTEGER - 1),
      v.description("Position of the last event that was read; absent: from the first on."),
    ),
  ),
  limit: opt(integerText(1, EVENTS_LIMIT_MAX, EVENTS_LIMIT_DEFAULT)),
  format: opt(
    v.pipe(
      v.picklist(EVENT_FORMATS, `must be one of ${EVENT_FORMATS.join(", ")}`),
      v.metadata({ default: "standard" }),
    ),
  ),
})

/** `GET /admin/audit/export`. */
export const auditExportQuerySchema = v.object({
  from: exportQuerySchema.entries.from,
  to: exportQuerySchema.entries.to,
})

/** `GET /admin/runs/export`. */
export const keyExportQuerySchema = v.object({ key: key.wrapped, ...auditExportQuerySchema.entries }, "is required")

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

/** Where the next page begins. */
export const placeText = ({ opened_at, permit_id }: PermitPlace): string => `${opened_at}.${permit_id}`

function placeOf(text: string): PermitPlace | undefined {
  const [, time = "", permit_id = ""] = PERMIT_PLACE.exec(text) ?? []
  const opened_at = Number(time)
  return time !== "" && Number.isSafeInteger(opened_at) ? { opened_at, permit_id } : undefined
}
