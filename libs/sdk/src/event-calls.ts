/** Events, and where they are delivered. Every call needs an admin key. docs/events.md. */

import {
  type DeliveryList,
  deliveryListSchema,
  type ResumedDestination,
  resumedDestinationSchema,
  type TestedDestination,
  testedDestinationSchema,
} from "@runseal/core/wire/delivery-messages"
import {
  type ChangeDestinationRequest,
  type ChangedDestination,
  type CreateDestinationRequest,
  type CreatedDestination,
  changedDestinationSchema,
  createdDestinationSchema,
  type DeletedDestination,
  type DestinationList,
  deletedDestinationSchema,
  destinationListSchema,
  eventSchema,
  type RotateDestinationRequest,
  type RotatedDestination,
  rotatedDestinationSchema,
  type SealedEvent,
} from "@runseal/core/wire/event-messages"
import { as, keyedCall, query } from "./calls.ts"
import { ProtocolError } from "./client-errors.ts"
import type { Reply } from "./exchange.ts"
import { lenient } from "./lenient.ts"
import { jsonText } from "./plain-json.ts"
import { checkShape, okText, parseObject } from "./read-reply.ts"
import { type ActionOptions, type CallOptions, integerWithin } from "./settings.ts"
import type { Send } from "./transport.ts"

export type EventCalls = {
  /**
   * What was sealed after a position, oldest first, at most `limit` events, 1 to 1,000; 100 when absent. The `position` of the last one is
   * the next `after`; no event: there is nothing new. A later service may send further types of events.
   */
  readonly events: (
    page?: { readonly after?: number | undefined; readonly limit?: number | undefined },
    options?: CallOptions,
  ) => Promise<readonly SealedEvent[]>
  /** Only this answer holds the secret of a webhook. Retried only under an idempotency key, since each call makes a destination. */
  readonly createDestination: (
    request: CreateDestinationRequest,
    options?: ActionOptions,
  ) => Promise<CreatedDestination>
  /** Every destination, oldest first, without secrets. */
  readonly listDestinations: (options?: CallOptions) => Promise<DestinationList>
  /** Changes the members that are given. */
  readonly changeDestination: (
    id: number,
    changes: ChangeDestinationRequest,
    options?: ActionOptions,
  ) => Promise<ChangedDestination>
  /** One that is deleted stays so: a retry gets the same answer. */
  readonly deleteDestination: (id: number, options?: ActionOptions) => Promise<DeletedDestination>
  /** Gives a webhook another secret; the one before signs too for the overlap. Retried only under an idempotency key: only one answer holds the secret. */
  readonly rotateDestinationSecret: (
    id: number,
    request?: RotateDestinationRequest,
    options?: ActionOptions,
  ) => Promise<RotatedDestination>
  /** Sends a test event now, beside the queue. */
  readonly testDestination: (id: number, options?: CallOptions) => Promise<TestedDestination>
  /** Sets the next position to deliver: back to send again, forward to skip. */
  readonly resumeDestination: (id: number, from: number, options?: ActionOptions) => Promise<ResumedDestination>
  /** How far each delivery is. */
  readonly deliveries: (options?: CallOptions) => Promise<DeliveryList>
}

const pathOf = (id: number, action = ""): string =>
  `/admin/destinations/${integerWithin("The destination's id", id, 1, Number.MAX_SAFE_INTEGER)}${action}`

/** One event a line. */
const readEvents = (reply: Reply): readonly SealedEvent[] => {
  const lines = okText(reply).split("\n")
  if (lines.pop() !== "") throw new ProtocolError("it ends within a line")
  return lines.map(line => checkShape(EVENT, parseObject(line)))
}
const EVENT = lenient(eventSchema)

export const eventCalls = (send: Send): EventCalls => ({
  events: async ({ after, limit } = {}, options) =>
    await send({ path: `/admin/events${query({ after, limit })}`, repeatable: true }, readEvents, options),
  createDestination: async (request, options) => {
    const call = { path: "/admin/destinations", body: jsonText(request), repeatable: false }
    return await send(keyedCall(call, options), as(createdDestinationSchema, 201), options)
  },
  listDestinations: options =>
    send({ path: "/admin/destinations", repeatable: true }, as(destinationListSchema), options),
  changeDestination: async (id, changes, options) => {
    const call = { method: "PATCH", path: pathOf(id), body: jsonText(changes), repeatable: true } as const
    return await send(keyedCall(call, options), as(changedDestinationSchema), options)
  },
  deleteDestination: async (id, options) => {
    const call = { method: "DELETE", path: pathOf(id), repeatable: true } as const
    return await send(keyedCall(call, options), as(deletedDestinationSchema), options)
  },
  rotateDestinationSecret: async (id, request = {}, options) => {
    const call = { path: pathOf(id, "/rotate"), body: jsonText(request), repeatable: false }
    return await send(keyedCall(call, options), as(rotatedDestinationSchema), options)
  },
  testDestination: async (id, options) =>
    await send({ method: "POST", path: pathOf(id, "/test"), repeatable: false }, as(testedDestinationSchema), options),
  resumeDestination: async (id, from, options) => {
    const body = jsonText({ from: integerWithin("The position", from, 0, Number.MAX_SAFE_INTEGER) })
    const call = { path: pathOf(id, "/resume"), body, repeatable: true }
    return await send(keyedCall(call, options), as(resumedDestinationSchema), options)
  },
  deliveries: options => send({ path: "/admin/deliveries", repeatable: true }, as(deliveryListSchema), options),
})
