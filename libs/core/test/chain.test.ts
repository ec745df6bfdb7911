import { describe, expect, test } from "vitest"
import type { CompleteRecordLeaf } from "../src/artifacts/anchor.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { recordInChain } from "../src/verify/bundle.ts"
import { chainProblems } from "../src/verify/chain.ts"
import { openingInChain } from "../src/verify/verify-opening.ts"
import { endInChain } from "../src/verify/verify-permit-end.ts"
import { makeDeployment, sealBatch, sealRun } from "./fixtures/deployment.ts"
import { closePermit, endPermits, openPermit } from "./fixtures/permits.ts"

const a = makeDeployment()
const specs = ["ok", "pepg_deny", "stage_error", "ccv_halt", "ok"] as const
/** A tenant's records, interleaved with those of another tenant. */
const records = specs.map(outcome => {
  const [mine] = sealBatch(a, [{ outcome }, { outcome, tenant: "api-key-2" }])
  return mine!.bundle
})
const stranger = sealRun(a, { outcome: "ok", tenant: "api-key-2" }).bundle
const [first, second, third, fourth, fifth] = records as [Bundle, Bundle, Bundle, Bundle, Bundle]

const relinked = (bundle: Bundle, change: Partial<CompleteRecordLeaf>): Bundle => {
  const anchor = bundle.anchors.complete_record!
  return {
    ...bundle,
    anchors: { ...bundle.anchors, complete_record: { ...anchor, leaf: { ...anchor.leaf, ...change } } },
  }
}

const problemsOf = (bundles: readonly Bundle[]): readonly string[] => chainProblems(bundles.map(recordInChain))

describe("a tenant's chain", () => {
  test("holds every outcome, one after the other, whoever else is sealed in between", () => {
    expect(problemsOf(records)).toEqual([])
    expect(records.map(({ anchors }) => anchors.complete_record?.leaf.tenant_ordinal)).toEqual([1, 2, 3, 4, 5])
  })

  test("is unbroken in every piece of it", () => {
    expect(problemsOf([])).toEqual([])
    for (let from = 0; from < records.length; from++)
      for (let to = from; to <= records.length; to++) expect(problemsOf(records.slice(from, to))).toEqual([])
  })

  test("shows what is missing, doubled or reordered between two of its records", () => {
    const missing = "run 5 (record 3) does not follow document 1: documents are missing, doubled or reordered"
    expect(problemsOf([first, third])).toEqual([missing])
    expect(problemsOf([first, first])).toHaveLength(1)
    expect(problemsOf([second, first])).toHaveLength(1)
    expect(problemsOf([first, third, second, fourth])).toHaveLength(3)
  })

  test("cannot show that its tail was dropped", () => {
    expect(problemsOf(records.slice(0, 2))).toEqual([])
  })

  test("takes in no record of another tenant", () => {
    expect(problemsOf([first, stranger])).toEqual([`run ${stranger.run.run_id} (record 6) belongs to another tenant`])
  })

  test("takes in no record without its anchor, and goes on after it", () => {
    const { complete_record: _, ...anchors } = second.anchors
    expect(problemsOf([first, { ...second, anchors }, third])).toEqual([
      "run 3 has no complete-record anchor",
      "run 5 (record 3) does not follow document 1: documents are missing, doubled or reordered",
    ])
  })

  test("names each record's predecessor, the first one's none", () => {
    const other = "f".repeat(64)
    expect(problemsOf([relinked(first, { previous_record: other })])).toEqual([
      "run 1 (record 1) is the first and names a predecessor",
    ])
    expect(problemsOf([fourth, relinked(fifth, { previous_record: other })])).toEqual([
      "run 9 (record 5) does not name the document before it",
    ])
    // A replaced record breaks the link of the one after it.
    expect(problemsOf([relinked(fourth, { bundle_hash: other }), fifth])).toEqual([
      "run 9 (record 5) does not name the document before it",
    ])
  })
})

test("openings and ends of permits have their places in the chain", () => {
  const own = makeDeployment()
  const [one, two] = [openPermit(own), openPermit(own)]
  const close = closePermit(own, one).bundle
  const end = endPermits(own, [two])
  expect(
    chainProblems([openingInChain(one.opening), openingInChain(two.opening), recordInChain(close), endInChain(end)]),
  ).toEqual([])
  expect(chainProblems([openingInChain(one.opening), recordInChain(close), endInChain(end)])).toEqual([
    expect.stringMatching(/^run 1 \(record 3\) does not follow document 1/),
  ])
})
