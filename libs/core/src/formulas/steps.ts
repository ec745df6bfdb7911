/**
 * Which artifacts each step of the pipeline produces: a transcript is rebuilt from it, and what a record must hold follows
 * from it.
 */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import { DECLARED_NAMES } from "../artifacts/declared-sections.ts"
import type { Receipt } from "../artifacts/sealed-artifacts.ts"
import type { SectionName, TranscriptSection } from "../artifacts/sections.ts"
import type { Gate, OutcomeKind, ReceiptKey } from "../vocabulary/outcomes.ts"
import { OUTCOMES } from "../vocabulary/outcomes.ts"
import type { TranscriptStep } from "../vocabulary/pipeline-path.ts"
import { PIPELINE_PATH, WHOLE_PATH } from "../vocabulary/pipeline-path.ts"
import { sectionHashes } from "./leaves.ts"
import type { Unsealed } from "./seal.ts"
import type { Step } from "./transcript-section.ts"
import { transcriptSection } from "./transcript-section.ts"

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

type ArtifactHashes = Readonly<Record<string, string>>

const productsOf = (names: readonly string[], hashes: ArtifactHashes): ArtifactHashes =>
  Object.fromEntries(
    names.flatMap(name => {
      const hash = hashes[name]
      return hash === undefined ? [] : [[name, hash]]
    }),
  )

/** The transcript that a run of this outcome has. @param refusal its receipt, where a gate stopped it */
export function buildTranscript(
  outcome: Exclude<OutcomeKind, "stage_error">,
  { sections, allow_token: token }: Pick<BundleBody, "sections" | "allow_token">,
  refusal?: { readonly key: ReceiptKey; readonly receipt: Receipt },
): Unsealed<TranscriptSection> {
  const hashes: ArtifactHashes = {
    ...sectionHashes(sections),
    ...(token === undefined ? {} : { allow_token: token.hash }),
    ...(refusal === undefined ? {} : { [refusal.key]: refusal.receipt.hash }),
  }
  const { error_stage: stopped, artifact } = OUTCOMES[outcome]
  const steps: Step[] = []
  for (const place of PIPELINE_PATH) {
    const { step } = place
    const names = PRODUCTS[step] ?? []
    if ("stop" in place && step === stopped) {
      const all = [...names, ...(STOP_PRODUCTS[step] ?? []), artifact?.key ?? ""]
      steps.push({ step, result: place.stop, products: productsOf(all, hashes) })
      break
    }
    steps.push({ step, result: "stop" in place ? "pass" : "done", products: productsOf(names, hashes) })
  }
  return transcriptSection(sections.envelope?.envelope_id ?? "", steps)
}
