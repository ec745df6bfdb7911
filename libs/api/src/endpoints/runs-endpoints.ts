/** Reading runs: lists, records, self-check, bundles and sealed artifacts. */
import { OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import {
  ARTIFACT_ANSWERS,
  bundleAnswerSchema,
  runRecordSchema,
  runsPageSchema,
  verifyAnswerSchema,
} from "@runseal/core/wire/run-summaries"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import { bytes, type Endpoint, json, RUN_ID } from "../endpoint.ts"
import {
  artifactsQuerySchema,
  exportQuerySchema,
  pageQuerySchema,
  reportQuerySchema,
  searchQuerySchema,
} from "../queries.ts"

const LIST = { method: "get", tag: "Runs", access: "key", limit: "shared" } as const
const ONE = { ...LIST, path_parameters: { id: RUN_ID }, refusals: [404] } as const

export const SAVED_AS = {
  "Content-Disposition": { description: "Saves the answer as a file.", schema: { type: "string" }, required: true },
}

const CODED = {
  "Content-Encoding": { description: "Absent for plain bytes.", schema: { enum: ["zstd", "gzip"] } },
}

const artifacts: readonly Endpoint[] = OUTCOME_KINDS.flatMap(kind => {
  const { artifact } = OUTCOMES[kind]
  if (artifact === undefined) return []
  return [
    {
      ...ONE,
      path: `/runs/{id}/${artifact.path}`,
      id: artifact.key,
      tag: "Artifacts",
      summary: `The ${artifact.key} of a run that ended as ${kind}`,
      description: "404 also for a run that ended otherwise; the sentence names both states.",
      answers: { 200: json(ARTIFACT_ANSWERS[artifact.key], "The sealed artifact.") },
    },
  ]
})

export const RUN_ENDPOINTS: readonly Endpoint[] = [
  {
    ...LIST,
    path: "/runs",
    id: "runs",
    summary: "The caller's runs, newest first",
    query: pageQuerySchema,
    answers: { 200: json(runsPageSchema, "A page of run summaries.") },
  },
  {
    ...LIST,
    path: "/runs/search",
    id: "search_runs",
    summary: "The caller's runs that match every filter, newest first",
    query: searchQuerySchema,
    answers: { 200: json(runsPageSchema, "A page of run summaries.") },
  },
  {
    ...LIST,
    path: "/runs/export",
    id: "export_runs",
    summary: "The caller's records, oldest first, with a statement that proves them complete",
    description:
      "One JSON document a line: an export statement, anchored in the log, then the bundles that it names. They are the shortest part of the caller's chain that holds every record admitted from `from` to `to`. An answer that ends early lacks records, and `verifier export.ndjson --complete` says which. Compressed with zstd or gzip where Accept-Encoding allows it. 503 also when too many exports are being read.",
    query: exportQuerySchema,
    refusals: [404, 406],
    answers: { 200: bytes("application/x-ndjson", "The statement and the records.", { ...SAVED_AS, ...CODED }) },
  },
  {
    ...ONE,
    path: "/runs/{id}",
    id: "run",
    summary: "A run's record with its manifest",
    answers: { 200: json(runRecordSchema, "The record.") },
  },
  {
    ...ONE,
    path: "/runs/{id}/verify",
    id: "verify_run",
    summary: "The server's self-check of a run",
    description: "Derives the seal again from the stored fields. It is not third-party evidence.",
    answers: { 200: json(verifyAnswerSchema, "Whether the hashes match.") },
  },
  {
    ...ONE,
    path: "/runs/{id}/artifacts",
    id: "artifacts",
    tag: "Artifacts",
    summary: "A run's sealed bundle, byte for byte, or in full",
    query: artifactsQuerySchema,
    answers: { 200: json(bundleAnswerSchema, "The bundle, for verification offline.", SAVED_AS) },
  },
  {
    ...ONE,
    path: "/runs/{id}/report.pdf",
    id: "report",
    summary: "The audit report of a run, as a PDF that carries the sealed bundle",
    description: "503 also when too many reports are being made.",
    query: reportQuerySchema,
    answers: { 200: bytes("application/pdf", "The report.", SAVED_AS) },
  },
  {
    ...ONE,
    path: "/runs/{id}/statement.intoto.json",
    id: "run_statement",
    tag: "Artifacts",
    summary: "A run's statement: in-toto, in a DSSE envelope that the service's key signed",
    description:
      "404 also for a run that ended as stage_error, whose record is no attestation, and for one whose key is revoked from before its log time.",
    answers: { 200: json(dsseEnvelopeSchema, "The envelope, for cosign and other tools of in-toto.", SAVED_AS) },
  },
  ...artifacts,
]
