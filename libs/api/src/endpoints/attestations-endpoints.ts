/** Anchoring a digest of the caller's own. */
import { attestationAnswerSchema } from "@runseal/core/artifacts/attestation-answer"
import { attestationsPageSchema, attestRequestSchema } from "@runseal/core/wire/attestation-requests"
import { described, type Routes, shape } from "../endpoint.ts"
import { pageQuerySchema } from "../queries.ts"

export const ATTESTATION_ROUTES = {
  attest: {
    method: "post",
    path: "/attest",
    access: "key",
    limit: "attest",
    idempotent: true,
    body: shape(attestRequestSchema),
    answers: { 201: shape(attestationAnswerSchema) },
    sealed: true,
  },
  attestations: {
    method: "get",
    path: "/attestations",
    access: "key",
    limit: "shared",
    query: shape(pageQuerySchema),
    answers: { 200: shape(attestationsPageSchema) },
  },
} as const satisfies Routes

export const ATTESTATION_ENDPOINTS = /* @__PURE__ */ described("Attestations", ATTESTATION_ROUTES, () => ({
  attest: {
    summary: "Anchor a digest on the log",
    body: {
      example: {
        digest: "efe5a346c91eb0194778b7eb9fd65ba93bf0a8be400b713daca1f3124a693a12",
        algorithm: "sha256",
        subject_ref: "release-1.0.0.tar.gz",
      },
    },
    answers: { 201: "The attestation: save it, it verifies offline." },
  },
  attestations: {
    summary: "The caller's attestations, newest first",
    answers: { 200: "A page of attestations; each verifies by itself." },
  },
}))
