/** Compares a transcript with the pipeline's state machine. docs/formats.md sections 5.1 and 16, check 5. */
import type { TranscriptEvent } from "../artifacts/derived-sections.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOMES } from "../vocabulary/outcomes.ts"
import type { StepResult } from "../vocabulary/pipeline-path.ts"
import { PIPELINE_PATH } from "../vocabulary/pipeline-path.ts"

const continues = (result: StepResult): boolean => result === "done" || result === "pass"

function eventProblem(event: TranscriptEvent, index: number): string | undefined {
  const place = PIPELINE_PATH[index]
  if (place === undefined || place.step !== event.step) return `step ${index + 1} is ${event.step}, out of order`
  const allowed: readonly StepResult[] = "stop" in place ? ["pass", place.stop] : ["done"]
  return allowed.includes(event.result) ? undefined : `${event.step} cannot end in ${event.result}`
}

function endProblem(last: TranscriptEvent, count: number, outcome: OutcomeKind): string | undefined {
  if (outcome === "ok") {
    const complete = continues(last.result) && count === PIPELINE_PATH.length
    return complete ? undefined : "a completed run passes every step up to PHASE4"
  }
  const stopped = !continues(last.result) && last.step === OUTCOMES[outcome].error_stage
  return stopped ? undefined : `a ${outcome} run ends where its gate stopped it`
}

/** What is wrong with the events as a path of the pipeline that ends in the outcome. */
export function traceViolations(events: readonly TranscriptEvent[], outcome: OutcomeKind): readonly string[] {
  const last = events.at(-1)
  if (last === undefined) return ["the transcript is empty"]
  const wentOn = events.slice(0, -1).find(event => !continues(event.result))
  return [
    ...events.map(eventProblem),
    wentOn === undefined ? undefined : `the run went on after ${wentOn.step} stopped it`,
    endProblem(last, events.length, outcome),
  ].filter(problem => problem !== undefined)
}
