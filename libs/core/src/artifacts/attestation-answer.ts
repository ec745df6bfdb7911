/**
 * An attestation as `POST /attest` answers it and as `GET /attestations` lists it. Each form is a document that verifies
 * by itself. docs/formats.md section 7.6.
 */

import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import { clockSchema, decimalSchema, type Shape } from "../vocabulary/scalars.ts"
import type { Anchor, AttestationLeaf } from "./anchor.ts"
import { attestationFacts, attestationLeafSchema } from "./anchor.ts"

/** What both forms hold; `log_entry_id` is the entry's index in decimal. */
const { algorithm, subject_ref, ...shown } = attestationFacts
const facts = {
  ...shown,
  log_entry_id: decimalSchema,
  leaf: attestationLeafSchema,
  entry: transparencyLogEntrySchema,
}

export const attestationAnswerSchema = v.strictObject({
  ok: v.literal(true),
  ...facts,
})
/** Status 201 of `POST /attest`. */
export type AttestationAnswer = Shape<typeof attestationAnswerSchema>

export const listedAttestationSchema = v.strictObject({
  created_at: clockSchema,
  algorithm,
  subject_ref,
  ...facts,
})
/** An item of `GET /attestations`. What it repeats is the leaf's; `created_at` is the entry's log time. */
export type ListedAttestation = Shape<typeof listedAttestationSchema>

export type AttestationDocument = AttestationAnswer | ListedAttestation

/** The answer that an anchored leaf gives. */
export const attestationAnswer = ({ leaf, entry }: Anchor<AttestationLeaf>): AttestationAnswer => ({
  ok: true,
  attestation_id: leaf.attestation_id,
  digest: leaf.digest,
  log_entry_id: entry.logIndex,
  leaf,
  entry,
})

/** The same attestation as lists show it. */
export const listedAttestation = ({ ok: _ok, ...facts }: AttestationAnswer): ListedAttestation => {
  const { algorithm, subject_ref } = facts.leaf
  const created_at = new Date(Number(facts.entry.integratedTime) * 1000).toISOString()
  return { ...facts, created_at, algorithm, ...(subject_ref === undefined ? {} : { subject_ref }) }
}
