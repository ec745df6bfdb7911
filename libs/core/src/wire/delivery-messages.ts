/** What came of deliveries of events, and how far each destination is. docs/events.md. Answers are as strict as this release writes them. */
import * as v from "valibot"
import { clockSchema, countSchema, ordinalSchema, type Shape } from "../vocabulary/scalars.ts"
import { DESTINATION_KINDS, MAX_DESTINATIONS } from "./event-messages.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }

/** Why a receiver did not take an event. */
export const DELIVERY_FAULTS = ["unreachable", "timed_out", "tls_failed", "address_refused", "refused"] as const
export type DeliveryFault = (typeof DELIVERY_FAULTS)[number]
const faultSchema = v.strictObject({
  fault: v.picklist(DELIVERY_FAULTS),
  /** HTTP status of a receiver that refused. */
  status: opt(ordinalSchema),
})

export const testedDestinationSchema = v.strictObject({
  ...ok,
  id: ordinalSchema,
  /** Whether the receiver took the test event. */
  delivered: v.boolean(),
  error: opt(faultSchema),
})
/** `POST /admin/destinations/{id}/test`. */
export type TestedDestination = Shape<typeof testedDestinationSchema>

export const resumedDestinationSchema = v.strictObject({ ...ok, id: ordinalSchema, position: countSchema })
/** `POST /admin/destinations/{id}/resume`. */
export type ResumedDestination = Shape<typeof resumedDestinationSchema>

export const deliverySchema = v.strictObject({
  id: ordinalSchema,
  name: v.string(),
  kind: v.picklist(DESTINATION_KINDS),
  active: v.boolean(),
  /** The next position to deliver: the receiver has taken every event before it that the filters pass. */
  position: countSchema,
  /** Entries of the log from there on. */
  backlog: countSchema,
  /** How long the oldest of them is in the log, in seconds; 0 without a backlog. */
  lag_seconds: countSchema,
  /** When the receiver took an event last. */
  delivered_at: opt(clockSchema),
  /** Present while deliveries fail, as are the next three. */
  last_error: opt(faultSchema),
  failing_since: opt(clockSchema),
  /** Failures in a row. */
  failures: opt(ordinalSchema),
  next_try_at: opt(clockSchema),
})
export type Delivery = Shape<typeof deliverySchema>

export const deliveryListSchema = v.strictObject({
  ...ok,
  /** Entries of the log. */
  log_size: countSchema,
  deliveries: v.pipe(v.array(deliverySchema), v.maxLength(MAX_DESTINATIONS)),
})
/** `GET /admin/deliveries`. */
export type DeliveryList = Shape<typeof deliveryListSchema>
