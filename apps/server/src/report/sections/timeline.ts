/** The nine stages and five gates, and where the run stopped. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { refusingGate } from "@runseal/core/verify/stage-error"
import { GATES, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { TranscriptStep } from "@runseal/core/vocabulary/pipeline-path"
import { STEP_LABELS, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import type { TimelineBlock } from "@runseal/pdf/block"

/** The step that ended the run; undefined for a completed one. */
const stoppedAt = ({ run }: Pick<Bundle, "run">): TranscriptStep | undefined => {
  const stage = run.error_stage ?? OUTCOMES[run.outcome_kind].error_stage
  return stage === "" ? undefined : stage
}

type Step = TimelineBlock["steps"][number] & { readonly code: TranscriptStep }

type TimedBundle = Pick<Bundle, "run" | "sections">

/** How far the run came. */
export function stepStates(bundle: TimedBundle): readonly Step[] {
  const stop = stoppedAt(bundle)
  // A refused run whose sealing failed went no further than its gate, and then to that one stage.
  const gate = refusingGate(bundle)
  const last = gate ?? stop
  const end = last === undefined ? WHOLE_PATH.length : WHOLE_PATH.indexOf(last)
  const state = (i: number): Step["state"] => {
    if (i < end) return "passed"
    return i === end || WHOLE_PATH[i] === stop ? "stopped" : "not_reached"
  }
  return WHOLE_PATH.map((code, i) => ({
    kind: GATES.some(gate => gate === code) ? "gate" : "stage",
    code,
    label: STEP_LABELS[code],
    state: state(i),
  }))
}

/** The drawing, and the same in one sentence. */
export function timeline(bundle: TimedBundle): TimelineBlock {
  const steps = stepStates(bundle)
  const stops = steps.filter(({ state }) => state === "stopped").map(({ code, label }) => `${code} (${label})`)
  const passed = steps.filter(({ state }) => state === "passed").length
  const left = steps.length - passed - stops.length
  const alternative =
    stops.length === 0
      ? `All ${steps.length} steps were passed: nine stages and five gates.`
      : `${passed} of ${steps.length} steps ${passed === 1 ? "was" : "were"} passed; the run ended at ${stops.join(" and then failed at ")}; ${left === 1 ? "1 step was" : `${left} steps were`} not reached.`
  return { kind: "timeline", steps, alternative }
}
