/** Every stored attestation: verified as a stranger would, in both forms, and in its place among its owner's. */
import { canonicalize } from "@runseal/canonical"
import type { Anchor } from "@runseal/core/artifacts/anchor"
import {
  type AttestationAnswer,
  attestationAnswerSchema,
  listedAttestation,
} from "@runseal/core/artifacts/attestation-answer"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { VERDICTS } from "@runseal/core/verify/report"
import { expect } from "vitest"
import type { Auditor } from "./auditor.ts"
import type { StoredAttestation, Tables } from "./read-tables.ts"
import type { TestService } from "./test-service.ts"

/** A verdict depends on text and trust alone, so that no text is judged twice. */
const judgedBy = new WeakMap<object, Map<string, AttestationAnswer>>()

/** Judges attestations, and gives their anchors. */
export function judgeAttestations(
  auditor: Auditor,
  service: TestService,
  attestations: readonly StoredAttestation[],
): readonly Anchor[] {
  const judged = judgedBy.get(service) ?? new Map()
  judgedBy.set(service, judged)
  return attestations.map(row => {
    const document = judged.get(row.document) ?? judgeBothForms(row, auditor)
    judged.set(row.document, document)
    checkColumns(row, document)
    return document
  })
}

/** Every attestation, and its place among its owner's. Gives the anchors it judged. */
export function checkAttestations(auditor: Auditor, service: TestService, { attestations }: Tables): readonly Anchor[] {
  const documents = judgeAttestations(auditor, service, attestations)
  for (const owner of new Set(attestations.map(row => row.owner))) {
    const ordinals = attestations.filter(row => row.owner === owner).map(row => row.owner_ordinal)
    expect(ordinals, `attestations of key ${owner}`).toEqual(ordinals.map((_, i) => i + 1))
  }
  return documents
}

function judgeBothForms(row: StoredAttestation, { judge, checkEntry }: Auditor): AttestationAnswer {
  const parsed = parseExact(
    attestationAnswerSchema,
    judge(row.document, VERDICTS.attestation, `attestation ${row.attestation_id}`),
  )
  if (!parsed.ok) throw new Error(parsed.problem)
  const listed = canonicalize(listedAttestation(parsed.value))
  judge(listed, VERDICTS.attestation, `listed attestation ${row.attestation_id}`)
  checkEntry(parsed.value)
  return parsed.value
}

/** The columns that lists read are projections of the document. */
function checkColumns(
  { document: _document, owner, owner_ordinal: _ordinal, ...columns }: StoredAttestation,
  document: AttestationAnswer,
): void {
  expect(columns).toEqual({
    attestation_id: document.leaf.attestation_id,
    created_at: Number(document.entry.integratedTime) * 1000,
    digest: document.leaf.digest,
    log_index: Number(document.entry.logIndex),
  })
  expect(owner).toBeGreaterThanOrEqual(0)
}
