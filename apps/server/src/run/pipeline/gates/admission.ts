/** Gate PEPG_ADMISSION: a run is not admitted unless the attested fields its policy requires are present and say something. */
import type { EnvelopeSection } from "@runseal/core/artifacts/sealed-sections"
import type { PolicyIdentity } from "@runseal/core/formulas/decision"
import { attestationGapReceipt } from "@runseal/core/formulas/decision"
import type { Seal } from "@runseal/core/formulas/seal"
import { missingAttestedFields } from "@runseal/core/vocabulary/attested-presence"
import type { AttestedField } from "@runseal/core/vocabulary/decision-codes"
import type { Submission } from "@runseal/core/wire/submission"
import type { Stop } from "../draft.ts"

type AdmissionPolicy = PolicyIdentity & { readonly required_attested_fields: readonly AttestedField[] }

export function admissionGate(
  submission: Submission,
  envelope: EnvelopeSection,
  policy: AdmissionPolicy,
  seal: Seal,
): Stop | undefined {
  const required = policy.required_attested_fields.toSorted()
  const missing = missingAttestedFields(submission.declared.attested_context, required)
  if (missing.length === 0) return undefined
  const receipt = seal(attestationGapReceipt({ envelope }, policy, required, missing))
  return { outcome: "attestation_gap", key: "attestation_gap_receipt", receipt, sections: {} }
}
