import { utf8Encode } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { foldExport } from "../../src/verify/completeness.ts"
import { refuseRequest, requestApproval } from "../fixtures/asked-approvals.ts"
import { makeDeployment, sealRun } from "../fixtures/deployment.ts"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues, mutations } from "../fixtures/mutations.ts"
import { exportText, stateExport } from "../fixtures/sample-exports.ts"
import { tryChanges } from "../fixtures/surviving-changes.ts"
import { ASKED } from "../fixtures/vectors/asked-transfer.ts"

const deployment = makeDeployment()
const records = [1, 2, 3].map(() => sealRun(deployment, { outcome: "stage_error", failed_step: "DOG" }).bundle)
const [first, second] = [records[0]!, records[1]!]
const other = sealRun(deployment, { outcome: "stage_error", tenant: "api-key-2" }).bundle
const asking = makeDeployment()
const asked = requestApproval(asking, ASKED)
const refused = refuseRequest(asking, asked, "rejected").bundle
const from = first.run.created_at
const statements = [
  { name: "everything", document: stateExport(deployment, records) },
  { name: "a range", document: stateExport(deployment, [first, second], { from, to: second.run.created_at }) },
  { name: "a time without records", document: stateExport(deployment, [], { from: "2027-01-01T00:00:00.000Z" }) },
  { name: "a chain with requests", document: stateExport(asking, [asked.request, refused]) },
  { name: "another tenant", document: stateExport(deployment, [other], { tenant: "api-key-2" }) },
]
const known = knownValues(statements.map(({ document }) => asJson(document)))

describe("whatever single value of an export statement is changed", () => {
  test.each(statements)("of $name: it does not verify", ({ document }) => {
    const { count, survivors } = tryChanges(asJson(document), known, deployment.trust)
    expect(survivors).toEqual([])
    expect(count).toBeGreaterThan(200)
  })

  test("no export with it is complete", () => {
    const lines = records.map(record => utf8Encode(exportText(record).trimEnd()))
    const verdictOf = (text: string): string => {
      const fold = foldExport([deployment.trust])
      fold.take(1, utf8Encode(text))
      for (const [at, record] of lines.entries()) fold.take(at + 2, record)
      const found = fold.end()
      return "unreadable" in found ? "unreadable" : found.verdict
    }
    const whole = asJson(statements[0]!.document)
    expect(verdictOf(JSON.stringify(whole))).toBe("COMPLETE CHAIN VERIFIED AND ANCHORED")
    // One change of each value: that every change fails, the statement's own verification shows above.
    const seen = new Set<string>()
    for (const { pointer, change, document } of mutations(whole, known)) {
      if (seen.has(pointer)) continue
      seen.add(pointer)
      if (verdictOf(JSON.stringify(document)).startsWith("COMPLETE")) expect.unreachable(`${pointer} ${change}`)
    }
    expect(seen.size).toBeGreaterThan(30)
  })
})
