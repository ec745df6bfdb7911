/** The path of a run before the log: stages 1–6 with the gates between them. FORMATS §2. */
import type { Gate, Stage } from "./outcomes.ts"

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
