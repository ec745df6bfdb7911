/** Stage 3, DKEC: runs the six kernels under the allow token. */
import type { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import type { AllowToken } from "@runseal/core/artifacts/sealed-artifacts"
import type {
  EfaSection,
  EnvelopeSection,
  EpaSection,
  LeakageBundleSection,
  PolicyEvaluationSection,
  TransportSection,
} from "@runseal/core/artifacts/sections"
import type { DeclaredValueCounts } from "@runseal/core/formulas/execution"
import { efaSection, epaSection, leakageBundleSection } from "@runseal/core/formulas/execution"
import type { KernelSources } from "@runseal/core/formulas/kernels"
import type { Seal } from "@runseal/core/formulas/seal"
import { declaredValueCount } from "@runseal/core/kernels/kernel"
import { runKernels } from "@runseal/core/kernels/run-kernels"
import type { BaseSections } from "../draft.ts"

export type DkecInputs = {
  readonly base: BaseSections
  readonly envelope: EnvelopeSection
  readonly transport: TransportSection
  readonly policy_evaluation: PolicyEvaluationSection
  readonly allow_token: AllowToken
}
export type DkecSections = {
  readonly epa: EpaSection
  readonly leakage_bundle: LeakageBundleSection
  readonly efa: EfaSection
}

function valueCounts(sources: KernelSources): DeclaredValueCounts {
  const count = (name: (typeof DECLARED_NAMES)[number]): number => declaredValueCount(sources, name) ?? 0
  return {
    attested_context: count("attested_context"),
    request_substance: count("request_substance"),
    authorization_chain: count("authorization_chain"),
    regulatory_scaffolding: count("regulatory_scaffolding"),
    causal_graph: count("causal_graph"),
    reproducibility_context: count("reproducibility_context"),
  }
}

export function dkec(inputs: DkecInputs, sealAs: Seal): DkecSections {
  const { base, envelope, transport, policy_evaluation, allow_token } = inputs
  const sources = { ...base, envelope }
  const records = runKernels(sources)
  const leakage_bundle = leakageBundleSection(envelope, base.payload, valueCounts(sources), sealAs)
  const epa = epaSection(envelope, transport, policy_evaluation, allow_token, sealAs)
  return { epa, leakage_bundle, efa: efaSection(envelope, epa, leakage_bundle, records, sealAs) }
}
