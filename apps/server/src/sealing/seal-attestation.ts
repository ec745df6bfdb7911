/** One attestation on its way into the log. docs/formats.md section 7.6. */
import { randomBytes } from "node:crypto"
import { canonicalize } from "@runseal/canonical"
import type { AttestationLeaf } from "@runseal/core/artifacts/anchor"
import { type AttestationAnswer, attestationAnswer } from "@runseal/core/artifacts/attestation-answer"
import { attestationLeaf, leafBytes, leafDigest } from "@runseal/core/formulas/leaves"
import { ATTESTATION } from "@runseal/core/verify/verify-attestation"
import type { AttestRequest } from "@runseal/core/wire/attestation-requests"
import { packBundle } from "../store/tables/bundle-text.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import { leafed, type OpenItem, withoutLeaf } from "./batch.ts"

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
  readonly document: AttestationAnswer
  /** The document's canonical text, as stored and answered. */
  readonly text: string
}

/** @param answer called with it once it is durable */
export const attestationItem = (
  { owner, leaf }: AttestationDraft,
  claim: KeyClaim | undefined,
  answer: (sealed: SealedAttestation) => void,
): OpenItem => ({
  kind: "attestation",
  claim,
  charge_id: "",
  bytes: 0,
  locks: { attests: owner },
  open: round => ({
    place: "attestation",
    before: () =>
      withoutLeaf(() =>
        leafed(round, { leaf, bytes: leafBytes(leaf) }, appended => {
          const owner_ordinal = round.nextAttestation(owner)
          return () => {
            const document = attestationAnswer(round.anchor(appended))
            const text = canonicalize(document)
            const { attestation_id, digest } = document
            const created_at = round.start.time * 1000
            const { index: log_index } = appended
            return {
              document: { text, verdict: ATTESTATION.verdict, pack: true },
              seal: packed => ({
                rows: {
                  document: {
                    log_index,
                    owner,
                    chain_ordinal: 0,
                    kind: ATTESTATION.document,
                    instant: created_at,
                    leaf_digest: leafDigest(leaf),
                    packed: packed ?? packBundle(text),
                  },
                  attestation: { attestation_id, owner, owner_ordinal, created_at, digest, log_index },
                },
                record_id: attestation_id,
                counted: ["attestation"],
                acknowledge: () => answer({ document, text }),
              }),
            }
          }
        }),
      ),
  }),
})
