/** The parameters of the lists over all keys. Each is paged by a key of its rows. */
import { ADMIN_ACTIONS, type AdminAction, SUBJECT_KINDS, type SubjectKind } from "@runseal/core/artifacts/admin-event"
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import { OVERVIEW_RANGE_DEFAULT, OVERVIEW_RANGE_NAMES, type OverviewRange } from "@runseal/core/wire/overview-answer"
import { PERMIT_STATES, type PermitState } from "@runseal/core/wire/permit-requests"
import { PAGE_LIMIT_DEFAULT, type RunFilters } from "@runseal/core/wire/run-summaries"
import * as v from "valibot"
import {
  exportQuerySchema,
  integerText,
  page,
  type QuerySchema,
  readQuery,
  searchFilters,
  searchQuerySchema,
} from "./query.ts"

const opt = v.exactOptional

/** Where in the list of all permits a page begins. */
type PermitPlace = { readonly opened_at: number; readonly permit_id: string }

const ordinal = (description: string) => v.pipe(integerText(1, Number.MAX_SAFE_INTEGER), v.description(description))
const limit = page.limit
const before = opt(ordinal("`next` of the page before."))
const key = opt(v.pipe(integerText(0, Number.MAX_SAFE_INTEGER), v.description("Id of a key; 0 = open mode.")))

type Paged = { readonly limit?: number; readonly before?: number }
type OfKey = { readonly key?: number }

const { limit: _limit, offset: _offset, ...runFilters } = searchQuerySchema.entries
/** `GET /admin/runs`. */
export const adminRunsQuerySchema: QuerySchema<Paged & OfKey & RunFilters> = v.object({
  limit,
  before,
  key,
  ...runFilters,
})

/** Where a page of permits begins: the time in milliseconds and the id of the last one before it. */
const permitPlace = v.pipe(
  v.string(),
  v.check(text => placeOf(text) !== undefined, "must be next of the page before"),
  v.description("`next` of the page before, as it is."),
)

/** `GET /admin/permits`. */
export const adminPermitsQuerySchema: QuerySchema<
  OfKey & { readonly limit?: number; readonly before?: string; readonly state?: PermitState }
> = v.object({
  limit,
  before: opt(permitPlace),
  key,
  state: opt(v.picklist(PERMIT_STATES, `must be one of ${PERMIT_STATES.join(", ")}`)),
})

/** `GET /admin/published`. */
export const publishedQuerySchema: QuerySchema<Paged & OfKey> = v.object({ limit, before, key })

/** `GET /admin/overview`. */
export const overviewQuerySchema: QuerySchema<{ readonly range?: OverviewRange }> = v.object({
  range: opt(
    v.pipe(
      v.picklist(OVERVIEW_RANGE_NAMES, `must be one of ${OVERVIEW_RANGE_NAMES.join(", ")}`),
      v.metadata({ default: OVERVIEW_RANGE_DEFAULT }),
    ),
  ),
})

/** `GET /admin/audit`. */
export const auditQuerySchema: QuerySchema<
  Paged & { readonly action?: AdminAction; readonly subject_kind?: SubjectKind; readonly subject_id?: string }
> = v.object({
  limit,
  before,
  action: opt(v.picklist(ADMIN_ACTIONS, `must be one of ${ADMIN_ACTIONS.join(", ")}`)),
  subject_kind: opt(v.picklist(SUBJECT_KINDS, `must be one of ${SUBJECT_KINDS.join(", ")}`)),
  subject_id: opt(v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,256}$/, "must be 1 to 256 characters of ASCII"))),
})

/** `GET /admin/audit/export`. */
export const auditExportQuerySchema: QuerySchema<{ readonly from?: string; readonly to?: string }> = v.object({
  from: exportQuerySchema.entries.from,
  to: exportQuerySchema.entries.to,
})

/** `GET /admin/runs/export`. */
export const keyExportQuerySchema: QuerySchema<{
  readonly key: number
  readonly from?: string
  readonly to?: string
}> = v.object({ key: key.wrapped, ...auditExportQuerySchema.entries }, "is required")

type Read<Query> = Omit<Query, "limit"> & { readonly limit: number }
const withLimit = <Query extends { readonly limit?: number }>(query: Query): Read<Query> => ({
  ...query,
  limit: query.limit ?? PAGE_LIMIT_DEFAULT,
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
export const readAudit = (url: string) => withLimit(readQuery(auditQuerySchema, url))

/** Where the next page begins. */
export const placeText = ({ opened_at, permit_id }: PermitPlace): string => `${opened_at}.${permit_id}`

function placeOf(text: string): PermitPlace | undefined {
  const [, time = "", permit_id = ""] = /^(\d{1,16})\.(.*)$/.exec(text) ?? []
  const opened_at = Number(time)
  return time !== "" && Number.isSafeInteger(opened_at) && v.is(permitIdSchema, permit_id)
    ? { opened_at, permit_id }
    : undefined
}
