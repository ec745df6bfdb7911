/** The transcript: one event per step, each holding the digest of the one before. docs/formats.md section 4.9. */
import { digest } from "@runseal/canonical"
import type { TranscriptEvent, TranscriptSection } from "../artifacts/sections.ts"
import type { StepResult, TranscriptStep } from "../vocabulary/pipeline-path.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import type { Unsealed } from "./seal.ts"

/** A step as it happened, with the name and hash of each artifact it produced. */
export type Step = {
  readonly step: TranscriptStep
  readonly result: StepResult
  readonly products: Readonly<Record<string, string>>
}

const outputHash = (step: Step): string =>
  digest({ kind: "vfa.step_output.v1", step: step.step, result: step.result, products: step.products })

const eventHash = (event: TranscriptEvent): string => digest({ kind: "vfa.transcript_event.v1", ...event })

/** Chains the steps. */
export function transcriptSection(envelopeId: string, steps: readonly Step[]): Unsealed<TranscriptSection> {
  const events: TranscriptEvent[] = []
  let previous = ZERO_HASH
  for (const step of steps) {
    const event = { step: step.step, result: step.result, input_hash: previous, output_hash: outputHash(step) }
    events.push(event)
    previous = eventHash(event)
  }
  return { kind: "vfa.transcript.v1", envelope_id: envelopeId, events }
}
