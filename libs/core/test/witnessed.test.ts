/** A record that was served with what witnesses signed of its log since. docs/formats.md section 9. */
import { describe, expect, test } from "vitest"
import type { Bundle, Witnessed } from "../src/artifacts/bundle-schema.ts"
import { expand, reduce } from "../src/derivation/derive.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { attest, makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { asJson, withValue } from "./fixtures/json-values.ts"
import { reportOn } from "./fixtures/judged.ts"
import { knownValues } from "./fixtures/mutations.ts"
import { tryChanges } from "./fixtures/surviving-changes.ts"
import { testWitness, trustWith, withWitnessed, witnessedOf } from "./fixtures/test-witnesses.ts"

const TIMEOUT_MS = 60_000
const deployment = makeDeployment()
const [one, two, stranger] = ["one.example", "two.example", "stranger.example"].map(testWitness)
const { bundle } = sealRun(deployment, { outcome: "ok" })
const denied = sealRun(deployment, { outcome: "pepg_deny" }).bundle
for (let more = 0; more < 5; more++) sealRun(deployment, { outcome: "ok" })
const trust = trustWith(deployment, [one!, two!])
const witnessed = witnessedOf(deployment, bundle, [one!, two!])
const served = withWitnessed(bundle, witnessed)

const reportOf = (record: Bundle, keys = trust): Report => reportOn(reduce(record), [keys])
const checkOf = (report: Report) => report.checks.find(({ id }) => id === "witnessed")
const codesOf = ({ limitations }: Report) => limitations.map(({ code }) => code)
const failure = (changes: Partial<Witnessed>, record = bundle): string | undefined => {
  const report = reportOf(withWitnessed(record, { ...witnessed, ...changes }))
  return report.verdict === VERDICTS.failed ? report.checks.find(({ result }) => result === "fail")?.message : undefined
}

describe("a record with a witnessed checkpoint", () => {
  test("says which entries of the log witnesses signed and when, and leaves no word on the log to the operator alone", () => {
    const report = reportOf(served)
    expect(report.verdict).toBe(VERDICTS.complete)
    expect(checkOf(report)).toEqual({
      id: "witnessed",
      result: "pass",
      message:
        "its entries are among the first 15 of the log; cosigned by one.example at 2026-01-15T18:00:00Z, two.example at 2026-01-15T18:00:00Z",
    })
    expect(codesOf(report)).toContain("witnessed_log")
    expect(codesOf(report)).not.toContain("operator_log")
  })

  test("is the same record: its hash and its full form are those that it had", () => {
    expect(reduce(served).bundle_hash).toBe(bundle.bundle_hash)
    expect(expand(reduce(served))).toEqual(served)
    expect(reportOf(bundle).checks).toEqual(reportOf(served).checks.filter(({ id }) => id !== "witnessed"))
  })

  test("of a refused run has the places of its receipt and of the whole", () => {
    const report = reportOf(withWitnessed(denied, witnessedOf(deployment, denied, [one!])))
    expect([report.verdict, checkOf(report)?.result]).toEqual([VERDICTS.complete, "pass"])
  })

  test("counts signatures of keys that the reader does not trust, and names nobody by them", () => {
    const all = witnessedOf(deployment, bundle, [one!, stranger!])
    expect(checkOf(reportOf(withWitnessed(bundle, all)))?.message).toMatch(
      /one\.example at .*; signatures of keys .*: 1$/,
    )
    const report = reportOf(withWitnessed(bundle, all), deployment.trust)
    expect(report.verdict).toBe(VERDICTS.complete)
    expect(checkOf(report)?.message).toMatch(/^its entries are among the first 15 of the log; signatures .*: 2$/)
    expect(codesOf(report)).toContain("unknown_witness")
    expect(codesOf(report)).not.toContain("operator_log")
  })

  test("of a log that the reader does not trust fails for want of a key alone", () => {
    const report = reportOf(served, makeDeployment({ seed: "another", host: "another.example" }).trust)
    expect(report.unvouched).toContain("witnessed")
  })
})

describe("it fails", () => {
  const text = witnessed.checkpoint
  const other = makeDeployment({ seed: "another", host: "another.example" })
  sealRun(other, { outcome: "ok" })
  const { pre_anchor, complete_record } = witnessed

  test.each<[string, Partial<Witnessed>, RegExp]>([
    ["with the path of another entry", { pre_anchor: complete_record! }, /path of the pre_anchor entry/],
    ["with paths exchanged", { pre_anchor: complete_record!, complete_record: pre_anchor! }, /path of the pre_anchor/],
    ["with a path for what the record has not", { receipt: pre_anchor! }, /not exactly the log entries/],
    [
      "without any witness's signature",
      { checkpoint: text.split("\n").slice(0, 5).join("\n").concat("\n") },
      /no witness signed/,
    ],
    [
      "without the log's own signature",
      { checkpoint: text.replace(/— runseal\.local\S* \S+\n/, "") },
      /not signed by the log/,
    ],
    [
      "with a changed signature of a trusted witness",
      { checkpoint: text.replace(/(one\.example \S{30})(.)/, (_, a, b) => `${a}${b === "A" ? "B" : "A"}`) },
      /not signed by the log/,
    ],
    ["with another size", { checkpoint: text.replace("\n15\n", "\n14\n") }, /not signed by the log/],
    ["with the checkpoint of another log", witnessedOf(other, bundle, [one!]), /path of the pre_anchor/],
    ["with what is no checkpoint", { checkpoint: "checkpoint" }, /witnessed checkpoint is none/],
  ])("%s", (_name, changes, problem) => {
    expect(failure(changes)).toMatch(problem)
  })

  test("where the witnesses signed another history than the record's own proofs show", () => {
    const fork = (digit: string) => {
      const forked = makeDeployment({ signatures: "rfc6979" })
      attest(forked, { digest: digit.repeat(64) })
      return { forked, record: sealRun(forked, { outcome: "ok" }).bundle }
    }
    const [shown, signed] = [fork("a"), fork("b")]
    const report = reportOf(withWitnessed(shown.record, witnessedOf(signed.forked, shown.record, [one!])))
    expect(checkOf(report)?.message).toMatch(/the log was forked/)
  })

  test("whatever single value is changed", { timeout: TIMEOUT_MS }, () => {
    const whole = asJson(served)
    const { count, survivors } = tryChanges(asJson(witnessed), knownValues([whole]), trust, changed =>
      withValue(whole, "/anchors/witnessed", changed),
    )
    expect(survivors).toEqual([])
    expect(count).toBeGreaterThan(20)
  })
})
