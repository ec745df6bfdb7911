/** Gate PEPG_ADMISSION: a run is not admitted unless the attested fields its policy requires are present and say something. */
import type { PolicyIdentity } from "../../formulas/decision.ts"
import { attestationGapReceipt } from "../../formulas/decision.ts"
import type { DecidedRun } from "../../formulas/moment.ts"
import type { Seal } from "../../formulas/seal.ts"
import { missingAttestedFields } from "../../vocabulary/attested-presence.ts"
import type { AttestedField } from "../../vocabulary/decision-codes.ts"
import type { Decided, Stop } from "../draft.ts"

type AdmissionPolicy = PolicyIdentity & { readonly required_attested_fields: readonly AttestedField[] }

export function admissionGate(
  run: DecidedRun,
  { declared }: Decided,
  policy: AdmissionPolicy,
  seal: Seal,
): Stop | undefined {
  const required = policy.required_attested_fields.toSorted()
  const missing = missingAttestedFields(declared.attested_context, required)
  if (missing.length === 0) return undefined
  const receipt = seal(attestationGapReceipt(run, policy, required, missing))
  return { outcome: "attestation_gap", key: "attestation_gap_receipt", receipt, sections: {} }
}
