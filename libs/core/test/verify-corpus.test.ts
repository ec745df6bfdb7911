import { describe, expect, test } from "vitest"
import { attestationAnswer } from "../src/artifacts/attestation-answer.ts"
import { isUnreadable, verifyText } from "../src/verify/document.ts"
import type { Report } from "../src/verify/report.ts"
import { OUTCOME_KINDS } from "../src/vocabulary/outcomes.ts"
import { makeDeployment, sealBatch, sealRun } from "./fixtures/deployment.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

const a = makeDeployment()
const b = makeDeployment({ seed: "another", service: "Another service", host: "log.example" })
const corpus = sealCorpus(a)

function verified(document: object, trusts = [a.trust, b.trust]): Report {
  const report = verifyText(JSON.stringify(document), trusts)
  if (isUnreadable(report)) throw new Error(report.unreadable)
  return report
}

describe("a record as the service seals it gets its verdict", () => {
  test.each(corpus.runs)("bundle $name: $verdict", ({ document, verdict }) => {
    const report = verified(document.bundle)
    expect(report).toMatchObject({ verdict, document: "bundle", withheld: [] })
    expect(report.checks.map(check => check.result)).not.toContain("fail")
  })

  test.each(corpus.receipts)("receipt $name: $verdict", ({ document, verdict }) => {
    expect(verified(document)).toMatchObject({ verdict, document: "receipt" })
  })

  test.each(corpus.attestations)("attestation $name: $verdict", ({ document, verdict }) => {
    expect(verified(document)).toMatchObject({ verdict, document: "attestation" })
  })

  test("an attestation has an id of its own form, and no empty subject, whoever signed it", () => {
    const attestation_id = `att-${"0".repeat(32)}`
    const named = { leaf_version: "vfa.attestation.v1", digest: "0".repeat(64), algorithm: "sha256" } as const
    const answered = (facts: { readonly attestation_id: string; readonly subject_ref?: string }): object =>
      attestationAnswer(a.log.anchor(a.log.append({ ...named, ...facts }, a.serviceKey, 1_768_478_400), a.log.head()))
    expect(verified(answered({ attestation_id })).verdict).toBe("ATTESTATION VERIFIED AND ANCHORED")
    for (const facts of [{ attestation_id: "att-0" }, { attestation_id, subject_ref: "" }])
      expect(verifyText(JSON.stringify(answered(facts)), [a.trust])).toHaveProperty("unreadable")
  })

  test("the samples cover every outcome", () => {
    expect(new Set(corpus.runs.map(({ spec }) => spec.outcome))).toEqual(new Set(OUTCOME_KINDS))
  })
})

describe("a deployment", () => {
  test("is named by its own verdicts, beside another that is trusted too", () => {
    expect(verified(sealRun(a, { outcome: "ok" }).bundle).service).toBe("Runseal fixture service")
    expect(verified(sealRun(b, { outcome: "ok" }).bundle).service).toBe("Another service")
  })

  test("seals several runs of several tenants in one batch", () => {
    const specs = [
      { outcome: "ok", tenant: "api-key-2" },
      { outcome: "pepg_deny", tenant: "anonymous" },
      { outcome: "stage_error", tenant: "api-key-2" },
    ] as const
    for (const { bundle } of sealBatch(b, specs))
      expect(verified(bundle).verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
  })

  test("follows from its seed, signatures included when they are deterministic", () => {
    const [one, two, other] = ["seed", "seed", "other seed"].map(seed =>
      sealRun(makeDeployment({ seed, signatures: "rfc6979" }), { outcome: "ok" }),
    )
    expect(one!.bundle).toEqual(two!.bundle)
    expect(one!.bundle.bundle_hash).not.toBe(other!.bundle.bundle_hash)
  })
})
