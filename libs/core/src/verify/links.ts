/**
 * Checks the sections that a record holds against each other, and those that it only names against what the verifier derives. So no field
 * of a derived section is the operator's word. docs/formats.md section 16, checks 2, 5 and 6.
 */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { RunFacts, SealedBundle } from "../artifacts/bundle-schema.ts"
import { DERIVED_NAMES, type DerivedHashes } from "../artifacts/derived-sections.ts"
import type { Manifest } from "../artifacts/manifest.ts"
import type { OpeningSections } from "../artifacts/opening.ts"
import type { EnvelopeSection, SealedSections, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import { isPossibleRecord } from "../derivation/v2/stated-kernel.ts"
import { decisionClock } from "../formulas/moment.ts"
import type { ProvenanceFacts } from "../formulas/pre-execution.ts"
import { envelopeSection, systemProvenanceSection } from "../formulas/pre-execution.ts"
import { isSealOf, sealHash } from "../formulas/seal.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { callerContradictions, payloadContradictions } from "./contradictions.ts"
import type { ExaminedBundle } from "./examination.ts"

/** The sections that a record or an opening holds. */
type HeldSections = SealedSections | OpeningSections

/** The sections of a record whose own hash is right. A withheld section has only its hash, and nothing to compare with it. */
export const intactSections = (sections: HeldSections, known: KnownTexts | undefined): ReadonlySet<JsonObject> =>
  new Set(
    Object.values(sections).filter(section => !("withheld" in section) && sealHash(section, known) === section.hash),
  )

/** The sections of a record, each by itself. */
export const checkSectionHashes = ({ sealed: { sections, run }, ...examined }: ExaminedBundle): void =>
  checkHeldSections(sections, run.tenant_id, examined)

/** Checks every section that a document holds by itself: its hash, and what payload and caller cannot be. */
export function checkHeldSections(
  sections: HeldSections,
  tenantId: string,
  { intact, findings }: Pick<ExaminedBundle, "intact" | "findings">,
): void {
  findings.fail("sections", ...payloadContradictions(sections.payload))
  for (const [name, section] of Object.entries(sections))
    findings.require(
      "sections",
      "withheld" in section || intact.has(section),
      `section ${name} does not match its hash`,
    )
  findings.fail("sections", ...callerContradictions(sections, tenantId))
}

/** Checks what the record says of its request against the sections, and the sections that it names against those it gives. */
export function checkLinks(examined: ExaminedBundle): void {
  const { sealed, findings } = examined
  const { sections, run } = sealed
  const { envelope } = sections
  checkRequest(sections, run, examined)
  if (envelope === undefined) return
  const clock = decisionClock({ ...sections, envelope })
  findings.require("sections", run.created_at === clock, "created_at is not the clock of the decision")
  checkExecutions(examined, envelope)
}

/** Whose request it was, as a document states it. */
type RequestFacts = Pick<RunFacts, "program_id" | "route_id" | "tenant_id" | "execution_region">

/** Checks that envelope and provenance are what the rest of a document makes them. */
export function checkRequest(
  sections: HeldSections,
  facts: RequestFacts,
  { intact, findings }: Pick<ExaminedBundle, "intact" | "findings">,
): void {
  const compare = (name: "system_provenance" | "envelope", section: JsonObject, rebuilt: JsonObject): void =>
    findings.require(
      "sections",
      isSealOf(section, rebuilt, intact.has(section)),
      `section ${name} is not what the other sections make it`,
    )
  const { system_provenance, envelope } = sections
  compare("system_provenance", system_provenance, systemProvenanceSection(provenanceFacts(system_provenance)))
  if (envelope !== undefined) compare("envelope", envelope, rebuiltEnvelope(sections, facts, envelope))
}

function rebuiltEnvelope(sections: HeldSections, run: RequestFacts, envelope: EnvelopeSection): JsonObject {
  const { program_id, route_id, tenant_id, execution_region } = run
  const { registry_record_hash, enforcement } = envelope
  const facts = { program_id, route_id, registry_record_hash, tenant_id, execution_region, enforcement }
  const moment = { at: envelope.admission_clock, nonce: envelope.run_nonce }
  return envelopeSection(facts, sections.payload, sections, moment)
}

/** What the operator states of the software. In which terms he states it is fixed. */
function provenanceFacts(section: SystemProvenanceSection): ProvenanceFacts {
  const { kind: _kind, mode: _mode, disclosure: _disclosure, hash: _hash, ...facts } = section
  return facts
}

/** The hashes by which a record names its derived sections. The registry's is in the final seal, the fingerprint's in the registry. */
const namedHashes = ({ manifest, derived = {} }: Pick<SealedBundle, "manifest" | "derived">): DerivedHashes =>
  manifest === undefined ? derived : manifestHashes(manifest)

const manifestHashes = (manifest: Manifest): DerivedHashes => ({
  transport: manifest.TransportHash,
  epa: manifest.EpaHash,
  leakage_bundle: manifest.LeakageBundleHash,
  efa: manifest.EfaHash,
  aer: manifest.AerHash,
  hardware_attestation: manifest.HardwareAttestationHash,
  zksp_binding: manifest.ZkspBindingHash,
  migration_token: manifest.MigrationTokenHash,
  transcript: manifest.TranscriptHash,
  pote_proof: manifest.PoteProofHash,
  final_vfa: manifest.FinalVfaHash,
})

/** Names the first derived section that is another than the record says; those after it follow from it. */
export function checkDerived({ sealed, bundle, findings }: ExaminedBundle): void {
  const named = namedHashes(sealed)
  const differs = DERIVED_NAMES.find(name => named[name] !== undefined && named[name] !== bundle.sections[name]?.hash)
  if (differs === undefined) return
  const derived = bundle.sections[differs]?.hash
  const problem =
    derived === undefined
      ? `section ${differs} is named and cannot be derived`
      : `section ${differs} is derived as ${derived}, and the record names ${named[differs]}`
  findings.fail(differs === "transcript" ? "transcript" : "sections", problem)
}

/** The kernels, run again, against the ExecutionIDs that the manifest names; and the results of those that cannot be run. */
function checkExecutions({ sealed, bundle, findings }: ExaminedBundle, envelope: EnvelopeSection): void {
  const { efa, leakage_bundle: leakage } = bundle.sections
  if (efa === undefined) return
  const executionIds = efa.kernels.map(record => record.execution_id)
  const named = (sealed.manifest ?? sealed.partial_manifest)?.ExecutionIDs
  const differs = named && KERNELS.find((_, i) => named[i] !== executionIds[i])
  if (differs !== undefined) findings.fail("executions", `kernel ${differs} does not give what is recorded`)
  const sources = { ...sealed.sections, envelope }
  for (const [i, record] of efa.kernels.entries()) {
    if (sealed.withheld_results?.kernels[record.kernel] === undefined) continue
    const context = { sources, execution_ids: executionIds.slice(0, i), values: leakage?.declared_values }
    const possible = isPossibleRecord(record, context)
    findings.require("executions", possible, `kernel ${record.kernel} cannot give what is recorded`)
  }
}

/** Checks the full form of a record, where the document is one, against what its sealed form gives. */
export function checkView({ view, bundle, findings }: ExaminedBundle): void {
  if (view === undefined) return
  const differs = DERIVED_NAMES.find(name => !isSameJson(view.sections[name] ?? null, bundle.sections[name] ?? null))
  if (differs !== undefined) findings.fail("sections", `section ${differs} is another than the record gives`)
  for (const [name, check] of ANCHORS) {
    const same = isSameJson(view.anchors[name] ?? null, bundle.anchors[name] ?? null)
    findings.require(check, same, `the ${name} anchor is another than the record gives`)
  }
}

/** The anchors of a record, each with the check that is on it. */
const ANCHORS = [
  ["pre_anchor", "leaf"],
  ["receipt", "leaf"],
  ["complete_record", "complete_record"],
  ["outside", "outside"],
  ["witnessed", "witnessed"],
] as const
