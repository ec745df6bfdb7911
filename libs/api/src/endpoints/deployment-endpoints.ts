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
import { attentionAnswerSchema } from "@runseal/core/wire/attention-answer"
import { overviewAnswerSchema } from "@runseal/core/wire/overview-answer"
import { type Description, described, type Route, type Routes, RUN_ID, shape } from "../endpoint.ts"
import {
  adminPermitsQuerySchema,
  adminRunsQuerySchema,
  attentionQuerySchema,
  auditExportQuerySchema,
  auditQuerySchema,
  keyExportQuerySchema,
  overviewQuerySchema,
  publishedQuerySchema,
} from "../queries.ts"
import { PERMIT_ID } from "./permits-endpoints.ts"
import { partDescriptions, RUN_PART_ROUTES } from "./runs-endpoints.ts"

const READ = { method: "get", access: "reader" } as const

/** The same endpoint for the runs and permits that the caller reads of all keys. */
const ofAnyKey = <Own extends Route>({ limit: _, ...route }: Own) =>
  ({ ...route, path: `/admin${route.path}`, access: "reader" }) as const

export const DEPLOYMENT_ROUTES = {
  admin_runs: {
    ...READ,
    path: "/admin/runs",
    query: shape(adminRunsQuerySchema),
    answers: { 200: shape(adminRunsPageSchema) },
  },
  admin_export_runs: {
    ...READ,
    path: "/admin/runs/export",
    query: shape(keyExportQuerySchema),
    answers: { 200: "application/x-ndjson" },
  },
  admin_run: {
    ...READ,
    path: "/admin/runs/{id}",
    path_parameters: { id: RUN_ID },
    answers: { 200: shape(adminRunRecordSchema) },
  },
  admin_verify_run: ofAnyKey(RUN_PART_ROUTES.verify_run),
  admin_artifacts: ofAnyKey(RUN_PART_ROUTES.artifacts),
  admin_report: ofAnyKey(RUN_PART_ROUTES.report),
  admin_auditor_zip: ofAnyKey(RUN_PART_ROUTES.auditor_zip),
  admin_run_statement: ofAnyKey(RUN_PART_ROUTES.run_statement),
  admin_allow_token: ofAnyKey(RUN_PART_ROUTES.allow_token),
  admin_deny_receipt: ofAnyKey(RUN_PART_ROUTES.deny_receipt),
  admin_ccv_halt_receipt: ofAnyKey(RUN_PART_ROUTES.ccv_halt_receipt),
  admin_macc_halt_receipt: ofAnyKey(RUN_PART_ROUTES.macc_halt_receipt),
  admin_aivp_t4_halt_receipt: ofAnyKey(RUN_PART_ROUTES.aivp_t4_halt_receipt),
  admin_attestation_gap_receipt: ofAnyKey(RUN_PART_ROUTES.attestation_gap_receipt),
  admin_permits: {
    ...READ,
    path: "/admin/permits",
    query: shape(adminPermitsQuerySchema),
    answers: { 200: shape(adminPermitsPageSchema) },
  },
  admin_permit: {
    ...READ,
    path: "/admin/permits/{id}",
    path_parameters: { id: PERMIT_ID },
    answers: { 200: shape(adminPermitRecordSchema) },
  },
  published_runs: {
    ...READ,
    path: "/admin/published",
    query: shape(publishedQuerySchema),
    answers: { 200: shape(publicationsPageSchema) },
  },
  usage: { ...READ, path: "/admin/usage", answers: { 200: shape(usageAnswerSchema) } },
  overview: {
    ...READ,
    path: "/admin/overview",
    query: shape(overviewQuerySchema),
    answers: { 200: shape(overviewAnswerSchema) },
  },
  attention: {
    method: "get",
    path: "/attention",
    access: "key",
    limit: "shared",
    persons: true,
    query: shape(attentionQuerySchema),
    answers: { 200: shape(attentionAnswerSchema) },
  },
  policy: { ...READ, path: "/admin/policy", answers: { 200: shape(policyInForceSchema) } },
  admin_events: {
    ...READ,
    path: "/admin/audit",
    query: shape(auditQuerySchema),
    answers: { 200: shape(eventsPageSchema) },
  },
  export_admin_events: {
    ...READ,
    path: "/admin/audit/export",
    query: shape(auditExportQuerySchema),
    answers: { 200: "application/x-ndjson" },
  },
  admin_event: {
    ...READ,
    path: "/admin/audit/{ordinal}",
    path_parameters: { ordinal: { ...RUN_ID, description: "Ordinal of the event." } },
    answers: { 200: shape(adminEventSchema) },
    sealed: true,
  },
} as const satisfies Routes

const TAG = "The deployment"
const partOfAnyKey = (part: keyof typeof RUN_PART_ROUTES): Description => ({ ...partDescriptions()[part], tag: TAG })

export const DEPLOYMENT_ENDPOINTS = /* @__PURE__ */ described(TAG, DEPLOYMENT_ROUTES, () => ({
  admin_runs: {
    summary: "The runs of all keys that match every filter, newest first",
    description:
      "For admin keys and auditors, as the next ones; an auditor of named keys sees theirs. Paged by the run's number: `next` of a page is `before` of the next one.",
    answers: { 200: "A page of run summaries." },
  },
  admin_export_runs: {
    summary: "The records of one key, oldest first, with a statement that proves them complete",
    refusals: [404, 406],
    answers: { 200: "As GET /runs/export answers that key." },
  },
  admin_run: {
    summary: "The record of a run of any key",
    refusals: [404],
    answers: { 200: "The record, and the key that made it." },
  },
  admin_verify_run: partOfAnyKey("verify_run"),
  admin_artifacts: partOfAnyKey("artifacts"),
  admin_report: partOfAnyKey("report"),
  admin_auditor_zip: partOfAnyKey("auditor_zip"),
  admin_run_statement: partOfAnyKey("run_statement"),
  admin_allow_token: partOfAnyKey("allow_token"),
  admin_deny_receipt: partOfAnyKey("deny_receipt"),
  admin_ccv_halt_receipt: partOfAnyKey("ccv_halt_receipt"),
  admin_macc_halt_receipt: partOfAnyKey("macc_halt_receipt"),
  admin_aivp_t4_halt_receipt: partOfAnyKey("aivp_t4_halt_receipt"),
  admin_attestation_gap_receipt: partOfAnyKey("attestation_gap_receipt"),
  admin_permits: { summary: "The permits of all keys, newest first", answers: { 200: "A page of permits." } },
  admin_permit: {
    summary: "A permit of any key, with its sealed documents",
    refusals: [404],
    answers: { 200: "The permit, and the key that asked for it." },
  },
  published_runs: { summary: "What is published, the newest run first", answers: { 200: "A page of publications." } },
  usage: {
    summary: "What every key has used: runs by outcome, tokens, its budget window, its trial",
    answers: { 200: "The keys, oldest first, behind open mode if runs were made in it." },
  },
  overview: {
    summary: "Runs by outcome over time, what denied them, and how the log grew",
    description:
      "Of the keys that the caller reads; the log is that of all keys. Steps begin at multiples of their length, in UTC.",
    answers: { 200: "The steps, oldest first." },
  },
  attention: {
    summary: "What needs somebody's attention now, and how long the log is",
    description:
      "Of what the caller sees; what is well is left out. With `after` and `wait` the answer is held back until the log has grown.",
    answers: { 200: "What was looked for, and what was found." },
  },
  policy: {
    summary: "The policy in force, and the library of signatures",
    answers: { 200: "What this process decides by, and since when." },
  },
  admin_events: {
    summary: "What administrators did, newest first",
    description: "For admin keys, and for auditors who read all keys.",
    answers: { 200: "A page of events." },
  },
  export_admin_events: {
    summary: "All admin events, oldest first, with a statement that proves them complete",
    refusals: [406],
    answers: { 200: "The statement and the events, one JSON document a line." },
  },
  admin_event: {
    summary: "A sealed admin event, which verifies by itself",
    refusals: [404],
    answers: { 200: "The document. 404 also until it is sealed." },
  },
}))
