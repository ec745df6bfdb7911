/** Reading runs: lists, records, self-check, bundles and sealed artifacts. */
import { type ArtifactKey, OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import {
  ARTIFACT_ANSWERS,
  bundleAnswerSchema,
  runRecordSchema,
  runsPageSchema,
  verifyAnswerSchema,
} from "@runseal/core/wire/run-summaries"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import { type Description, described, opaque, type Routes, RUN_ID, shape } from "../endpoint.ts"
import {
  artifactsQuerySchema,
  exportQuerySchema,
  reportQuerySchema,
  runsQuerySchema,
  searchQuerySchema,
} from "../queries.ts"

const LIST = { method: "get", access: "key", limit: "shared" } as const
const ONE = { ...LIST, path_parameters: { id: RUN_ID } } as const

/** What is sealed of a run that ended in one state. */
const artifact = (key: ArtifactKey) =>
  ({
    ...ONE,
    path: `/runs/{id}/${OUTCOMES[kindOf(key)].artifact?.path}`,
    answers: { 200: opaque(ARTIFACT_ANSWERS[key]) },
    sealed: true,
  }) as const
/** The outcome that has this artifact. */
const kindOf = (key: ArtifactKey) => OUTCOME_KINDS.find(kind => OUTCOMES[kind].artifact?.key === key) ?? "ok"

/** What is read of one run beside its record. */
export const RUN_PART_ROUTES = {
  verify_run: { ...ONE, path: "/runs/{id}/verify", answers: { 200: shape(verifyAnswerSchema) } },
  artifacts: {
    ...ONE,
    path: "/runs/{id}/artifacts",
    query: shape(artifactsQuerySchema),
    answers: { 200: opaque(bundleAnswerSchema) },
    sealed: true,
  },
  report: {
    ...ONE,
    path: "/runs/{id}/report.pdf",
    query: shape(reportQuerySchema),
    answers: { 200: "application/pdf" },
  },
  auditor_zip: { ...ONE, path: "/runs/{id}/auditor.zip", answers: { 200: "application/zip" } },
  run_statement: {
    ...ONE,
    path: "/runs/{id}/statement.intoto.json",
    answers: { 200: shape(dsseEnvelopeSchema) },
    sealed: true,
  },
  allow_token: artifact("allow_token"),
  deny_receipt: artifact("deny_receipt"),
  ccv_halt_receipt: artifact("ccv_halt_receipt"),
  macc_halt_receipt: artifact("macc_halt_receipt"),
  aivp_t4_halt_receipt: artifact("aivp_t4_halt_receipt"),
  attestation_gap_receipt: artifact("attestation_gap_receipt"),
} as const satisfies Routes

export const RUN_ROUTES = {
  runs: { ...LIST, path: "/runs", query: shape(runsQuerySchema), answers: { 200: shape(runsPageSchema) } },
  search_runs: {
    ...LIST,
    path: "/runs/search",
    query: shape(searchQuerySchema),
    answers: { 200: shape(runsPageSchema) },
  },
  export_runs: {
    ...LIST,
    path: "/runs/export",
    query: shape(exportQuerySchema),
    answers: { 200: "application/x-ndjson" },
  },
  run: { ...ONE, path: "/runs/{id}", answers: { 200: shape(runRecordSchema) } },
  ...RUN_PART_ROUTES,
} as const satisfies Routes

export const SAVED_AS = {
  "Content-Disposition": { description: "Saves the answer as a file.", schema: { type: "string" }, required: true },
}

const CODED = {
  "Content-Encoding": { description: "Absent for plain bytes.", schema: { enum: ["zstd", "gzip"] } },
}

const ARTIFACTS = "Artifacts"
const artifactOf = (key: ArtifactKey): Description => ({
  tag: ARTIFACTS,
  summary: `The ${key} of a run that ended as ${kindOf(key)}`,
  description: "404 also for a run that ended otherwise; the sentence names both states.",
  refusals: [404],
  answers: { 200: "The sealed artifact." },
})

/** Their descriptions. */
export const partDescriptions = () =>
  ({
    verify_run: {
      summary: "The server's self-check of a run",
      description: "Derives the seal again from the stored fields. It is not third-party evidence.",
      refusals: [404],
      answers: { 200: "Whether the hashes match." },
    },
    artifacts: {
      tag: ARTIFACTS,
      summary: "A run's sealed bundle, byte for byte, or in full",
      refusals: [404],
      answers: { 200: { description: "The bundle, for verification offline.", headers: SAVED_AS } },
    },
    report: {
      summary: "The audit report of a run, as a PDF that carries the sealed bundle",
      description: "503 also when too many reports are being made.",
      refusals: [404],
      answers: { 200: { description: "The report.", headers: SAVED_AS } },
    },
    auditor_zip: {
      summary: "One file for an auditor: bundle, report, trust document, witnessed checkpoint, and how to verify them",
      description:
        "A ZIP that `verifier` takes as it is. The keys in it prove nothing about who made the record: the auditor gets them by another way. 503 also when too many reports are being made.",
      refusals: [404],
      answers: { 200: { description: "The file.", headers: SAVED_AS } },
    },
    run_statement: {
      tag: ARTIFACTS,
      summary: "A run's statement: in-toto, in a DSSE envelope that the service's key signed",
      description:
        "404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time.",
      refusals: [404],
      answers: { 200: { description: "The envelope, for cosign and other tools of in-toto.", headers: SAVED_AS } },
    },
    allow_token: artifactOf("allow_token"),
    deny_receipt: artifactOf("deny_receipt"),
    ccv_halt_receipt: artifactOf("ccv_halt_receipt"),
    macc_halt_receipt: artifactOf("macc_halt_receipt"),
    aivp_t4_halt_receipt: artifactOf("aivp_t4_halt_receipt"),
    attestation_gap_receipt: artifactOf("attestation_gap_receipt"),
  }) satisfies Record<keyof typeof RUN_PART_ROUTES, Description>

export const RUN_ENDPOINTS = /* @__PURE__ */ described("Runs", RUN_ROUTES, () => ({
  runs: { summary: "The caller's runs, newest first", answers: { 200: "A page of run summaries." } },
  search_runs: {
    summary: "The caller's runs that match every filter, newest first",
    answers: { 200: "A page of run summaries." },
  },
  export_runs: {
    summary: "The caller's records, oldest first, with a statement that proves them complete",
    description:
      "One JSON document a line: an export statement, anchored in the log, then the bundles that it names. They are the shortest part of the caller's chain that holds every record admitted from `from` to `to`. An answer that ends early lacks records, and `verifier export.ndjson --complete` says which. Compressed with zstd or gzip where Accept-Encoding allows it. 503 also when too many exports are being read.",
    refusals: [404, 406],
    answers: { 200: { description: "The statement and the records.", headers: { ...SAVED_AS, ...CODED } } },
  },
  run: { summary: "A run's record with its manifest", refusals: [404], answers: { 200: "The record." } },
  ...partDescriptions(),
}))
