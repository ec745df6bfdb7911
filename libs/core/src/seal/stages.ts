/** The nine stages: what each makes of what came before it. docs/pipeline.md, "Stages". */

import type { ActSection } from "../artifacts/act-section.ts"
import type { DeclaredSection } from "../artifacts/declared-sections.ts"
import type { AerSection, TransportSection, ZkspBindingSection } from "../artifacts/derived-sections.ts"
import type { PermitUseSection } from "../artifacts/permit-sections.ts"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { EnvelopeSection, PayloadSection, PolicyEvaluationSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import {
  efaSection,
  epaSection,
  hardwareAttestationSection,
  leakageBundleSection,
  migrationTokenSection,
  replayFingerprintSection,
  zkspBindingSection,
} from "../derivation/v2/execution-sections.ts"
import { declaredValueCounts } from "../derivation/v2/kernel.ts"
import { runKernels } from "../derivation/v2/run-kernels.ts"
import type { Moment } from "../formulas/moment.ts"
import { envelopeSection } from "../formulas/pre-execution.ts"
import type { Seal, Unsealed } from "../formulas/seal.ts"
import type { Enforcement } from "../vocabulary/scalars.ts"
import type { Submission } from "../wire/submission.ts"
import type { BaseSections } from "./draft.ts"

/** Stage 1, DOG: the envelope, the run's identity. */
export function dog(
  submission: Pick<Submission, "program_id" | "route_id" | "registry_record_hash" | "tenant" | "enforcement">,
  moment: Moment,
  base: BaseSections,
  {
    region: execution_region,
    enforcement: everyRun,
  }: { readonly region: string; readonly enforcement?: Enforcement | undefined },
): Unsealed<EnvelopeSection> {
  const { program_id, route_id, registry_record_hash, tenant, enforcement = everyRun } = submission
  const { tenant_id } = tenant
  const facts = { program_id, route_id, registry_record_hash, tenant_id, execution_region, enforcement }
  return envelopeSection(facts, base.payload, base, moment)
}

/** Stage 2, DTL: the transport record of the envelope. */
export { transportSection as dtl } from "../derivation/v2/execution-sections.ts"

export type DkecInputs = {
  readonly base: BaseSections
  readonly envelope: EnvelopeSection
  readonly transport: TransportSection
  readonly policy_evaluation: PolicyEvaluationSection
  readonly act?: ActSection
  readonly allow_token: AllowToken
  /** Of a close, as the next. */
  readonly permit?: PermitUseSection
  readonly closing?: DeclaredSection
}

/** What DKEC makes. */
export type Executed = Required<Pick<Sections, "epa" | "leakage_bundle" | "efa">>

/** Stage 3, DKEC: runs the six kernels under the allow token. */
export function dkec(inputs: DkecInputs, seal: Seal): Executed {
  const { base, envelope, transport, policy_evaluation, allow_token, permit, closing } = inputs
  const sources = { ...base, ...(permit && { permit }), ...(closing && { closing }) }
  const records = runKernels({ ...sources, envelope })
  if (records === undefined) throw new Error("a request withholds no section")
  const leakage_bundle = seal(leakageBundleSection(envelope, base.payload, declaredValueCounts(sources), inputs.act))
  const epa = seal(epaSection(envelope, transport, policy_evaluation, allow_token))
  return { epa, leakage_bundle, efa: seal(efaSection(envelope, epa, leakage_bundle, records)) }
}

/** Stage 4, AER: the execution record, made only after every gate passed. */
export { aerSection as aer } from "../derivation/v2/execution-sections.ts"

/** Stage 5, ZKSP: evidence. There is no hardware quote and no zero-knowledge proof, and both sections say so. */
export function zksp(envelope: EnvelopeSection, payload: PayloadSection, aer: AerSection, seal: Seal) {
  const hardware_attestation = seal(hardwareAttestationSection(envelope))
  return { hardware_attestation, zksp_binding: seal(zkspBindingSection(aer, payload, hardware_attestation)) }
}

type Phase4Inputs = {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
  readonly aer: AerSection
  readonly zksp_binding: ZkspBindingSection
  readonly policy_hash: string
  /** Of a close. */
  readonly closing?: DeclaredSection | undefined
}

/** Stage 6, PHASE4: ties the record to tenant, region and inputs. */
export const phase4 = ({ envelope, payload, aer, zksp_binding, policy_hash, closing }: Phase4Inputs, seal: Seal) => ({
  migration_token: seal(migrationTokenSection(envelope, aer, zksp_binding)),
  replay_fingerprint: seal(replayFingerprintSection(envelope, payload, policy_hash, aer, closing)),
})

/** Stage 7, LEDGER: proof that the pre-anchor leaf was taken into the log. */
/** Stage 8, REGISTRY: name and hash of every artifact that exists before it. */
/** Stage 9, DLA: the final seal over every section. */
export {
  finalVfaSection as dla,
  poteProofSection as ledger,
  registrySection as registry,
} from "../derivation/v2/log-sections.ts"
