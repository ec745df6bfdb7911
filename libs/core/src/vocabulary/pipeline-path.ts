/** The path of a run before the log: stages 1–6 with the gates between them. docs/pipeline.md. */
import type { Gate, Stage } from "./outcomes.ts"
import { STAGES } from "./outcomes.ts"

export type TranscriptStep = Stage | Gate
export const STEP_RESULTS = ["done", "pass", "deny", "halted", "gap"] as const
/** A stage is done; a gate passes, or stops the run with its own word. */
export type StepResult = (typeof STEP_RESULTS)[number]

type PathStep = { readonly step: Stage } | { readonly step: Gate; readonly stop: Exclude<StepResult, "done" | "pass"> }

export const PIPELINE_PATH: readonly PathStep[] = [
  { step: "DOG" },
  { step: "DTL" },
  { step: "PEPG_ADMISSION", stop: "gap" },
  { step: "PEPG", stop: "deny" },
  { step: "DKEC" },
  { step: "CCV", stop: "halted" },
  { step: "MACC", stop: "halted" },
  { step: "AIVP_T4", stop: "halted" },
  { step: "AER" },
  { step: "ZKSP" },
  { step: "PHASE4" },
]

const isBeforeLog = (step: Stage): boolean => PIPELINE_PATH.some(place => place.step === step)

/** All nine stages and five gates in order: the path before the log, then the stages that need the log's entry. */
export const WHOLE_PATH: readonly TranscriptStep[] = [
  ...PIPELINE_PATH.map(place => place.step),
  ...STAGES.filter(step => !isBeforeLog(step)),
]

/** What people call a step. */
export const STEP_LABELS: Readonly<Record<TranscriptStep, string>> = {
  DOG: "Envelope",
  DTL: "Transport",
  PEPG_ADMISSION: "Admission",
  PEPG: "Policy gate",
  DKEC: "Kernels",
  CCV: "Run budget",
  MACC: "Window budget",
  AIVP_T4: "Governance review",
  AER: "Execution record",
  ZKSP: "Evidence",
  PHASE4: "State binding",
  LEDGER: "Log entry",
  REGISTRY: "Artifact list",
  DLA: "Final seal",
}
