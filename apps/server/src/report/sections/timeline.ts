/** The nine stages and five gates, and where the run stopped. */
import type { Bundle } from "@runseal/core/artifacts/bundle"
import { GATES, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { TranscriptStep } from "@runseal/core/vocabulary/pipeline-path"
import { STEP_LABELS, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import type { TimelineBlock } from "../block.ts"

/** The step that ended the run; undefined for a completed one. */
const stoppedAt = ({ run }: Pick<Bundle, "run">): TranscriptStep | undefined => {
  const stage = run.error_stage ?? OUTCOMES[run.outcome_kind].error_stage
  return stage === "" ? undefined : stage
}

type Step = TimelineBlock["steps"][number] & { readonly code: TranscriptStep }

/** How far the run came. */
export function stepStates(bundle: Pick<Bundle, "run">): readonly Step[] {
  const stop = stoppedAt(bundle)
  const end = stop === undefined ? WHOLE_PATH.length : WHOLE_PATH.indexOf(stop)
  const state = (i: number): Step["state"] => {
    if (i < end) return "passed"
    return i === end ? "stopped" : "not_reached"
  }
  return WHOLE_PATH.map((code, i) => ({
    kind: GATES.some(gate => gate === code) ? "gate" : "stage",
    code,
    label: STEP_LABELS[code],
    state: state(i),
  }))
}

/** The drawing, and the same in one sentence. */
export function timeline(bundle: Pick<Bundle, "run">): TimelineBlock {
  const steps = stepStates(bundle)
  const stop = steps.find(({ state }) => state === "stopped")
  const passed = steps.filter(({ state }) => state === "passed").length
  const alternative =
    stop === undefined
      ? `All ${steps.length} steps were passed: nine stages and five gates.`
      : `${passed} of ${steps.length} steps were passed; the run ended at ${stop.code} (${stop.label}); ${steps.length - passed - 1} steps were not reached.`
  return { kind: "timeline", steps, alternative }
}
