import { describe, expect, test } from "vitest"
import type { TranscriptEvent } from "../src/artifacts/derived-sections.ts"
import { buildTranscript } from "../src/derivation/v1/transcript.ts"
import { traceViolations } from "../src/verify/trace.ts"
import { GATES, STAGES } from "../src/vocabulary/outcomes.ts"
import { STEP_RESULTS } from "../src/vocabulary/pipeline-path.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"

const OUTCOMES = ["ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap"] as const
const events = (outcome: (typeof OUTCOMES)[number]): readonly TranscriptEvent[] =>
  buildTranscript(outcome, sealRun(makeDeployment(), { outcome }).bundle).events

describe.each(OUTCOMES)("the trace of a run that ends in %s", outcome => {
  const good = events(outcome)
  const refuses = (changed: readonly TranscriptEvent[]): void => {
    expect(traceViolations(changed, outcome)).not.toEqual([])
  }

  test("is a path of the pipeline, and of no run that ends otherwise", () => {
    expect(traceViolations(good, outcome)).toEqual([])
    for (const other of OUTCOMES.filter(name => name !== outcome)) expect(traceViolations(good, other)).not.toEqual([])
  })

  test("breaks off nowhere earlier", () => {
    for (let length = 0; length < good.length; length++) refuses(good.slice(0, length))
  })

  test("goes on nowhere further", () => {
    for (const event of events("ok")) refuses([...good, event])
  })

  test("leaves no step out, doubles none and exchanges none", () => {
    good.forEach((event, at) => {
      refuses(good.toSpliced(at, 1))
      refuses(good.toSpliced(at, 0, event))
      const next = good[at + 1]
      if (next !== undefined) refuses(good.with(at, next).with(at + 1, event))
    })
  })

  test("has no other step or result at any place", () => {
    good.forEach((event, at) => {
      for (const step of [...STAGES, ...GATES].filter(name => name !== event.step))
        refuses(good.with(at, { ...event, step }))
      for (const result of STEP_RESULTS.filter(name => name !== event.result))
        refuses(good.with(at, { ...event, result }))
    })
  })
})

test("what is wrong with a trace is said in sentences", () => {
  const good = events("ok")
  const stopped = good.map(event => (event.step === "CCV" ? { ...event, result: "halted" as const } : event))
  expect(traceViolations([], "ok")).toEqual(["the transcript is empty"])
  expect(traceViolations(stopped, "ok")).toEqual(["the run went on after CCV stopped it"])
  expect(traceViolations(stopped, "ccv_halt")).toEqual([
    "the run went on after CCV stopped it",
    "a ccv_halt run ends where its gate stopped it",
  ])
  expect(traceViolations(good.slice(1, 2), "ok")).toEqual([
    "step 1 is DTL, out of order",
    "a completed run passes every step up to PHASE4",
  ])
  expect(traceViolations([{ ...good[0]!, result: "pass" }], "ok")[0]).toBe("DOG cannot end in pass")
})
