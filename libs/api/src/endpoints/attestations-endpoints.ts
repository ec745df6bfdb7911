/** Anchoring a digest of the caller's own. */
import { attestationAnswerSchema } from "@runseal/core/artifacts/attestation-answer"
import { attestationsPageSchema, attestRequestSchema } from "@runseal/core/wire/attestation-requests"
import { BODY_MAX_BYTES } from "../body-bounds.ts"
import { type Endpoint, json } from "../endpoint.ts"
import { pageQuerySchema } from "../queries.ts"

const ATTESTATIONS = { tag: "Attestations", access: "key" } as const

export const ATTESTATION_ENDPOINTS: readonly Endpoint[] = [
  {
    ...ATTESTATIONS,
    method: "post",
    path: "/attest",
    id: "attest",
    summary: "Anchor a digest on the log",
    limit: "attest",
    idempotent: true,
    body: {
      schema: attestRequestSchema,
      max_bytes: BODY_MAX_BYTES,
      example: {
        digest: "efe5a346c91eb0194778b7eb9fd65ba93bf0a8be400b713daca1f3124a693a12",
        algorithm: "sha256",
        subject_ref: "release-1.0.0.tar.gz",
      },
    },
    answers: { 201: json(attestationAnswerSchema, "The attestation: save it, it verifies offline.") },
  },
  {
    ...ATTESTATIONS,
    method: "get",
    path: "/attestations",
    id: "attestations",
    summary: "The caller's attestations, newest first",
    limit: "shared",
    query: pageQuerySchema,
    answers: { 200: json(attestationsPageSchema, "A page of attestations; each verifies by itself.") },
  },
]
