/** Stage 5, ZKSP: evidence. There is no hardware quote and no zero-knowledge proof, and both sections say so. */
import type {
  AerSection,
  EnvelopeSection,
  HardwareAttestationSection,
  PayloadSection,
  ZkspBindingSection,
} from "@runseal/core/artifacts/sections"
import { hardwareAttestationSection, zkspBindingSection } from "@runseal/core/formulas/execution"
import type { Seal } from "@runseal/core/formulas/seal"

export function zksp(
  envelope: EnvelopeSection,
  payload: PayloadSection,
  aer: AerSection,
  sealAs: Seal,
): { readonly hardware_attestation: HardwareAttestationSection; readonly zksp_binding: ZkspBindingSection } {
  const hardware_attestation = hardwareAttestationSection(envelope, sealAs)
  return { hardware_attestation, zksp_binding: zkspBindingSection(aer, payload, hardware_attestation, sealAs) }
}
