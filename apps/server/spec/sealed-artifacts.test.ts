/** The fields of tokens, receipts and manifests: docs/formats.md sections 3 and 6. */
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { referenceDigest } from "./harness/auditor.ts"
import { keysOf, objectAt, textAt } from "./harness/read-answer.ts"
import { type CaseName, standingSevenStates } from "./harness/seven-states.ts"

const { answers } = standingSevenStates()

const DECISION = ["envelope_id", "fired_rule_id", "decision_reason_code", "policy_hash", "evaluation_hash"]
const SEAL = ["evaluator_version", "version", "hash"]
const HALT = ["anchor_required", "envelope_id", "allow_token_hash", "halt_clock", ...SEAL]

type Artifact = {
  readonly key: string
  readonly version: string
  readonly evaluator: RegExp
  readonly clock: string
  readonly fields: readonly string[]
}
const BUDGET = ["halt_reason_code", "constraint_type", "budget_limit", "budget_hash"]

const ARTIFACTS: Readonly<Partial<Record<CaseName, Artifact>>> = {
  ok: {
    key: "allow_token",
    version: "vfa.allow_token.v1",
    evaluator: /^pepg-\d+\.\d+\.\d+$/,
    clock: "allow_clock",
    fields: [...DECISION, "allow_clock", ...SEAL],
  },
  deny_by_signature: {
    key: "deny_receipt",
    version: "vfa.deny_receipt.v1",
    evaluator: /^pepg-\d+\.\d+\.\d+$/,
    clock: "deny_clock",
    fields: ["anchor_required", ...DECISION, "mcd_finding_hash", "deny_clock", ...SEAL],
  },
  deny_by_rule: {
    key: "deny_receipt",
    version: "vfa.deny_receipt.v1",
    evaluator: /^pepg-\d+\.\d+\.\d+$/,
    clock: "deny_clock",
    fields: ["anchor_required", ...DECISION, "deny_clock", ...SEAL],
  },
  ccv_halt: {
    key: "ccv_halt_receipt",
    version: "vfa.ccv_halt.v1",
    evaluator: /^ccv-\d+\.\d+\.\d+$/,
    clock: "halt_clock",
    fields: [...HALT, ...BUDGET, "consumed_at_halt", "partial_execution_hash"],
  },
  macc_halt: {
    key: "macc_halt_receipt",
    version: "vfa.macc_halt.v1",
    evaluator: /^macc-\d+\.\d+\.\d+$/,
    clock: "halt_clock",
    fields: [...HALT, ...BUDGET, "tenant_id", "cumulative_at_halt", "per_run_consumption", "window_start"],
  },
  aivp_t4_halt: {
    key: "aivp_t4_halt_receipt",
    version: "vfa.aivp_t4_halt.v1",
    evaluator: /^aivp-t4-\d+\.\d+\.\d+$/,
    clock: "halt_clock",
    fields: [
      ...HALT,
      "adapter_id",
      "ai_output_hash",
      "decision_kind",
      "decision_reason",
      "halt_reason_code",
      "review_hash",
    ],
  },
  attestation_gap: {
    key: "attestation_gap_receipt",
    version: "vfa.attestation_gap_receipt.v1",
    evaluator: /^pepg-admission-\d+\.\d+\.\d+$/,
    clock: "gap_clock",
    fields: [
      ...["anchor_required", "decision_reason_code", "envelope_id", "gap_clock", "missing_fields", "required_fields"],
      ...["policy_hash", "policy_id", "policy_name", "profile_tag", ...SEAL],
    ],
  },
}
const artifacts = Object.entries(ARTIFACTS) as readonly (readonly [CaseName, Artifact])[]
const artifactOf = (name: CaseName, { key }: Artifact): JsonObject => objectAt(answers()[name].body, key)

describe.each(artifacts)("the artifact of %s", (name, artifact) => {
  test("has exactly its fields", () => {
    expect(keysOf(artifactOf(name, artifact))).toEqual(artifact.fields.toSorted())
  })

  test("names its kind and its evaluator", () => {
    expect(artifactOf(name, artifact).version).toBe(artifact.version)
    expect(artifactOf(name, artifact).evaluator_version).toMatch(artifact.evaluator)
  })

  test("carries the SHA-256 of its own RFC 8785 form without the hash, by another implementation", () => {
    const { hash, ...preimage } = artifactOf(name, artifact)
    expect(hash).toBe(referenceDigest(preimage))
  })

  test("carries its clock as RFC 3339 UTC with milliseconds", () => {
    expect(textAt(artifactOf(name, artifact), artifact.clock)).toMatch(/^2026-05-04T1[23]:\d\d:\d\d\.\d{3}Z$/)
  })

  test("carries anchor_required true when it is a receipt, and nothing about anchors when it is a token", () => {
    const found = artifactOf(name, artifact)
    if (name === "ok") expect(keysOf(found).filter(key => key.includes("anchor"))).toEqual([])
    else expect(found.anchor_required).toBe(true)
  })
})

const MANIFEST_FIELDS = [
  ..."EnvelopeID EnvelopeHash SequenceID TransportHash EpaHash EfaHash ExecutionIDs AerHash TranscriptHash".split(" "),
  ..."HardwareAttestationHash LeakageBundleHash FormalVerifierStatus ZkspBindingHash MigrationTokenHash".split(" "),
  ..."ReplayFingerprint PoteProofHash LogEntryID RegistryArtifactCount FinalVfaHash IndependentVerified".split(" "),
  ..."DseCommitmentHash TokOrderingHash DscFinalStateHash PayloadHash PolicyHash AllowTokenHash AivpOutcome".split(" "),
  ..."AivpReviewHash AivpAdapterID AivpAiOutputHash ExecutionRegion LedgerBackend LedgerLogID LedgerLeafHash".split(
    " ",
  ),
  ..."FormulaVersion ManifestHash".split(" "),
]
const PARTIAL_FIELDS = [
  ..."EnvelopeID EnvelopeHash SequenceID TransportHash PayloadHash PolicyHash ReceiptHash ExecutionRegion".split(" "),
  ..."FormulaVersion ManifestHash".split(" "),
]
const AFTER_KERNELS = ["AllowTokenHash", "ExecutionIDs", "EfaHash"]

describe("the execution manifest", () => {
  const manifest = (): JsonObject => objectAt(answers().ok.body, "manifest")

  test("has exactly the specified fields and ours", () => {
    expect(keysOf(manifest())).toEqual(MANIFEST_FIELDS.toSorted())
  })

  test("has ManifestHash = SHA-256 of its RFC 8785 form without it, by another implementation", () => {
    const { ManifestHash, ...preimage } = manifest()
    expect(ManifestHash).toBe(referenceDigest(preimage))
  })

  test("has strings everywhere but in ExecutionIDs, RegistryArtifactCount and IndependentVerified", () => {
    const { ExecutionIDs, RegistryArtifactCount, IndependentVerified, ...rest } = manifest()
    expect(ExecutionIDs).toEqual(Array.from({ length: 6 }, () => expect.stringMatching(/^[0-9a-f]{64}$/)))
    expect(Number.isSafeInteger(RegistryArtifactCount)).toBe(true)
    expect(IndependentVerified).toBe(true)
    expect(Object.values(rest).filter(value => typeof value !== "string")).toEqual([])
  })

  test("names formula, verifier status, region, log entry and ledger", () => {
    expect(manifest()).toMatchObject({
      FormulaVersion: "manifest.v1",
      FormalVerifierStatus: "TRACE_VERIFIED",
      ExecutionRegion: "eu-test-1",
      LedgerBackend: "embedded",
      LogEntryID: expect.stringMatching(/^[1-9]\d*$/),
    })
  })

  test("carries none of authorization chain, causal graph, request substance or provenance", () => {
    expect(keysOf(manifest()).filter(key => /authoriz|causal|substance|provenance/i.test(key))).toEqual([])
  })
})

describe.each(artifacts.filter(([name]) => !["ok", "attestation_gap"].includes(name)))(
  "the partial manifest of %s",
  (name, artifact) => {
    const partial = (): JsonObject => objectAt(answers()[name].body, "partial_manifest")

    test("has exactly its fields", () => {
      const marker = { pepg: "PepgOutcome", ccv: "CcvOutcome", macc: "MaccOutcome", aivp: "AivpT4Outcome" }
      const [gate = ""] = /^[a-z]+/.exec(textAt(artifactOf(name, artifact), "evaluator_version")) ?? []
      const more = gate === "pepg" ? [] : AFTER_KERNELS
      expect(keysOf(partial())).toEqual([...PARTIAL_FIELDS, ...more, marker[gate as keyof typeof marker]].sort())
    })

    test("is sealed by its ManifestHash and names the receipt", () => {
      const { ManifestHash, ...preimage } = partial()
      expect(ManifestHash).toBe(referenceDigest(preimage))
      expect(preimage.ReceiptHash).toBe(artifactOf(name, artifact).hash)
    })
  },
)
