/** The log and the trust documents: read by anybody. */
import {
  consistencyAnswerSchema,
  genesisAnswerSchema,
  keyChangesAnswerSchema,
  logEntryAnswerSchema,
  outsideLogsAnswerSchema,
  trustDocumentSchema,
  trustedRootSchema,
  witnessesAnswerSchema,
} from "@runseal/core/wire/log-answers"
import { jwksSchema } from "@runseal/core/wire/permit-answers"
import { described, type PathParameter, type Routes, shape } from "../endpoint.ts"
import { consistencyQuerySchema } from "../queries.ts"

const READ = { method: "get", access: "public" } as const

const level = {
  schema: { type: "string", pattern: "^(entries|[0-9]|[1-5][0-9]|6[0-3])$" },
  description: "Level of the tile, or `entries` for the entry bodies.",
  example: "entries",
} as const satisfies PathParameter
const index = {
  schema: { type: "string", pattern: "^(x[0-9]{3}/)*[0-9]{3}$" },
  description:
    "Index as C2SP tlog-tiles writes it: groups of three digits, all but the last after an x, as in x001/234.",
  example: "000",
  many_segments: true,
} as const satisfies PathParameter
const width = {
  schema: { type: "integer", minimum: 1, maximum: 255 },
  description: "How many hashes or entries of the tile.",
  example: 1,
} as const satisfies PathParameter
const ENTRY_INDEX = {
  schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  description: "Index of the entry.",
  example: 0,
} as const satisfies PathParameter
const TILE = { 200: "application/octet-stream" } as const

export const LOG_ROUTES = {
  checkpoint: { ...READ, path: "/log/checkpoint", answers: { 200: "text/plain" } },
  witnessed_checkpoint: { ...READ, path: "/log/witnessed-checkpoint", answers: { 200: "text/plain" } },
  outside_logs: { ...READ, path: "/log/outside", answers: { 200: shape(outsideLogsAnswerSchema) } },
  witnesses: { ...READ, path: "/log/witnesses", answers: { 200: shape(witnessesAnswerSchema) } },
  genesis: { ...READ, path: "/log/genesis", answers: { 200: shape(genesisAnswerSchema) } },
  key_changes: { ...READ, path: "/log/key-changes", answers: { 200: shape(keyChangesAnswerSchema) } },
  tile: { ...READ, path: "/log/tile/{level}/{index}", path_parameters: { level, index }, answers: TILE },
  partial_tile: {
    ...READ,
    path: "/log/tile/{level}/{index}.p/{width}",
    path_parameters: { level, index, width },
    answers: TILE,
  },
  log_entry: {
    ...READ,
    path: "/log/entry/{index}",
    path_parameters: { index: ENTRY_INDEX },
    answers: { 200: shape(logEntryAnswerSchema) },
  },
  log_consistency: {
    ...READ,
    path: "/log/consistency",
    query: shape(consistencyQuerySchema),
    answers: { 200: shape(consistencyAnswerSchema) },
  },
} as const satisfies Routes

export const TRUST_ROUTES = {
  trust: {
    ...READ,
    path: "/.well-known/runseal-trust.json",
    answers: { 200: shape(trustDocumentSchema) },
    sealed: true,
  },
  trusted_root: { ...READ, path: "/.well-known/trusted-root.json", answers: { 200: shape(trustedRootSchema) } },
  service_key: { ...READ, path: "/.well-known/service.pub", answers: { 200: "application/x-pem-file" } },
  jwks: { ...READ, path: "/.well-known/jwks.json", answers: { 200: shape(jwksSchema) } },
} as const satisfies Routes

const TILE_TEXT = "32 bytes for each hash; an entry after its length as a big-endian uint16."

export const LOG_ENDPOINTS = /* @__PURE__ */ described("Log", LOG_ROUTES, () => ({
  checkpoint: {
    summary: "The current checkpoint, a signed note",
    description: "With the witnesses' cosignatures once enough of them cosigned this very checkpoint.",
    answers: { 200: "C2SP tlog-checkpoint." },
    refusals: [503],
  },
  witnessed_checkpoint: {
    summary: "The newest checkpoint that enough witnesses cosigned",
    answers: { 200: "C2SP tlog-checkpoint with tlog-cosignature lines." },
    refusals: [404, 503],
  },
  outside_logs: {
    summary: "Which entries other logs hold too",
    description: "Every Rekor log that was ever named with --anchor rekor, and what is still on its way there.",
    answers: { 200: "By rising log id; empty where there is none." },
    refusals: [503],
  },
  witnesses: {
    summary: "When the witnesses cosigned last, and which are silent",
    description: "As the process knows them that answers. What a witness signed is in the checkpoint.",
    answers: { 200: "In the order of the options; then those that are not asked any more." },
    refusals: [503],
  },
  genesis: { summary: "What entry 0 signs", unfailing: true, answers: { 200: "The leaf of the log's birth." } },
  key_changes: {
    summary: "What the entries sign with which the log's keys changed",
    unfailing: true,
    description:
      "Each is signed with the service key that the one before it names, the first with that of the genesis.",
    answers: { 200: "The changes, oldest first; none for a log with the keys of its birth." },
  },
  tile: { summary: "A full tile of 256", answers: { 200: TILE_TEXT }, refusals: [404, 406, 503] },
  partial_tile: { summary: "A partial tile", answers: { 200: TILE_TEXT }, refusals: [404, 406, 503] },
  log_entry: {
    summary: "An entry with its proof",
    answers: { 200: "The entry, against the current checkpoint." },
    refusals: [404, 503],
  },
  log_consistency: {
    summary: "Proof that the log only grew",
    answers: { 200: "RFC 6962 consistency proof." },
    refusals: [503],
  },
}))

export const TRUST_ENDPOINTS = /* @__PURE__ */ described("Trust", TRUST_ROUTES, () => ({
  trust: {
    summary: "The trust document",
    unfailing: true,
    description: "Compare its fingerprints with the operator by another way before you rely on it.",
    answers: { 200: "Keys of the service and its log." },
  },
  trusted_root: {
    summary: "Its Sigstore trusted_root.json alone",
    unfailing: true,
    answers: { 200: "Sigstore trusted root." },
  },
  service_key: { summary: "The service's public key", unfailing: true, answers: { 200: "PEM." } },
  jwks: {
    summary: "The service keys in force, as a JWKS document",
    description: "Permits are checked with them. A key that was replaced or revoked is not listed.",
    answers: {
      200: {
        description: "RFC 7517.",
        headers: { ETag: { description: "Hash of the document.", schema: { type: "string" }, required: true } },
      },
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
    refusals: [503],
  },
}))
