/**
 * Rebuilds every derived section from the sections it follows from, with the formulas that sealed it. So no field of it
 * is only the operator's word. docs/formats.md section 16, checks 2 and 6.
 */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { EnvelopeSection, SectionName, Sections, SystemProvenanceSection } from "../artifacts/sections.ts"
import { allowToken } from "../formulas/decision.ts"
import {
  aerSection,
  epaSection,
  hardwareAttestationSection,
  leakageBundleSection,
  migrationTokenSection,
  replayFingerprintSection,
  zkspBindingSection,
} from "../formulas/execution-sections.ts"
import { finalVfaSection, poteProofSection, registrySection } from "../formulas/manifest-sections.ts"
import type { ProvenanceFacts } from "../formulas/pre-execution.ts"
import { envelopeSection, systemProvenanceSection, transportSection } from "../formulas/pre-execution.ts"
import { isSealOf, seal, sealHash } from "../formulas/seal.ts"
import { declaredValueCounts } from "../kernels/kernel.ts"
import { runKernels, unrepeatableKernels } from "../kernels/run-kernels.ts"
import { isPossibleRecord } from "../kernels/stated-kernel.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { callerContradictions, payloadContradictions } from "./contradictions.ts"
import type { ExaminedBundle, Findings } from "./examination.ts"

/** What sections are rebuilt from. */
type Sources = {
  readonly examined: ExaminedBundle
  readonly sections: Sections
  readonly envelope: EnvelopeSection
  /** The token under which the kernels ran. A stage_error carries none, and its policy evaluation gives it. */
  readonly token: AllowToken | undefined
}

/** How each derived section follows from the others; undefined where one of these is missing, which another check reports. */
const REBUILD: ReadonlyMap<SectionName, (sources: Sources) => JsonObject | undefined> = new Map([
  ["envelope", rebuiltEnvelope],
  ["transport", ({ envelope }) => transportSection(envelope)],
  [
    "epa",
    ({ envelope, token, sections: { transport, policy_evaluation: evaluation } }) =>
      transport && evaluation && token && epaSection(envelope, transport, evaluation, token),
  ],
  [
    "leakage_bundle",
    ({ envelope, sections }) => {
      const counts = declaredValueCounts(sections, sections.leakage_bundle?.declared_values)
      return leakageBundleSection(envelope, sections.payload, counts)
    },
  ],
  ["hardware_attestation", ({ envelope }) => hardwareAttestationSection(envelope)],
  ["aer", rebuiltAer],
  [
    "zksp_binding",
    ({ sections: { aer, payload, hardware_attestation: hardware } }) =>
      aer && hardware && zkspBindingSection(aer, payload, hardware),
  ],
  [
    "migration_token",
    ({ envelope, sections: { aer, zksp_binding: zksp } }) => aer && zksp && migrationTokenSection(envelope, aer, zksp),
  ],
  [
    "replay_fingerprint",
    ({ envelope, sections: { payload, policy_evaluation: evaluation, aer } }) =>
      evaluation && aer && replayFingerprintSection(envelope, payload, evaluation.policy_hash, aer),
  ],
  [
    "pote_proof",
    ({ examined: { bundle, known } }) =>
      bundle.anchors.pre_anchor && poteProofSection(bundle.anchors.pre_anchor, known),
  ],
  ["registry", ({ envelope, sections, token }) => token && registrySection(envelope, sections, token)],
  ["final_vfa", ({ envelope, sections: { registry } }) => registry && finalVfaSection(envelope, registry)],
])

function rebuiltEnvelope({ examined: { bundle }, sections, envelope }: Sources): JsonObject {
  const { program_id, route_id, tenant_id, execution_region } = bundle.run
  const { registry_record_hash } = envelope
  const facts = { program_id, route_id, registry_record_hash, tenant_id, execution_region }
  const moment = { at: envelope.admission_clock, nonce: envelope.run_nonce }
  return envelopeSection(facts, sections.payload, sections, moment)
}

function rebuiltAer({ envelope, token: allow_token, sections }: Sources): JsonObject | undefined {
  const { transport, epa, efa, leakage_bundle, budget_snapshot, governance_review } = sections
  return (
    transport &&
    epa &&
    efa &&
    leakage_bundle &&
    budget_snapshot &&
    governance_review &&
    allow_token &&
    aerSection({ envelope, transport, epa, efa, leakage_bundle, budget_snapshot, governance_review, allow_token })
  )
}

/** The sections whose own hash is right. A withheld section has only its hash, and nothing to compare with it. */
export const intactSections = (sections: Sections, known: KnownTexts | undefined): ReadonlySet<JsonObject> =>
  new Set(
    Object.values(sections).filter(section => !("withheld" in section) && sealHash(section, known) === section.hash),
  )

/** Checks every section by itself: its hash, and what payload and caller cannot be. */
export function checkSectionHashes({ bundle: { sections, run }, intact, findings }: ExaminedBundle): void {
  findings.fail("sections", ...payloadContradictions(sections.payload))
  for (const [name, section] of Object.entries(sections))
    findings.require(
      "sections",
      "withheld" in section || intact.has(section),
      `section ${name} does not match its hash`,
    )
  findings.fail("sections", ...callerContradictions(sections, run.tenant_id))
}

/** Checks every derived section against the sections it follows from, and runs the kernels again. */
export function checkLinks(examined: ExaminedBundle): void {
  const { bundle, intact, findings } = examined
  const { sections, run } = bundle
  const compare = (name: SectionName, rebuild: () => JsonObject | undefined): void => {
    const section = sections[name]
    const rebuilt = section && rebuild()
    if (section === undefined || rebuilt === undefined) return
    const same = isSealOf(section, rebuilt, intact.has(section))
    findings.require("sections", same, `section ${name} is not what the other sections make it`)
  }
  compare("system_provenance", () => systemProvenanceSection(provenanceFacts(sections.system_provenance)))
  const { envelope, policy_evaluation: evaluation } = sections
  if (envelope === undefined) return
  findings.require("sections", run.created_at === envelope.admission_clock, "created_at is not the admission clock")
  const token = bundle.allow_token ?? (evaluation && seal(allowToken(evaluation)))
  for (const [name, rebuild] of REBUILD) compare(name, () => rebuild({ examined, sections, envelope, token }))
  checkKernels({ ...sections, envelope }, findings)
}

/** What the operator states of the software. In which terms he states it is fixed. */
function provenanceFacts(section: SystemProvenanceSection): ProvenanceFacts {
  const { kind: _kind, mode: _mode, disclosure: _disclosure, hash: _hash, ...facts } = section
  return facts
}

/** Runs the kernels again. Their names are checked first: for a kernel that reads a withheld section the record's own is taken. */
function checkKernels(sections: Sections & { readonly envelope: EnvelopeSection }, findings: Findings): void {
  const { efa, epa, leakage_bundle: leakage, envelope } = sections
  if (efa === undefined) return
  const isLinked =
    efa.epa_hash === epa?.hash && efa.leakage_bundle_hash === leakage?.hash && efa.envelope_id === envelope.envelope_id
  findings.require("sections", isLinked, "section efa names other sections")
  const inOrder = KERNELS.every((kernel, i) => efa.kernels[i]?.kernel === kernel)
  findings.require("executions", inOrder, "the kernels are not the six in their order")
  if (!inOrder) return
  const executionIds = efa.kernels.map(record => record.execution_id)
  const unrepeatable = unrepeatableKernels(sections)
  for (const [i, rebuilt] of runKernels(sections, efa.kernels).entries()) {
    const { kernel } = rebuilt
    const found = efa.kernels[i]
    const same = found !== undefined && isSameJson(found, rebuilt)
    findings.require("executions", same, `kernel ${kernel} does not give what is recorded`)
    if (found === undefined || !unrepeatable.includes(kernel)) continue
    const context = { sources: sections, execution_ids: executionIds.slice(0, i), values: leakage?.declared_values }
    findings.require("executions", isPossibleRecord(found, context), `kernel ${kernel} cannot give what is recorded`)
  }
}
