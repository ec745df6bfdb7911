import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { ExportStatement } from "../src/artifacts/export-statement.ts"
import { outcomeHeadline, titleOf } from "../src/presentation/account.ts"
import { remedyFor } from "../src/presentation/advice.ts"
import type { Completeness } from "../src/verify/completeness.ts"
import { firstFault, isUntrusted, type Report, VERDICTS } from "../src/verify/report.ts"
import { attest, makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { exportReport, reportOn } from "./fixtures/judged.ts"
import { stateExport } from "./fixtures/sample-exports.ts"

// A reader who trusts no key of a service must not take its records for forgeries, nor a forgery for a record that only lacks a key.
const { bundle } = sealRun(makeDeployment(), { outcome: "ok" })
const { bundle: denied, receipt } = sealRun(makeDeployment(), { outcome: "pepg_deny" })
const attestation = attest(makeDeployment(), { digest: "0".repeat(64) })
const FALSE_HASH = "1".repeat(64)

const unheld = (document: object): Report => reportOn(document, [])

test.each([bundle, denied, receipt!, attestation])("a genuine document fails for want of a key alone", document => {
  const report = unheld(document)
  expect(report.verdict).toBe(VERDICTS.failed)
  expect(isUntrusted(report)).toBe(true)
  expect(firstFault(report)).toBeUndefined()
  expect(remedyFor(report)).toBe("untrusted")
})

const { pre_anchor, complete_record } = bundle.anchors
const FORGED: readonly (readonly [name: string, document: object, fault: string])[] = [
  ["a bundle of another run", { ...bundle, run: { ...bundle.run, run_id: 77 } }, "bundle_hash"],
  ["a bundle with another hash", { ...bundle, bundle_hash: FALSE_HASH }, "bundle_hash"],
  ["a bundle without its last anchor", { ...bundle, anchors: { pre_anchor } }, "complete_record"],
  [
    "a bundle with another last leaf",
    {
      ...bundle,
      anchors: {
        pre_anchor,
        complete_record: { ...complete_record!, leaf: { ...complete_record!.leaf, bundle_hash: FALSE_HASH } },
      },
    },
    "complete_record",
  ],
  [
    "a receipt whose proof ends in another root",
    JSON.parse(JSON.stringify(receipt).replace(/"rootHash":"[^"]+"/, `"rootHash":"${btoa("x".repeat(32))}"`)),
    "inclusion",
  ],
  [
    "an attestation of another digest",
    { ...attestation, digest: FALSE_HASH, leaf: { ...attestation.leaf, digest: FALSE_HASH } },
    "leaf",
  ],
]

describe.each(FORGED)("%s, held against no key", (_, document, fault) => {
  test("is wrong whatever keys one trusts, and not only for want of one", () => {
    const report = unheld(document)
    expect(report.verdict).toBe(VERDICTS.failed)
    expect(isUntrusted(report)).toBe(false)
    expect(firstFault(report)?.id).toBe(fault)
    expect(remedyFor(report)).toBe("altered")
  })
})

test("what a record that FAILED says of its run is given as its claim", () => {
  const report = unheld({ ...denied, run: { ...denied.run, outcome_kind: "ok" } })
  expect(report.verdict).toBe(VERDICTS.failed)
  expect(outcomeHeadline(report)).toBeUndefined()
  expect(titleOf(report)).toContain("that claims to be of run")
})

describe("an export, held against no key", () => {
  const deployment = makeDeployment()
  const records = (["ok", "pepg_deny", "ccv_halt"] as const).map(outcome => sealRun(deployment, { outcome }).bundle)
  const statement = stateExport(deployment, records)
  const found = (...pieces: readonly (ExportStatement | Bundle)[]): Completeness =>
    exportReport(
      pieces.map(piece => JSON.stringify(piece)),
      [],
    )

  test("lacks nothing but the key when it is whole", () => {
    expect(found(statement, ...records)).toMatchObject({ verdict: "FAILED", untrusted: true, problem_count: 4 })
  })

  test("is wrong by itself when a record is missing, or was changed", () => {
    const [first, ...rest] = records
    expect(found(statement, ...rest).untrusted).toBeUndefined()
    const changed = found(statement, { ...first!, bundle_hash: FALSE_HASH }, ...rest)
    expect(changed.untrusted).toBeUndefined()
    expect(changed.problems[1]?.sentence).toContain("first failed check, bundle_hash")
  })
})
