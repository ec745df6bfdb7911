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
import { described, type Routes, RUN_ID, shape } from "../endpoint.ts"
import { eventsQuerySchema } from "../queries.ts"

const ADMIN = { access: "admin" } as const
const ONE = { ...ADMIN, path_parameters: { id: { ...RUN_ID, description: "Destination identifier." } } } as const

export const EVENT_ROUTES = {
  events: {
    method: "get",
    path: "/admin/events",
    access: "reader",
    query: shape(eventsQuerySchema),
    answers: { 200: "*/*" },
  },
  create_destination: {
    ...ADMIN,
    method: "post",
    path: "/admin/destinations",
    once: true,
    body: shape(createDestinationRequestSchema),
    stored: true,
    answers: { 201: shape(createdDestinationSchema) },
  },
  list_destinations: {
    ...ADMIN,
    method: "get",
    path: "/admin/destinations",
    answers: { 200: shape(destinationListSchema) },
  },
  change_destination: {
    ...ONE,
    method: "patch",
    path: "/admin/destinations/{id}",
    once: true,
    repeatable: true,
    body: shape(changeDestinationRequestSchema),
    stored: true,
    answers: { 200: shape(changedDestinationSchema) },
  },
  delete_destination: {
    ...ONE,
    method: "delete",
    path: "/admin/destinations/{id}",
    once: true,
    repeatable: true,
    answers: { 200: shape(deletedDestinationSchema) },
  },
  rotate_destination_secret: {
    ...ONE,
    method: "post",
    path: "/admin/destinations/{id}/rotate",
    once: true,
    body: shape(rotateDestinationRequestSchema),
    answers: { 200: shape(rotatedDestinationSchema) },
  },
  test_destination: {
    ...ONE,
    method: "post",
    path: "/admin/destinations/{id}/test",
    answers: { 200: shape(testedDestinationSchema) },
  },
  resume_destination: {
    ...ONE,
    method: "post",
    path: "/admin/destinations/{id}/resume",
    once: true,
    repeatable: true,
    body: shape(resumeDestinationRequestSchema),
    answers: { 200: shape(resumedDestinationSchema) },
  },
  deliveries: {
    method: "get",
    path: "/admin/deliveries",
    access: "reader",
    answers: { 200: shape(deliveryListSchema) },
  },
} as const satisfies Routes

export const EVENT_ENDPOINTS = /* @__PURE__ */ described("Events", EVENT_ROUTES, () => ({
  events: {
    summary: "What was sealed, as events in the order of the log",
    description:
      "Of all callers; for admin keys, and for auditors who read all keys. The position of the last line is the next `after`; no line: there is nothing new.",
    answers: { 200: "One event a line: application/x-ndjson, or text/plain where the format is cef." },
  },
  create_destination: {
    summary: "Deliver events to a receiver",
    description:
      "A webhook, or a receiver of syslog messages over TCP or TLS. By an admin key alone: in open mode 403.",
    body: { example: { url: "https://siem.example/hooks/runseal", outcomes: ["pepg_deny"] } },
    answers: { 201: "The destination. Its secret is shown here and nowhere else." },
    refusals: [409],
  },
  list_destinations: {
    summary: "Every destination, without secrets",
    answers: { 200: "The destinations, oldest first." },
  },
  change_destination: {
    summary: "Change a destination",
    body: { example: { active: false } },
    answers: { 200: "As it is from now on." },
    refusals: [404],
  },
  delete_destination: {
    summary: "Deliver no more to a destination",
    answers: { 200: "Deleted." },
    refusals: [404],
  },
  rotate_destination_secret: {
    summary: "Give a webhook another secret",
    body: { example: { overlap_seconds: 3600 } },
    answers: { 200: "Until `previous_until` the secret before signs too." },
    refusals: [404],
  },
  test_destination: {
    summary: "Send a test event now",
    answers: { 200: "Whether the receiver took it." },
    refusals: [404],
  },
  resume_destination: {
    summary: "Set the next position to deliver",
    body: { example: { from: 0 } },
    answers: { 200: "The position: at most the end of the log." },
    refusals: [404],
  },
  deliveries: {
    summary: "How far each delivery is",
    description: "For admin keys, and for auditors who read all keys.",
    answers: { 200: "Position, backlog, lag and failures of each destination." },
  },
}))
