/** The places of one document in log and chain cannot contradict each other. docs/formats.md section 16, check 12. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { verifyBundle } from "../src/verify/bundle.ts"
import { verifyDocument } from "../src/verify/document.ts"
import { makeDeployment, sealBatch, sealRun } from "./fixtures/deployment.ts"
import { impossiblePlaces } from "./fixtures/impossible-places.ts"
import { asJson } from "./fixtures/json-values.ts"
import { memoryLog } from "./fixtures/memory-log.ts"
import { stateExport } from "./fixtures/sample-exports.ts"

const options = { signatures: "rfc6979" } as const
const { trust } = makeDeployment(options)

const SENTENCES: Readonly<Record<string, string>> = {
  "two-trees-of-one-log": "two log entries of the record prove themselves in two trees of one log: the log was forked",
  "two-trees-of-one-log-refused":
    "two log entries of the record prove themselves in two trees of one log: the log was forked",
  "inside-the-tree-it-holds": "the record was logged at entry 2, within the 8 entries of the checkpoint that it holds",
  "logged-before-its-first-entry": "the record was logged before the log entry that it holds",
  "first-with-a-predecessor": "document 1 of its chain names one before it",
  "fifth-without-a-predecessor": "document 5 of its chain names none before it",
  "more-records-than-entries": "before log entry 11 there is no room for the 399 documents of its chain before it",
  "a-record-for-each-entry": "before log entry 2 there is no room for the 1 documents of its chain before it",
  "in-place-of-the-birth": "entry 0 of a log is its birth, and holds no record",
}

describe("a record at impossible places fails, and nothing else is wrong with it", () => {
  test.each(impossiblePlaces(options))("$name", ({ name, bundle }) => {
    const { verdict, checks } = verifyBundle(bundle, [trust])
    expect(verdict).toBe("FAILED")
    const failed = checks.filter(({ result }) => result === "fail")
    expect(failed).toEqual([
      { id: "complete_record", result: "fail", message: expect.stringContaining(SENTENCES[name] ?? "a sentence") },
    ])
  })
})

test("records of any batch are at places that fit", () => {
  const outcome = fc.constantFrom("ok", "pepg_deny", "stage_error", "ccv_halt")
  const batches = fc.array(fc.array(fc.record({ outcome }), { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(batches, specs => {
      const deployment = makeDeployment(options)
      for (const { bundle } of specs.flatMap(batch => sealBatch(deployment, batch)))
        expect(verifyBundle(bundle, [trust]).verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    }),
    { numRuns: 10 },
  )
})

describe("the siblings of other documents", () => {
  const unborn = () => {
    const deployment = makeDeployment(options)
    return { ...deployment, log: memoryLog(deployment.log.origin, deployment.logKey) }
  }

  test("a receipt in the place of the log's birth fails", () => {
    const { receipt } = sealRun(unborn(), { outcome: "pepg_deny" })
    expect(verifyDocument(receipt, [trust])).toMatchObject({ verdict: "FAILED", first_failure: "inclusion" })
  })

  test.each([
    ["a time that ends before it begins", { from: "2026-01-15T12:00:00.001Z", to: "2026-01-15T12:00:00.000Z" }],
    ["more records than the log has entries before it", { head_ordinal: 400 }],
    [
      "the record before the piece as its last",
      {
        first_ordinal: 2,
        last_ordinal: 2,
        head_ordinal: 3,
        previous_record: "e".repeat(64),
        last_record: "e".repeat(64),
      },
    ],
    ["no digest of its last record", { last_ordinal: 1, head_ordinal: 2, last_record: "0".repeat(64) }],
  ])("a statement of %s fails", (_name, alter) => {
    const deployment = makeDeployment(options)
    const records = [1, 2, 3].map(() => sealRun(deployment, { outcome: "stage_error" }).bundle)
    const statement = stateExport(deployment, records, { alter })
    expect(verifyDocument(asJson(statement), [trust])).toMatchObject({ verdict: "FAILED", first_failure: "shape" })
  })
})
