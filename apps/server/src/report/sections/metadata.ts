/** Parts 6 and 7: the run metadata table, and the hashes of what each stage made. */
import { durationMs } from "@runseal/core/artifacts/bundle-schema"
import type { Manifest } from "@runseal/core/artifacts/manifest"
import { keyText } from "@runseal/core/verify/run-account"
import type { Stage } from "@runseal/core/vocabulary/outcomes"
import type { Fact } from "../spans.ts"
import {
  bold,
  countOf,
  densely,
  fact,
  facts,
  heading,
  line,
  mono,
  muted,
  onNewLine,
  paragraph,
  quote,
  table,
  timeOr,
} from "../spans.ts"
import { type Part, type Subject, wordsOf } from "../subject.ts"

export const metadata: Part = subject => [
  heading(1, "Run Metadata"),
  ...facts(
    subject.format === "brief"
      ? admission(subject)
      : [...identity(subject), ...admission(subject), ...caller(subject), ...origin(subject)],
  ),
]

/** What the first page has too, where a reader of two pages has just seen it. */
const identity = ({ bundle: { run } }: Subject): readonly Fact[] => [
  fact("Run", String(run.run_id)),
  fact("Outcome", mono(run.outcome_kind)),
]

const admission = ({ bundle: { run } }: Subject): readonly Fact[] => [
  fact("Created at", timeOr(run.created_at)),
  fact("Pipeline Duration", pipelineDuration(durationMs(run), run.duration_us)),
  fact("Execution region", quote(run.execution_region)),
  fact("Program", mono(run.program_id)),
]

const caller = ({ bundle, bundle: { run } }: Subject): readonly Fact[] => [
  fact("Route", quote(run.route_id)),
  fact("Tenant", quote(keyText(bundle))),
  ...(run.error_stage === undefined ? [] : [fact("Error stage", mono(run.error_stage))]),
]

function origin({ bundle, context, format }: Subject): readonly Fact[] {
  const { run, sections } = bundle
  const { envelope, transport, system_provenance: system } = sections
  return [
    ...(run.error_message === undefined ? [] : [fact("Error message", quote(run.error_message))]),
    ...(envelope === undefined
      ? []
      : [
          fact("Envelope ID", mono(envelope.envelope_id)),
          fact("Registry record hash", mono(envelope.registry_record_hash)),
          fact("Admission clock", timeOr(envelope.admission_clock)),
          fact("Run nonce", mono(envelope.run_nonce)),
        ]),
    ...(transport === undefined ? [] : [fact("Sequence ID", mono(transport.sequence_id))]),
    fact("Payload length", countOf(sections.payload.payload_bytes, "byte")),
    fact("Service", quote(`${system.service} ${system.service_version}`)),
    fact("Orchestrator", quote(system.orchestrator_version)),
    fact("Source revision", quote(system.source_revision)),
    fact("Ledger", quote(system.ledger_backend)),
    fact("Manifest formula", mono(run.formula_version)),
    ...(run.leaf_version === undefined ? [] : [fact("Anchor leaf", mono(run.leaf_version))]),
    fact("Verification engine", mono(context.engine_version)),
    ...(context.base_url === undefined ? [] : [fact("Service address", mono(context.base_url))]),
    fact("Report format", mono(format)),
  ]
}

/** The 18 hashes of the manifest that stages make, in the order of the pipeline, with what each is a hash of. docs/formats.md sections 2 to 6. */
export const STAGE_HASHES: readonly (readonly [stage: Stage, field: StageHashField, meaning: string])[] = [
  ["DOG", "EnvelopeHash", "the request as admitted, with clock and nonce"],
  ["DTL", "TransportHash", "the envelope and its sequence number"],
  ["DKEC", "EpaHash", "the policy gate's authorisation to run"],
  ["DKEC", "LeakageBundleHash", "what the record discloses of the texts"],
  ["DKEC", "DseCommitmentHash", "kernel DSE: program and payload admitted"],
  ["DKEC", "TokOrderingHash", "kernel TOK: the declared times in order"],
  ["DKEC", "DscFinalStateHash", "kernel DSC: declared state, related runs"],
  ["DKEC", "EfaHash", "what all six kernels computed and found"],
  ["AER", "AerHash", "the execution record, after every gate"],
  ["ZKSP", "HardwareAttestationHash", "the statement that no quote was taken"],
  ["ZKSP", "ZkspBindingHash", "payload and execution record, tied together"],
  ["PHASE4", "MigrationTokenHash", "tenant and region of the record"],
  ["PHASE4", "ReplayFingerprint", "the inputs without clock and nonce"],
  ["PHASE4", "TranscriptHash", "every step so far, with its result"],
  ["LEDGER", "LedgerLeafHash", "what was entered in the log"],
  ["LEDGER", "PoteProofHash", "the log's entry number and time"],
  ["DLA", "FinalVfaHash", "all sections, and the list of artifacts"],
  ["DLA", "ManifestHash", "this manifest: the seal of the run"],
]
type StageHashField = {
  [Field in keyof Manifest]-?: Manifest[Field] extends string ? Field : never
}[keyof Manifest]

export const pipelineHashes: Part = subject => {
  const { manifest } = subject.bundle
  const explained = subject.format !== "brief"
  const elsewhere = manifest === undefined || explained ? "" : " The other formats say what each is a hash of."
  const opening = [heading(1, "Pipeline Stages"), paragraph(`${wordsOf(subject).stages}${elsewhere}`)]
  if (manifest === undefined) return opening
  const columns = [
    { title: "Stage", share: 10 },
    { title: explained ? "Manifest field, and what it is a hash of" : "Manifest field", share: explained ? 36 : 29 },
    { title: "Hash", share: 54 },
  ]
  const rows = STAGE_HASHES.map(([stage, field, meaning]) => [
    line(mono(stage)),
    explained ? line(bold(field), onNewLine(muted(meaning))) : line(field),
    line(mono(manifest[field])),
  ])
  return [...opening, ...table("Pipeline-stage hashes", columns, rows).map(densely)]
}

const MICROSECONDS_PER_MS = 1000

/**
 * The duration of a run as the metadata table spells it.
 * @param ms wall-clock milliseconds, rounded down
 * @param us wall-clock microseconds; undefined or 0 in records of older schemas, which hold milliseconds only
 */
export function pipelineDuration(ms: number, us: number | undefined): string {
  if (us === undefined || us === 0)
    return ms === 0
      ? "< 1 ms (both recorded durations are 0)"
      : `${ms} ms (legacy schema: sub-millisecond precision is unavailable)`
  const exact = (us / MICROSECONDS_PER_MS).toFixed(3)
  return us < MICROSECONDS_PER_MS ? `${exact} ms (sub-millisecond)` : `${ms} ms (${exact} ms wall-clock)`
}
