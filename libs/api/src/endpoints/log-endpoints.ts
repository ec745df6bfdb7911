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
import { bytes, type Endpoint, json, type PathParameter } from "../endpoint.ts"
import { consistencyQuerySchema } from "../queries.ts"

const LOG = { method: "get", tag: "Log", access: "public" } as const
const TRUST = { method: "get", tag: "Trust", access: "public" } as const

const level: PathParameter = {
  schema: { type: "string", pattern: "^(entries|[0-9]|[1-5][0-9]|6[0-3])$" },
  description: "Level of the tile, or `entries` for the entry bodies.",
  example: "entries",
}
const index: PathParameter = {
  schema: { type: "string", pattern: "^(x[0-9]{3}/)*[0-9]{3}$" },
  description:
    "Index as C2SP tlog-tiles writes it: groups of three digits, all but the last after an x, as in x001/234.",
  example: "000",
  many_segments: true,
}
const width: PathParameter = {
  schema: { type: "integer", minimum: 1, maximum: 255 },
  description: "How many hashes or entries of the tile.",
  example: 1,
}
const tile = bytes(
  "application/octet-stream",
  "32 bytes for each hash; an entry after its length as a big-endian uint16.",
)

export const LOG_ENDPOINTS: readonly Endpoint[] = [
  {
    ...LOG,
    path: "/log/checkpoint",
    id: "checkpoint",
    summary: "The current checkpoint, a signed note",
    description: "With the witnesses' cosignatures once enough of them cosigned this very checkpoint.",
    answers: { 200: bytes("text/plain", "C2SP tlog-checkpoint.") },
    refusals: [503],
  },
  {
    ...LOG,
    path: "/log/witnessed-checkpoint",
    id: "witnessed_checkpoint",
    summary: "The newest checkpoint that enough witnesses cosigned",
    answers: { 200: bytes("text/plain", "C2SP tlog-checkpoint with tlog-cosignature lines.") },
    refusals: [404, 503],
  },
  {
    ...LOG,
    path: "/log/outside",
    id: "outside_logs",
    summary: "Which entries other logs hold too",
    description: "Every Rekor log that was ever named with --anchor rekor, and what is still on its way there.",
    answers: { 200: json(outsideLogsAnswerSchema, "By rising log id; empty where there is none.") },
    refusals: [503],
  },
  {
    ...LOG,
    path: "/log/witnesses",
    id: "witnesses",
    summary: "When the witnesses cosigned last, and which are silent",
    description: "As the process knows them that answers. What a witness signed is in the checkpoint.",
    answers: {
      200: json(witnessesAnswerSchema, "In the order of the options; then those that are not asked any more."),
    },
    refusals: [503],
  },
  {
    ...LOG,
    path: "/log/genesis",
    id: "genesis",
    summary: "What entry 0 signs",
    unfailing: true,
    answers: { 200: json(genesisAnswerSchema, "The leaf of the log's birth.") },
  },
  {
    ...LOG,
    path: "/log/key-changes",
    id: "key_changes",
    summary: "What the entries sign with which the log's keys changed",
    unfailing: true,
    description:
      "Each is signed with the service key that the one before it names, the first with that of the genesis.",
    answers: {
      200: json(keyChangesAnswerSchema, "The changes, oldest first; none for a log with the keys of its birth."),
    },
  },
  {
    ...LOG,
    path: "/log/tile/{level}/{index}",
    id: "tile",
    summary: "A full tile of 256",
    path_parameters: { level, index },
    answers: { 200: tile },
    refusals: [404, 406, 503],
  },
  {
    ...LOG,
    path: "/log/tile/{level}/{index}.p/{width}",
    id: "partial_tile",
    summary: "A partial tile",
    path_parameters: { level, index, width },
    answers: { 200: tile },
    refusals: [404, 406, 503],
  },
  {
    ...LOG,
    path: "/log/entry/{index}",
    id: "log_entry",
    summary: "An entry with its proof",
    path_parameters: {
      index: {
        schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
        description: "Index of the entry.",
        example: 0,
      },
    },
    answers: { 200: json(logEntryAnswerSchema, "The entry, against the current checkpoint.") },
    refusals: [404, 503],
  },
  {
    ...LOG,
    path: "/log/consistency",
    id: "log_consistency",
    summary: "Proof that the log only grew",
    query: consistencyQuerySchema,
    answers: { 200: json(consistencyAnswerSchema, "RFC 6962 consistency proof.") },
    refusals: [503],
  },
  {
    ...TRUST,
    path: "/.well-known/runseal-trust.json",
    id: "trust",
    summary: "The trust document",
    unfailing: true,
    description: "Compare its fingerprints with the operator by another way before you rely on it.",
    answers: { 200: json(trustDocumentSchema, "Keys of the service and its log.") },
  },
  {
    ...TRUST,
    path: "/.well-known/trusted-root.json",
    id: "trusted_root",
    summary: "Its Sigstore trusted_root.json alone",
    unfailing: true,
    answers: { 200: json(trustedRootSchema, "Sigstore trusted root.") },
  },
  {
    ...TRUST,
    path: "/.well-known/service.pub",
    id: "service_key",
    summary: "The service's public key",
    unfailing: true,
    answers: { 200: bytes("application/x-pem-file", "PEM.") },
  },
  {
    ...TRUST,
    path: "/.well-known/jwks.json",
    id: "jwks",
    summary: "The service keys in force, as a JWKS document",
    description: "Permits are checked with them. A key that was replaced or revoked is not listed.",
    answers: {
      200: json(jwksSchema, "RFC 7517.", {
        ETag: { description: "Hash of the document.", schema: { type: "string" }, required: true },
      }),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
    refusals: [503],
  },
]
