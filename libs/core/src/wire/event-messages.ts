/**
 * What the service tells other systems: events, where they are delivered, and how far each delivery is. docs/events.md. Answers are as strict
 * as this release writes them.
 */
import * as v from "valibot"
import { approvalIdSchema } from "../artifacts/approvals.ts"
import { END_REASONS } from "../artifacts/permit-end.ts"
import { ACT_FAILURE_CODES, ACT_OUTCOMES } from "../artifacts/permit-sections.ts"
import { OUTCOME_KINDS } from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  countSchema,
  DEPLOYMENT_TENANT,
  enforcementSchema,
  lineSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }

/**
 * Each is one sealed document of the log. A run that closed a permit is a `permit.closed`, every other run a `run.sealed`. A request for an approval
 * ends in a `permit.opened` or a `run.sealed` with its `approval_id`; what persons decided in between are admin events.
 */
export const EVENT_TYPES = [
  "run.sealed",
  "approval.requested",
  "permit.opened",
  "permit.closed",
  "permit.ended",
  "admin.event",
] as const

const findingSchema = v.strictObject({ code: nonEmptySchema, count: ordinalSchema })

/** What every event says: whose document it is, and where it is sealed. */
const sealedIn = {
  /** Id of the API key; 0: the anonymous caller of open mode. */
  key_id: countSchema,
  tenant_id: tenantIdSchema,
  /** Number of the document in its tenant's chain: 1, 2, 3 … without a gap. */
  tenant_ordinal: ordinalSchema,
  /** Digest of the document's leaf in the log. */
  leaf_digest: sha256Schema,
}
/** Present where a refusal would not have stopped the act. docs/concepts.md, "Observed run". */
const observed = { enforcement: opt(enforcementSchema) }
const asked = { program_id: sha256Schema, route_id: nonEmptySchema, payload_hash: sha256Schema }
const decided = { policy_hash: opt(sha256Schema), rule_id: opt(nonEmptySchema), reason_code: opt(nonEmptySchema) }

/** Of a run or opening that ended a request for an approval. */
const ended = { approval_id: opt(approvalIdSchema) }

const runDataSchema = v.strictObject({
  ...sealedIn,
  run_id: ordinalSchema,
  ...observed,
  outcome: v.picklist(OUTCOME_KINDS),
  /** Of a run that is not completed: where it ended. */
  error_stage: opt(nonEmptySchema),
  ...asked,
  ...decided,
  execution_region: nonEmptySchema,
  duration_us: countSchema,
  findings: opt(v.array(findingSchema)),
  /** Absent for a stage_error. */
  manifest_hash: opt(sha256Schema),
  bundle_hash: sha256Schema,
  ...ended,
  /** Present exactly when the run closed a permit, as is `act_outcome`. */
  permit_id: opt(permitIdSchema),
  act_outcome: opt(v.picklist(ACT_OUTCOMES)),
  act_code: opt(v.picklist(ACT_FAILURE_CODES)),
})
export type RunEventData = Shape<typeof runDataSchema>

const requestDataSchema = v.strictObject({
  ...sealedIn,
  approval_id: approvalIdSchema,
  ...asked,
  ...decided,
  expires_at: clockSchema,
  /** Path of the page on which people decide, under the address of the service. */
  address: nonEmptySchema,
  request_hash: sha256Schema,
})

const openingDataSchema = v.strictObject({
  ...sealedIn,
  permit_id: permitIdSchema,
  ...ended,
  ...observed,
  ...asked,
  ...decided,
  reserved_tokens: countSchema,
  expires_at: clockSchema,
  close_by: clockSchema,
  opening_hash: sha256Schema,
})

const endDataSchema = v.strictObject({
  ...sealedIn,
  reason: v.picklist(END_REASONS),
  permits: v.array(
    v.union([
      v.strictObject({ permit_id: permitIdSchema, released_tokens: countSchema }),
      /** It was redeemed: the act was started, and nobody reported it. */
      v.strictObject({ permit_id: permitIdSchema, charged_tokens: countSchema, redeemed_at: clockSchema }),
    ]),
  ),
  end_hash: sha256Schema,
})

const adminDataSchema = v.strictObject({
  ...sealedIn,
  tenant_id: v.literal(DEPLOYMENT_TENANT),
  /** `api-key-<id>`, `operator-command` or `open-mode`. */
  actor: nonEmptySchema,
  action: nonEmptySchema,
  subject: v.strictObject({ kind: nonEmptySchema, id: nonEmptySchema }),
  event_hash: sha256Schema,
})

const event = {
  /** The same in every delivery of the event, so that a receiver can tell repetitions. */
  id: v.pipe(v.string(), v.regex(/^evt_[0-9a-f]{32}$/)),
  /** The document's own clock. */
  timestamp: clockSchema,
  /** Index of the document's entry in the log: positions rise with the log. */
  position: countSchema,
}
export const eventSchema = v.variant("type", [
  v.strictObject({ ...event, type: v.picklist(["run.sealed", "permit.closed"]), data: runDataSchema }),
  v.strictObject({ ...event, type: v.literal("approval.requested"), data: requestDataSchema }),
  v.strictObject({ ...event, type: v.literal("permit.opened"), data: openingDataSchema }),
  v.strictObject({ ...event, type: v.literal("permit.ended"), data: endDataSchema }),
  v.strictObject({ ...event, type: v.literal("admin.event"), data: adminDataSchema }),
])
/** One event. It holds ids, codes and hashes, and no declared text. */
export type SealedEvent = Shape<typeof eventSchema>

/** How events are sent: as HTTP requests, or as syslog messages (RFC 5424) over a stream. */
export const DESTINATION_KINDS = ["webhook", "syslog"] as const
export type DestinationKind = (typeof DESTINATION_KINDS)[number]
/** What is sent of an event: the event itself as JSON, an OCSF event, or a CEF line. Each goes with each kind. */
export const EVENT_FORMATS = ["standard", "ocsf", "cef"] as const
export type EventFormat = (typeof EVENT_FORMATS)[number]
/** Most destinations of a deployment. */
export const MAX_DESTINATIONS = 32
const MAX_URL_LENGTH = 2048
/** Most characters of the certificates by which a receiver is verified. */
const MAX_CA_LENGTH = 65_536
const MAX_FILTER_KEYS = 64
/** How long the secret before a rotation may still sign, in seconds: a week. */
export const MAX_OVERLAP_SECONDS = 604_800
/** The same where the request says nothing: a day. */
export const DEFAULT_OVERLAP_SECONDS = 86_400
/** Most events of one answer of `GET /admin/events`, and what it gives where the request says nothing. */
export const EVENTS_LIMIT_MAX = 1000
export const EVENTS_LIMIT_DEFAULT = 100

const nameSchema = lineSchema(128)
const urlSchema = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(MAX_URL_LENGTH, `must have at most ${MAX_URL_LENGTH} characters`),
)
/** Certificates in PEM. */
const caSchema = v.pipe(v.string(), v.maxLength(MAX_CA_LENGTH, `must have at most ${MAX_CA_LENGTH} characters`))
const distinct = <Item>(items: readonly Item[]): boolean => new Set(items).size === items.length
const filter = <Item extends v.GenericSchema>(item: Item, most: number) =>
  v.pipe(
    v.array(item),
    v.maxLength(most, `must have at most ${most} items`),
    v.check(distinct, "must not repeat an item"),
    v.metadata({ uniqueItems: true }),
  )
const filters = {
  /** Empty or absent: all, as are the next two. */
  types: filter(v.picklist(EVENT_TYPES, `must be some of ${EVENT_TYPES.join(", ")}`), EVENT_TYPES.length),
  /** Of runs; an event without an outcome passes. */
  outcomes: filter(v.picklist(OUTCOME_KINDS, `must be some of ${OUTCOME_KINDS.join(", ")}`), OUTCOME_KINDS.length),
  key_ids: filter(countSchema, MAX_FILTER_KEYS),
}
const formatSchema = v.picklist(EVENT_FORMATS, `must be one of ${EVENT_FORMATS.join(", ")}`)

export const createDestinationRequestSchema = v.object({
  /** Absent: `webhook`. */
  kind: opt(v.picklist(DESTINATION_KINDS, `must be one of ${DESTINATION_KINDS.join(", ")}`)),
  /** Of a webhook `https://…`; of syslog `tls://host:port` or `tcp://host:port`. */
  url: urlSchema,
  /** The authorities whose certificates the receiver may have. Empty or absent: those that Node trusts. */
  ca: opt(caSchema),
  name: opt(nameSchema),
  /** Absent: `standard`. */
  format: opt(formatSchema),
  types: opt(filters.types),
  outcomes: opt(filters.outcomes),
  key_ids: opt(filters.key_ids),
  /** The first position that is delivered; absent: what is sealed from now on. */
  from: opt(countSchema),
})
/** The body of `POST /admin/destinations`. */
export type CreateDestinationRequest = Shape<typeof createDestinationRequestSchema>

export const changeDestinationRequestSchema = v.object({
  url: opt(urlSchema),
  ca: opt(caSchema),
  name: opt(nameSchema),
  format: opt(formatSchema),
  types: opt(filters.types),
  outcomes: opt(filters.outcomes),
  key_ids: opt(filters.key_ids),
  /** False: nothing is delivered until it is true again; nothing is lost meanwhile. */
  active: opt(v.boolean()),
})
/** The body of `PATCH /admin/destinations/{id}`: the members to change. */
export type ChangeDestinationRequest = Shape<typeof changeDestinationRequestSchema>

export const rotateDestinationRequestSchema = v.strictObject({
  /** How long the secret before still signs too. */
  overlap_seconds: opt(v.pipe(countSchema, v.maxValue(MAX_OVERLAP_SECONDS, `must be at most ${MAX_OVERLAP_SECONDS}`))),
})
/** The body of `POST /admin/destinations/{id}/rotate`. */
export type RotateDestinationRequest = Shape<typeof rotateDestinationRequestSchema>

export const resumeDestinationRequestSchema = v.strictObject({
  /** The next position to deliver. */
  from: countSchema,
})
/** The body of `POST /admin/destinations/{id}/resume`. */
export type ResumeDestinationRequest = Shape<typeof resumeDestinationRequestSchema>

const destination = {
  id: ordinalSchema,
  kind: v.picklist(DESTINATION_KINDS),
  url: v.string(),
  ca: opt(v.string()),
  name: v.string(),
  format: v.picklist(EVENT_FORMATS),
  types: v.array(v.picklist(EVENT_TYPES)),
  outcomes: v.array(v.picklist(OUTCOME_KINDS)),
  key_ids: v.array(countSchema),
  active: v.boolean(),
  created_at: clockSchema,
  /** Id of the admin key; absent where a person made it. */
  created_by: opt(ordinalSchema),
}
export const destinationSchema = v.strictObject(destination)
/** A destination, without its secret. */
export type Destination = Shape<typeof destinationSchema>

/** As Standard Webhooks writes a secret: 32 bytes in base64. */
const secretSchema = v.pipe(v.string(), v.regex(/^whsec_[A-Za-z0-9+/]{43}=$/))

export const createdDestinationSchema = v.strictObject({
  ...ok,
  destination: destinationSchema,
  /** Of a webhook; shown here and nowhere else. */
  secret: opt(secretSchema),
  /** The first position that is delivered. */
  position: countSchema,
  ignored: ignoredSchema,
})
/** Status 201 of `POST /admin/destinations`. */
export type CreatedDestination = Shape<typeof createdDestinationSchema>

export const changedDestinationSchema = v.strictObject({
  ...ok,
  destination: destinationSchema,
  ignored: ignoredSchema,
})
/** `PATCH /admin/destinations/{id}`. */
export type ChangedDestination = Shape<typeof changedDestinationSchema>

export const destinationListSchema = v.strictObject({
  ...ok,
  destinations: v.pipe(v.array(destinationSchema), v.maxLength(MAX_DESTINATIONS)),
})
/** `GET /admin/destinations`: oldest first. */
export type DestinationList = Shape<typeof destinationListSchema>

export const deletedDestinationSchema = v.strictObject({ ...ok, id: ordinalSchema, deleted: v.literal(true) })
/** `DELETE /admin/destinations/{id}`. */
export type DeletedDestination = Shape<typeof deletedDestinationSchema>

export const rotatedDestinationSchema = v.strictObject({
  ...ok,
  id: ordinalSchema,
  secret: secretSchema,
  /** Until when the secret before signs too. */
  previous_until: clockSchema,
})
/** `POST /admin/destinations/{id}/rotate`. */
export type RotatedDestination = Shape<typeof rotatedDestinationSchema>
