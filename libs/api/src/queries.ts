/** Query parameters of every endpoint, as schemas that requests are validated by and that the OpenAPI document is made of. */
import { ADMIN_ACTIONS, SUBJECT_KINDS } from "@runseal/core/artifacts/admin-event"
import { ACT_OUTCOMES } from "@runseal/core/artifacts/permit-sections"
import { rfc3339Millis } from "@runseal/core/derivation/v2/tok"
import { GATES, OUTCOME_KINDS, STAGES } from "@runseal/core/vocabulary/outcomes"
import {
  clockMillis,
  ENFORCEMENT,
  envelopeIdSchema,
  ROUTE_ID_MAX_LENGTH,
  sha256Schema,
} from "@runseal/core/vocabulary/scalars"
import { COUNTED_RUNS_MAX, RUNS_ADDITIONS } from "@runseal/core/wire/admin-answers"
import { APPROVAL_STATES, APPROVALS_LIMIT_MAX } from "@runseal/core/wire/approval-answers"
import { ATTENTION_WAIT_MAX } from "@runseal/core/wire/attention-answer"
import { EVENT_FORMATS, EVENTS_LIMIT_DEFAULT, EVENTS_LIMIT_MAX } from "@runseal/core/wire/event-messages"
import { OVERVIEW_RANGE_DEFAULT, OVERVIEW_RANGE_NAMES } from "@runseal/core/wire/overview-answer"
import { PASSKEY_STATES, PASSKEYS_LISTED_MAX } from "@runseal/core/wire/passkey-messages"
import { PERMIT_STATES } from "@runseal/core/wire/permit-requests"
import {
  BUNDLE_ADDITIONS,
  BUNDLE_FORM_DEFAULT,
  BUNDLE_FORMS,
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  REPORT_FORMAT_DEFAULT,
  REPORT_FORMATS,
  RUN_DETAILS,
} from "@runseal/core/wire/run-summaries"
import * as v from "valibot"

/** Schema of an endpoint's parameters. */
export type QuerySchema<T> = v.GenericSchema<unknown, T> & { readonly entries: Readonly<Record<string, unknown>> }

const integerText = (min: number, max: number, fallback?: number): v.GenericSchema<string, number> => {
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
const page = {
  limit: opt(integerText(1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT)),
  offset: opt(integerText(0, Number.MAX_SAFE_INTEGER, 0)),
}
export const pageQuerySchema = v.object(page)

/** Where a page begins in a list that is paged by a key of its rows. */
const ordinal = (description: string) => v.pipe(integerText(1, Number.MAX_SAFE_INTEGER), v.description(description))
const before = opt(ordinal("`next` of the page before."))
/** Where a page of a list begins that is counted too: by number, or behind a row. */
const counted = { ...page, before: opt(ordinal("`next` of the page before, in place of `offset`.")) }

/** `GET /runs`. */
export const runsQuerySchema = v.object(counted)

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
export const startMillis = (text: string): number | undefined =>
  rfc3339Millis(DAY.test(text) ? `${text}T00:00:00Z` : text)
/** The first millisecond after it. */
export const endMillis = (text: string): number | undefined => {
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
  ...counted,
  after: opt(
    ordinal(
      "Id of a run: the runs that come after it, the nearest ones, newest first; in place of `before` and `offset`.",
    ),
  ),
  details: opt(
    v.pipe(
      v.picklist(RUN_DETAILS, `must be ${RUN_DETAILS.join(", ")}`),
      v.description(
        "record: with what the records say of who acted, and the whole explanation that a record alone gives. Of some 8 MiB of records; the other runs of the page are without.",
      ),
    ),
  ),
  manifest_hash: opt(hexPrefix),
  program_id: opt(sha256Schema),
  route_id: opt(exactText("")),
  route_prefix: opt(exactText("How route_id begins.")),
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
  closing_outcome: opt(
    v.pipe(
      v.picklist(ACT_OUTCOMES, `must be one of ${ACT_OUTCOMES.join(", ")}`),
      v.description("What became of the act of the permit that the run closed."),
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
  end_user: opt(exactText("subject of the end user.")),
  end_user_issuer: opt(exactText("issuer of the end user.")),
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
/** `tenant` of an export: the records of open mode. */
export const OPEN_MODE = "anonymous"
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

const permitState = opt(v.picklist(PERMIT_STATES, `must be one of ${PERMIT_STATES.join(", ")}`))
const APPROVAL_PLACE = /^(\d{1,16})\.(apr-[0-9a-f]{32})$/
const PERMIT_PLACE = /^(\d{1,16})\.(pmt-[0-9a-f]{32})$/

/** After which row a page begins: the time of the row in milliseconds, and its id. */
const placeBefore = (pattern: RegExp, description: string) =>
  v.pipe(
    v.string(),
    v.check(text => timeAndId(pattern, text) !== undefined, "must be next of the page before"),
    v.metadata({ pattern: pattern.source, description }),
  )

/** The time and the id of such a place; undefined for a text that is none. */
function timeAndId(pattern: RegExp, text: string): { readonly time: number; readonly id: string } | undefined {
  const [, digits = "", id = ""] = pattern.exec(text) ?? []
  const time = Number(digits)
  return digits !== "" && Number.isSafeInteger(time) ? { time, id } : undefined
}

/** `GET /permits`. */
export const permitsQuerySchema = v.object({
  ...page,
  before: opt(placeBefore(PERMIT_PLACE, "`next` of the page before, as it is, in place of `offset`.")),
  state: permitState,
})

/** `GET /passkeys`. */
export const passkeysQuerySchema = v.object({
  limit: opt(integerText(1, PASSKEYS_LISTED_MAX, PASSKEYS_LISTED_MAX)),
  state: opt(v.picklist(PASSKEY_STATES, `must be one of ${PASSKEY_STATES.join(", ")}`)),
})

/** `GET /approvals`. */
export const approvalsQuerySchema = v.object({
  limit: opt(integerText(1, APPROVALS_LIMIT_MAX, PAGE_LIMIT_DEFAULT)),
  before: opt(placeBefore(APPROVAL_PLACE, "`next` of the page before, as it is.")),
  state: opt(v.picklist(APPROVAL_STATES, `must be one of ${APPROVAL_STATES.join(", ")}`)),
})

// Bundles and reports. docs/api.md, "GET /runs/{id}/artifacts".

/** `with` of a bundle that is served. */
export const bundleQuerySchema = v.object({
  with: opt(
    v.pipe(
      v.picklist(BUNDLE_ADDITIONS, `must be ${BUNDLE_ADDITIONS.join(", ")}`),
      v.description(
        "witnessed: with the newest checkpoint of the log that witnesses cosigned, once its tree has all log entries of the record.",
      ),
    ),
  ),
})

/** `form` and `with` of `GET /runs/{id}/artifacts`. */
export const artifactsQuerySchema = v.object({
  ...bundleQuerySchema.entries,
  form: opt(
    v.pipe(
      v.picklist(BUNDLE_FORMS, `must be one of ${BUNDLE_FORMS.join(", ")}`),
      v.metadata({ default: BUNDLE_FORM_DEFAULT }),
      v.description("sealed: byte for byte as sealed; full: with every derived section and leaf written out."),
    ),
  ),
})

/** `format` and `with` of `GET /runs/{id}/report.pdf`. */
export const reportQuerySchema = v.object({
  ...bundleQuerySchema.entries,
  format: opt(
    v.pipe(
      v.picklist(REPORT_FORMATS, `must be one of ${REPORT_FORMATS.join(", ")}`),
      v.metadata({ default: REPORT_FORMAT_DEFAULT }),
    ),
  ),
})

export type ReportQuery = v.InferOutput<typeof reportQuerySchema>

// The lists over all keys. Each is paged by a key of its rows.

/** Where in the list of all permits a page begins. */
type PermitPlace = { readonly opened_at: number; readonly permit_id: string }

const limit = page.limit
const key = opt(v.pipe(integerText(0, Number.MAX_SAFE_INTEGER), v.description("Id of a key; 0 = open mode.")))

const { limit: _limit, offset: _offset, before: _before, ...runFilters } = searchQuerySchema.entries
/** `GET /admin/runs`. */
export const adminRunsQuerySchema = v.object({
  limit,
  before,
  key,
  ...runFilters,
  with: opt(
    v.pipe(
      v.picklist(RUNS_ADDITIONS, `must be ${RUNS_ADDITIONS.join(", ")}`),
      v.description(
        `counts: with the number of runs of each outcome that match every other filter, where they are at most ${COUNTED_RUNS_MAX}.`,
      ),
    ),
  ),
})

/** `GET /admin/permits`. */
export const adminPermitsQuerySchema = v.object({
  limit,
  before: opt(placeBefore(PERMIT_PLACE, "`next` of the page before, as it is.")),
  key,
  state: permitState,
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

/** `GET /attention`. */
export const attentionQuerySchema = v.object({
  after: opt(
    v.pipe(integerText(0, Number.MAX_SAFE_INTEGER), v.description("`log_size` of the answer before, for a wait.")),
  ),
  wait: opt(
    v.pipe(
      integerText(0, ATTENTION_WAIT_MAX, 0),
      v.description("Seconds in which the answer is held back until the log has more entries than `after`."),
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

/** Where in a list of requests for an approval a page begins: behind the one of this time, in milliseconds, and id. */
type ApprovalPlace = { readonly requested_at: number; readonly approval_id: string }
/** Where the next page of them begins. */
export const approvalPlaceText = ({ requested_at, approval_id }: ApprovalPlace): string =>
  `${requested_at}.${approval_id}`
/** @param text `before` of such a list; undefined for a text that is none */
export function approvalPlaceOf(text: string): ApprovalPlace | undefined {
  const place = timeAndId(APPROVAL_PLACE, text)
  return place && { requested_at: place.time, approval_id: place.id }
}

/** Where the next page begins. */
export const placeText = ({ opened_at, permit_id }: PermitPlace): string => `${opened_at}.${permit_id}`

/** @param text `before` of a list of permits; undefined for a text that is none */
export function placeOf(text: string): PermitPlace | undefined {
  const place = timeAndId(PERMIT_PLACE, text)
  return place && { opened_at: place.time, permit_id: place.id }
}
