/** What administrators and auditors read of the whole deployment. */
import { adminEventSchema } from "@runseal/core/artifacts/admin-event"
import {
  adminPermitRecordSchema,
  adminPermitsPageSchema,
  adminRunRecordSchema,
  adminRunsPageSchema,
  eventsPageSchema,
  policyInForceSchema,
  publicationsPageSchema,
  usageAnswerSchema,
} from "@runseal/core/wire/admin-answers"
import { overviewAnswerSchema } from "@runseal/core/wire/overview-answer"
import { bytes, type Endpoint, json, type PathParameter, RUN_ID } from "../endpoint.ts"
import {
  adminPermitsQuerySchema,
  adminRunsQuerySchema,
  auditExportQuerySchema,
  auditQuerySchema,
  keyExportQuerySchema,
  overviewQuerySchema,
  publishedQuerySchema,
} from "../queries.ts"
import { PERMIT_ID } from "./permits-endpoints.ts"
import { RUN_ENDPOINTS } from "./runs-endpoints.ts"

const READ = { method: "get", tag: "The deployment", access: "reader" } as const
const ONE = { ...READ, refusals: [404] } as const
const ORDINAL: PathParameter = { ...RUN_ID, description: "Ordinal of the event." }

/** What is read of one run beside its record: the same as its key reads. */
const PARTS: readonly Endpoint[] = RUN_ENDPOINTS.filter(({ path }) => path.startsWith("/runs/{id}/")).map(
  ({ limit: _, refusals: _refusals, ...operation }) => ({
    ...operation,
    ...ONE,
    path: `/admin${operation.path}`,
    id: `admin_${operation.id}`,
  }),
)

export const DEPLOYMENT_ENDPOINTS: readonly Endpoint[] = [
  {
    ...READ,
    path: "/admin/runs",
    id: "admin_runs",
    summary: "The runs of all keys that match every filter, newest first",
    description:
      "For admin keys and auditors, as the next ones; an auditor of named keys sees theirs. Paged by the run's number: `next` of a page is `before` of the next one.",
    query: adminRunsQuerySchema,
    answers: { 200: json(adminRunsPageSchema, "A page of run summaries.") },
  },
  {
    ...ONE,
    path: "/admin/runs/export",
    id: "admin_export_runs",
    summary: "The records of one key, oldest first, with a statement that proves them complete",
    query: keyExportQuerySchema,
    refusals: [404, 406],
    answers: { 200: bytes("application/x-ndjson", "As GET /runs/export answers that key.") },
  },
  {
    ...ONE,
    path: "/admin/runs/{id}",
    id: "admin_run",
    summary: "The record of a run of any key",
    path_parameters: { id: RUN_ID },
    answers: { 200: json(adminRunRecordSchema, "The record, and the key that made it.") },
  },
  ...PARTS,
  {
    ...READ,
    path: "/admin/permits",
    id: "admin_permits",
    summary: "The permits of all keys, newest first",
    query: adminPermitsQuerySchema,
    answers: { 200: json(adminPermitsPageSchema, "A page of permits.") },
  },
  {
    ...ONE,
    path: "/admin/permits/{id}",
    id: "admin_permit",
    summary: "A permit of any key, with its sealed documents",
    path_parameters: { id: PERMIT_ID },
    answers: { 200: json(adminPermitRecordSchema, "The permit, and the key that asked for it.") },
  },
  {
    ...READ,
    path: "/admin/published",
    id: "published_runs",
    summary: "What is published, the newest run first",
    query: publishedQuerySchema,
    answers: { 200: json(publicationsPageSchema, "A page of publications.") },
  },
  {
    ...READ,
    path: "/admin/usage",
    id: "usage",
    summary: "What every key has used: runs by outcome, tokens, its budget window, its trial",
    answers: { 200: json(usageAnswerSchema, "The keys, oldest first, behind open mode if runs were made in it.") },
  },
  {
    ...READ,
    path: "/admin/overview",
    id: "overview",
    summary: "Runs by outcome over time, what denied them, and how the log grew",
    description:
      "Of the keys that the caller reads; the log is that of all keys. Steps begin at multiples of their length, in UTC.",
    query: overviewQuerySchema,
    answers: { 200: json(overviewAnswerSchema, "The steps, oldest first.") },
  },
  {
    ...READ,
    path: "/admin/policy",
    id: "policy",
    summary: "The policy in force, and the library of signatures",
    answers: { 200: json(policyInForceSchema, "What this process decides by, and since when.") },
  },
  {
    ...READ,
    path: "/admin/audit",
    id: "admin_events",
    summary: "What administrators did, newest first",
    description: "For admin keys, and for auditors who read all keys.",
    query: auditQuerySchema,
    answers: { 200: json(eventsPageSchema, "A page of events.") },
  },
  {
    ...READ,
    path: "/admin/audit/export",
    id: "export_admin_events",
    summary: "All admin events, oldest first, with a statement that proves them complete",
    query: auditExportQuerySchema,
    refusals: [406],
    answers: { 200: bytes("application/x-ndjson", "The statement and the events, one JSON document a line.") },
  },
  {
    ...ONE,
    path: "/admin/audit/{ordinal}",
    id: "admin_event",
    summary: "A sealed admin event, which verifies by itself",
    path_parameters: { ordinal: ORDINAL },
    answers: { 200: json(adminEventSchema, "The document. 404 also until it is sealed.") },
  },
]
