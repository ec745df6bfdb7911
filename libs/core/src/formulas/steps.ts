/**
 * Which artifacts each step of the pipeline produces: a transcript is rebuilt from it, and what a record must hold follows
 * from it.
 */
import { DECLARED_NAMES } from "../artifacts/declared-sections.ts"
import type { SectionName, TranscriptSection } from "../artifacts/sections.ts"
import type { Gate, OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOMES } from "../vocabulary/outcomes.ts"
import type { TranscriptStep } from "../vocabulary/pipeline-path.ts"
import { PIPELINE_PATH, WHOLE_PATH } from "../vocabulary/pipeline-path.ts"
import type { Seal } from "./seal.ts"
import type { Step } from "./transcript.ts"
import { transcriptSection } from "./transcript.ts"

type Products = Readonly<Partial<Record<TranscriptStep, readonly (SectionName | "allow_token")[]>>>

/** What is sealed of a request before the first step. */
const RECEIVED: readonly SectionName[] = ["payload", ...DECLARED_NAMES, "system_provenance"]

/** Artifacts by the step that makes them; a step without a row makes none when it passes. */
const PRODUCTS: Products = {
  DOG: [...RECEIVED, "envelope"],
  DTL: ["transport"],
  PEPG: ["policy_evaluation", "mcd_finding", "allow_token"],
  DKEC: ["epa", "leakage_bundle", "efa"],
  MACC: ["budget_snapshot"],
  AIVP_T4: ["governance_review"],
  AER: ["aer"],
  ZKSP: ["hardware_attestation", "zksp_binding"],
  PHASE4: ["migration_token", "replay_fingerprint"],
}

/** What a gate makes only when it stops the run, beside its receipt: CCV seals the budget that MACC would have. */
const STOP_PRODUCTS: Products = { CCV: ["budget_snapshot"] }

/**
 * The sections of a run when a step is next: what was received and what the steps before made, up to the gate that stopped
 * the run where one did. `mcd_finding` stands among them from PEPG on, and is there only after a match.
 */
export function sectionsUntil(next: TranscriptStep, stoppedBy?: Gate): readonly SectionName[] {
  const made = new Set<SectionName>(RECEIVED)
  const before = WHOLE_PATH.slice(0, WHOLE_PATH.indexOf(next))
  const last = stoppedBy === undefined ? before.length : before.indexOf(stoppedBy) + 1
  for (const step of before.slice(0, last)) {
    const stop = step === stoppedBy ? (STOP_PRODUCTS[step] ?? []) : []
    for (const name of [...(PRODUCTS[step] ?? []), ...stop]) if (name !== "allow_token") made.add(name)
  }
  return [...made]
}

/** The hash of a named artifact of the run, if it has it. */
export type ArtifactHash = (name: string) => string | undefined

function productsOf(names: readonly string[], hashOf: ArtifactHash): Record<string, string> {
  const products: Record<string, string> = {}
  for (const name of names) {
    const hash = hashOf(name)
    if (hash !== undefined) products[name] = hash
  }
  return products
}

/** The transcript that a run of this outcome has, given the hashes of its artifacts. */
export function buildTranscript(
  envelopeId: string,
  outcome: Exclude<OutcomeKind, "stage_error">,
  artifactHash: ArtifactHash,
  sealAs?: Seal,
): TranscriptSection {
  const { error_stage: stopped, artifact } = OUTCOMES[outcome]
  const steps: Step[] = []
  for (const place of PIPELINE_PATH) {
    const { step } = place
    const names = PRODUCTS[step] ?? []
    if ("stop" in place && step === stopped) {
      const all = [...names, ...(STOP_PRODUCTS[step] ?? []), artifact?.key ?? ""]
      steps.push({ step, result: place.stop, products: productsOf(all, artifactHash) })
      break
    }
    steps.push({ step, result: "stop" in place ? "pass" : "done", products: productsOf(names, artifactHash) })
  }
  return transcriptSection(envelopeId, steps, sealAs)
}
