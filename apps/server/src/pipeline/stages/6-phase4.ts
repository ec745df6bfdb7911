/** Stage 6, PHASE4: ties the record to tenant, region and inputs. */
import type {
  AerSection,
  EnvelopeSection,
  MigrationTokenSection,
  PayloadSection,
  ReplayFingerprintSection,
  ZkspBindingSection,
} from "@runseal/core/artifacts/sections"
import { migrationTokenSection, replayFingerprintSection } from "@runseal/core/formulas/execution"
import type { Seal } from "@runseal/core/formulas/seal"

export type Phase4Inputs = {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
  readonly aer: AerSection
  readonly zksp_binding: ZkspBindingSection
  readonly policy_hash: string
}

export const phase4 = (
  inputs: Phase4Inputs,
  sealAs: Seal,
): { readonly migration_token: MigrationTokenSection; readonly replay_fingerprint: ReplayFingerprintSection } => ({
  migration_token: migrationTokenSection(inputs.envelope, inputs.aer, inputs.zksp_binding, sealAs),
  replay_fingerprint: replayFingerprintSection(inputs.envelope, inputs.payload, inputs.policy_hash, inputs.aer, sealAs),
})
