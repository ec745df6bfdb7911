/**
 * Which artifacts each step of the pipeline produces. It determines the sections of a record and its transcript, which has one
 * event per step, each with the digest of the event before. docs/formats.md section 5.1.
 */
import { digest } from "@runseal/canonical"
import type { BundleBody } from "../../artifacts/bundle-schema.ts"
import { DECLARED_NAMES } from "../../artifacts/declared-sections.ts"
import type { TranscriptEvent, TranscriptSection } from "../../artifacts/derived-sections.ts"
import type { Receipt } from "../../artifacts/sealed-artifacts.ts"
import type { SectionName, Sections } from "../../artifacts/sections.ts"
import { sectionHashes } from "../../formulas/leaves.ts"
import type { Unsealed } from "../../formulas/seal.ts"
import type { Gate, OutcomeKind, ReceiptKey } from "../../vocabulary/outcomes.ts"
import { OUTCOMES } from "../../vocabulary/outcomes.ts"
import type { TranscriptStep } from "../../vocabulary/pipeline-path.ts"
import { PIPELINE_PATH, WHOLE_PATH } from "../../vocabulary/pipeline-path.ts"
import { ZERO_HASH } from "../../vocabulary/scalars.ts"

type Product = SectionName | "allow_token"
type Products = Readonly<Partial<Record<TranscriptStep, readonly Product[]>>>

/** What is sealed of a request before the first step. */
const RECEIVED: readonly SectionName[] = ["payload", ...DECLARED_NAMES, "end_user", "system_provenance"]

/** Artifacts by the step that makes them; a step without a row makes none when it passes. */
const PRODUCTS: Products = {
  DOG: [...RECEIVED, "envelope"],
  DTL: ["transport"],
  PEPG: ["act", "approvals", "policy_evaluation", "mcd_finding", "allow_token"],
  DKEC: ["epa", "leakage_bundle", "efa"],
  MACC: ["budget_snapshot"],
  AIVP_T4: ["governance_review"],
  AER: ["aer"],
  ZKSP: ["hardware_attestation", "zksp_binding"],
  PHASE4: ["migration_token", "replay_fingerprint"],
}

/** What a step makes. At a close the request has two sections of its own. */
const productsOf = (step: TranscriptStep, isClose: boolean): readonly Product[] => [
  ...(PRODUCTS[step] ?? []),
  ...(step === "DOG" && isClose ? (["permit", "closing"] as const) : []),
]

/** What a gate makes only when it stops the run, beside its receipt: the budget that MACC would have sealed, which a close always settles. */
const stopProducts = (step: TranscriptStep, isClose: boolean): readonly SectionName[] =>
  step === "CCV" || (step === "PEPG" && isClose) ? ["budget_snapshot"] : []

/** Whether a record is that of a close. */
export const isCloseRecord = ({ permit }: Pick<Sections, "permit">): boolean => permit !== undefined

/** What every record of a close holds, wherever it ended: its opening has the envelope, and its budget is settled in any case. */
const OF_CLOSE: readonly SectionName[] = ["permit", "closing", "envelope", "budget_snapshot"]

/**
 * Names of the sections that a run may have before a step: those of the request and those of the steps before, up to the gate that
 * stopped the run where one did. `end_user`, and from PEPG on `act`, `approvals` and `mcd_finding`, are among them, although a record has them only where
 * there was one.
 */
export function sectionsUntil(next: TranscriptStep, isClose: boolean, stoppedBy?: Gate): readonly SectionName[] {
  const made = new Set<SectionName>(isClose ? [...RECEIVED, ...OF_CLOSE] : RECEIVED)
  const before = WHOLE_PATH.slice(0, WHOLE_PATH.indexOf(next))
  const last = stoppedBy === undefined ? before.length : before.indexOf(stoppedBy) + 1
  for (const step of before.slice(0, last)) {
    const stop = step === stoppedBy ? stopProducts(step, isClose) : []
    for (const name of [...productsOf(step, isClose), ...stop]) if (name !== "allow_token") made.add(name)
  }
  return [...made]
}

type ArtifactHashes = Readonly<Record<string, string>>

const hashesOf = (names: readonly string[], hashes: ArtifactHashes): ArtifactHashes =>
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
  const isClose = isCloseRecord(sections)
  const events: TranscriptEvent[] = []
  for (const place of PIPELINE_PATH) {
    const { step } = place
    const stops = "stop" in place && step === stopped
    const result = stops ? place.stop : "stop" in place ? "pass" : "done"
    const ofStop = stops ? [...stopProducts(step, isClose), artifact?.key ?? ""] : []
    const products = hashesOf([...productsOf(step, isClose), ...ofStop], hashes)
    const previous = events.at(-1)?.hash ?? ZERO_HASH
    events.push({ step, result, hash: digest({ kind: "vfa.transcript_event.v2", previous, step, result, products }) })
    if (stops) break
  }
  return { kind: "vfa.transcript.v2", envelope_id: sections.envelope?.envelope_id ?? "", events }
}
