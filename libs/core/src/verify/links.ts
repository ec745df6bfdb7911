/**
 * Rebuilds every derived section from the ones it derives from, with the formulas that sealed it, so that no field of it
 * rests on the operator's word. docs/formats.md section 16, checks 2 and 6.
 */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { EfaSection, Sections, SystemProvenanceSection } from "../artifacts/sections.ts"
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
import type { KernelSources } from "../formulas/kernels.ts"
import { finalVfaSection, poteProofSection, registrySection } from "../formulas/manifest-sections.ts"
import type { ProvenanceFacts } from "../formulas/pre-execution.ts"
import { envelopeSection, systemProvenanceSection, transportSection } from "../formulas/pre-execution.ts"
import { isSealOf, seal, sealHash } from "../formulas/seal.ts"
import { declaredValueCounts } from "../kernels/kernel.ts"
import { runKernels, unrepeatableKernels } from "../kernels/run-kernels.ts"
import { isPossibleRecord, type RecordContext } from "../kernels/stated-kernel.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { callerContradictions, payloadContradictions } from "./contradictions.ts"
import type { Findings } from "./report.ts"

/** Notes a section that is not what the others make it. */
type Compare = (name: string, stated: JsonObject, rebuilt: JsonObject) => void

/**
 * Recomputes every section's own hash; a withheld section has only its hash.
 * @returns the sections that match theirs
 */
export function checkSectionHashes(
  sections: Sections,
  findings: Findings,
  known?: KnownTexts,
): ReadonlySet<JsonObject> {
  for (const problem of payloadContradictions(sections.payload)) findings.fail("sections", problem)
  const intact = new Set<JsonObject>()
  for (const [name, section] of Object.entries(sections)) {
    if ("withheld" in section) continue
    if (sealHash(section, known) === section.hash) intact.add(section)
    else findings.fail("sections", `section ${name} does not match its hash`)
  }
  return intact
}

/**
 * Rebuilds the derived sections that the bundle holds.
 * @param intact sections whose own hash is right
 */
export function checkLinks(
  bundle: BundleBody,
  intact: ReadonlySet<JsonObject>,
  findings: Findings,
  known?: KnownTexts,
): void {
  const compare: Compare = (name, stated, rebuilt) => {
    const same = isSealOf(stated, rebuilt, intact.has(stated))
    findings.require("sections", same, `section ${name} is not what the other sections make it`)
  }
  const { sections, run } = bundle
  for (const problem of callerContradictions(sections, run.tenant_id)) findings.fail("sections", problem)
  const { envelope, transport, system_provenance: provenance } = sections
  compare("system_provenance", provenance, systemProvenanceSection(provenanceFacts(provenance)))
  if (envelope === undefined) return
  findings.require("sections", run.created_at === envelope.admission_clock, "created_at is not the admission clock")
  const facts = {
    program_id: run.program_id,
    route_id: run.route_id,
    registry_record_hash: envelope.registry_record_hash,
    tenant_id: run.tenant_id,
    execution_region: run.execution_region,
  }
  const moment = { at: envelope.admission_clock, nonce: envelope.run_nonce }
  compare("envelope", envelope, envelopeSection(facts, sections.payload, sections, moment))
  if (transport !== undefined) compare("transport", transport, transportSection(envelope))
  checkExecutionLinks(bundle, compare, findings)
  checkEvidenceLinks(bundle, compare)
  checkLedgerLinks(bundle, compare, findings, known)
}

/** What the operator states about his software; in what terms he states it is not his to say. */
function provenanceFacts(section: SystemProvenanceSection): ProvenanceFacts {
  const { kind: _kind, mode: _mode, disclosure: _disclosure, hash: _hash, ...facts } = section
  return facts
}

/** The token under which the kernels ran. A stage_error carries none; its policy evaluation gives it again. */
const tokenOf = ({ allow_token, sections }: BundleBody): AllowToken | undefined =>
  allow_token ?? (sections.policy_evaluation && seal(allowToken(sections.policy_evaluation)))

function checkExecutionLinks(bundle: BundleBody, compare: Compare, findings: Findings): void {
  const { sections } = bundle
  const token = tokenOf(bundle)
  const { envelope, transport, policy_evaluation: evaluation, epa, leakage_bundle: leakage, efa } = sections
  if (envelope === undefined) return
  if (epa !== undefined && transport !== undefined && evaluation !== undefined && token !== undefined)
    compare("epa", epa, epaSection(envelope, transport, evaluation, token))
  const sources = { ...sections, envelope }
  if (leakage !== undefined) {
    const counts = declaredValueCounts(sources, leakage.declared_values)
    compare("leakage_bundle", leakage, leakageBundleSection(envelope, sections.payload, counts))
  }
  if (efa !== undefined) {
    const linked = efa.epa_hash === epa?.hash && efa.leakage_bundle_hash === leakage?.hash
    findings.require("sections", linked && efa.envelope_id === envelope.envelope_id, "section efa names other sections")
    checkKernels(sources, efa, leakage?.declared_values, findings)
  }
}

/** Runs the kernels again. Their names come first: a withheld section lets a record's own kernel stand in for itself. */
function checkKernels(
  sources: KernelSources,
  efa: EfaSection,
  values: RecordContext["values"],
  findings: Findings,
): void {
  const inOrder = KERNELS.every((kernel, i) => efa.kernels[i]?.kernel === kernel)
  findings.require("executions", inOrder, "the kernels are not the six in their order")
  if (!inOrder) return
  runKernels(sources, efa.kernels).forEach((record, i) => {
    const stated = efa.kernels[i]
    const same = stated !== undefined && isSameJson(stated, record)
    findings.require("executions", same, `kernel ${record.kernel} does not give what is recorded`)
  })
  const outputs = efa.kernels.map(record => record.output_hash)
  for (const kernel of unrepeatableKernels(sources)) {
    const at = KERNELS.indexOf(kernel)
    const stated = efa.kernels[at]
    const possible =
      stated !== undefined && isPossibleRecord(stated, { sources, outputs: outputs.slice(0, at), values })
    findings.require("executions", possible, `kernel ${kernel} cannot give what is recorded`)
  }
}

function checkEvidenceLinks(bundle: BundleBody, compare: Compare): void {
  const { sections } = bundle
  const allow_token = tokenOf(bundle)
  const { payload, envelope, transport, epa, efa, leakage_bundle, budget_snapshot, governance_review } = sections
  const { aer, hardware_attestation: hardware, zksp_binding: zksp, policy_evaluation } = sections
  if (envelope === undefined) return
  if (hardware !== undefined) compare("hardware_attestation", hardware, hardwareAttestationSection(envelope))
  if (aer === undefined) return
  if (transport && epa && efa && leakage_bundle && budget_snapshot && governance_review && allow_token) {
    const inputs = { envelope, transport, epa, efa, leakage_bundle, budget_snapshot, governance_review, allow_token }
    compare("aer", aer, aerSection(inputs))
  }
  if (zksp !== undefined && hardware !== undefined)
    compare("zksp_binding", zksp, zkspBindingSection(aer, payload, hardware))
  if (zksp !== undefined && sections.migration_token !== undefined)
    compare("migration_token", sections.migration_token, migrationTokenSection(envelope, aer, zksp))
  if (policy_evaluation !== undefined && sections.replay_fingerprint !== undefined)
    compare(
      "replay_fingerprint",
      sections.replay_fingerprint,
      replayFingerprintSection(envelope, payload, policy_evaluation.policy_hash, aer),
    )
}

function checkLedgerLinks(
  bundle: BundleBody,
  compare: Compare,
  findings: Findings,
  known: KnownTexts | undefined,
): void {
  const { sections, allow_token: token, anchors } = bundle
  const { envelope, pote_proof: pote, registry, final_vfa: final } = sections
  if (envelope === undefined) return
  const anchor = anchors.pre_anchor
  if (pote !== undefined && anchor !== undefined) compare("pote_proof", pote, poteProofSection(anchor, known))
  if (registry !== undefined && token !== undefined)
    compare("registry", registry, registrySection(envelope.envelope_id, sections, token))
  if (final !== undefined && registry !== undefined)
    compare(
      "final_vfa",
      final,
      finalVfaSection(envelope.envelope_id, sections, registry, envelope.declared_sections_hash),
    )
  else findings.require("sections", final === undefined, "section final_vfa stands without a registry")
}
