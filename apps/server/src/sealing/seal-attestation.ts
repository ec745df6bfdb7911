/** One attestation on its way into the log. docs/formats.md section 7.6. */
import { randomBytes } from "node:crypto"
import { canonicalize } from "@runseal/canonical"
import type { AttestationLeaf } from "@runseal/core/artifacts/anchor"
import { type AttestationAnswer, attestationAnswer } from "@runseal/core/artifacts/attestation-answer"
import { attestationLeaf } from "@runseal/core/formulas/leaves"
import type { AttestRequest } from "@runseal/core/wire/attestation-requests"
import { type AppendedLeaf, anchorOf, type EntryCheckpoint, type LogIdentity } from "../keys/embedded-log.ts"
import type { LogBuilder } from "../keys/log-builder.ts"

const ID_BYTES = 16

export type AttestationDraft = {
  /** Id of the caller's API key; 0 = anonymous. */
  readonly owner: number
  readonly leaf: AttestationLeaf
}

/** What a request asks to be anchored, under an id of its own: equal requests are two attestations. */
export const attestationDraft = (
  owner: number,
  { digest, algorithm, subject_ref }: AttestRequest,
): AttestationDraft => ({
  owner,
  leaf: attestationLeaf({
    digest,
    algorithm,
    ...(subject_ref === undefined ? {} : { subject_ref }),
    attestation_id: `att-${randomBytes(ID_BYTES).toString("hex")}`,
  }),
})

export type SealedAttestation = {
  readonly owner: number
  /** 1, 2, 3 … without a gap within the owner. */
  readonly owner_ordinal: number
  readonly document: AttestationAnswer
  /** The document's canonical text, as stored and answered. */
  readonly text: string
}

/** An attestation whose leaf is in the log, with its owner's next ordinal. */
type AppendedAttestation = Pick<SealedAttestation, "owner" | "owner_ordinal"> & {
  readonly appended: AppendedLeaf<AttestationLeaf>
}

/** Its document, proven against a checkpoint that includes it. */
export function sealAttestation(
  { owner, owner_ordinal, appended }: AppendedAttestation,
  log: LogIdentity,
  builder: LogBuilder,
  checkpoint: EntryCheckpoint,
): SealedAttestation {
  const document = attestationAnswer(anchorOf(log, builder, appended, checkpoint))
  return { owner, owner_ordinal, document, text: canonicalize(document) }
}
