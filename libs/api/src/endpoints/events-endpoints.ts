/** Events, and where they are delivered. */
import {
  deliveryListSchema,
  resumedDestinationSchema,
  testedDestinationSchema,
} from "@runseal/core/wire/delivery-messages"
import {
  changeDestinationRequestSchema,
  changedDestinationSchema,
  createDestinationRequestSchema,
  createdDestinationSchema,
  deletedDestinationSchema,
  destinationListSchema,
  resumeDestinationRequestSchema,
  rotateDestinationRequestSchema,
  rotatedDestinationSchema,
} from "@runseal/core/wire/event-messages"
import { BODY_MAX_BYTES } from "../body-bounds.ts"
import { bytes, type Endpoint, json, RUN_ID } from "../endpoint.ts"
import { eventsQuerySchema } from "../queries.ts"

const ADMIN = { tag: "Events", access: "admin" } as const
const READER = { ...ADMIN, access: "reader" } as const
const path_parameters = { id: { ...RUN_ID, description: "Destination identifier." } }
const max_bytes = BODY_MAX_BYTES

export const EVENT_ENDPOINTS: readonly Endpoint[] = [
  {
    ...READER,
    method: "get",
    path: "/admin/events",
    id: "events",
    summary: "What was sealed, as events in the order of the log",
    description:
      "Of all callers; for admin keys, and for auditors who read all keys. The position of the last line is the next `after`; no line: there is nothing new.",
    query: eventsQuerySchema,
    answers: { 200: bytes("*/*", "One event a line: application/x-ndjson, or text/plain where the format is cef.") },
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/destinations",
    id: "create_destination",
    once: true,
    summary: "Deliver events to a receiver",
    description:
      "A webhook, or a receiver of syslog messages over TCP or TLS. By an admin key alone: in open mode 403.",
    body: {
      schema: createDestinationRequestSchema,
      max_bytes,
      example: { url: "https://siem.example/hooks/runseal", outcomes: ["pepg_deny"] },
    },
    answers: { 201: json(createdDestinationSchema, "The destination. Its secret is shown here and nowhere else.") },
    refusals: [409],
  },
  {
    ...ADMIN,
    method: "get",
    path: "/admin/destinations",
    id: "list_destinations",
    summary: "Every destination, without secrets",
    answers: { 200: json(destinationListSchema, "The destinations, oldest first.") },
  },
  {
    ...ADMIN,
    method: "patch",
    path: "/admin/destinations/{id}",
    id: "change_destination",
    once: true,
    summary: "Change a destination",
    path_parameters,
    body: { schema: changeDestinationRequestSchema, max_bytes, example: { active: false } },
    answers: { 200: json(changedDestinationSchema, "As it is from now on.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "delete",
    path: "/admin/destinations/{id}",
    id: "delete_destination",
    once: true,
    summary: "Deliver no more to a destination",
    path_parameters,
    answers: { 200: json(deletedDestinationSchema, "Deleted.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/destinations/{id}/rotate",
    id: "rotate_destination_secret",
    once: true,
    summary: "Give a webhook another secret",
    path_parameters,
    body: { schema: rotateDestinationRequestSchema, max_bytes, example: { overlap_seconds: 3600 } },
    answers: { 200: json(rotatedDestinationSchema, "Until `previous_until` the secret before signs too.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/destinations/{id}/test",
    id: "test_destination",
    summary: "Send a test event now",
    path_parameters,
    answers: { 200: json(testedDestinationSchema, "Whether the receiver took it.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/destinations/{id}/resume",
    id: "resume_destination",
    once: true,
    summary: "Set the next position to deliver",
    path_parameters,
    body: { schema: resumeDestinationRequestSchema, max_bytes, example: { from: 0 } },
    answers: { 200: json(resumedDestinationSchema, "The position: at most the end of the log.") },
    refusals: [404],
  },
  {
    ...READER,
    method: "get",
    path: "/admin/deliveries",
    id: "deliveries",
    summary: "How far each delivery is",
    description: "For admin keys, and for auditors who read all keys.",
    answers: { 200: json(deliveryListSchema, "Position, backlog, lag and failures of each destination.") },
  },
]
