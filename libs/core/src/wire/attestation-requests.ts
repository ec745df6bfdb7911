/**
 * `POST /attest` and `GET /attestations` on the wire. docs/api.md, "POST /attest" and "GET /attestations". The
 * answer of the first and the items of the second are documents: their schemas are in artifacts/attestation-answer.ts.
 */
import * as v from "valibot"
import { SUBJECT_REF_MAX_LENGTH } from "../artifacts/anchor.ts"
import { listedAttestationSchema } from "../artifacts/attestation-answer.ts"
import { countSchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"
import { PAGE_LIMIT_MAX } from "./run-summaries.ts"

/** The digest algorithms that are attested. */
export const ATTESTED_ALGORITHM = "sha256"

/** The request body. Other members are refused: an attestation without the name that was meant cannot be taken back. */
export const attestRequestSchema = v.strictObject({
  /** 64 lowercase hex digits. */
  digest: sha256Schema,
  algorithm: v.literal(ATTESTED_ALGORITHM),
  /** The caller's own name for what the digest is of; sealed and shown as it is. */
  subject_ref: v.exactOptional(
    v.pipe(
      v.string(),
      v.minLength(1, "must not be empty"),
      v.maxLength(SUBJECT_REF_MAX_LENGTH, `must have at most ${SUBJECT_REF_MAX_LENGTH} characters`),
    ),
  ),
})
export type AttestRequest = Shape<typeof attestRequestSchema>

export const attestationsPageSchema = v.strictObject({
  ok: v.literal(true),
  total: countSchema,
  limit: countSchema,
  offset: countSchema,
  attestations: v.pipe(v.array(listedAttestationSchema), v.maxLength(PAGE_LIMIT_MAX)),
})
/** A page of the caller's attestations, newest first. */
export type AttestationsPage = Shape<typeof attestationsPageSchema>
