/** docs/formats.md section 14: what the service's key says of a record, and what a verifier says of an envelope around it. */
import { canonicalize, digest, encodeBase64, type JsonObject, parseStrictJson, utf8Encode } from "@runseal/canonical"
import { type DsseEnvelope, signEnvelope } from "@runseal/log/entries/dsse"
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { RunStatement } from "../src/artifacts/run-statement.ts"
import { reduce } from "../src/derivation/derive.ts"
import { bundlePreimageText } from "../src/formulas/manifest-sections.ts"
import { runStatement, runStatementText } from "../src/formulas/run-statement-text.ts"
import { isUnreadable, verifyDocument } from "../src/verify/document.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { STATEMENT_FILES, statementExport } from "../src/verify/statement-export.ts"
import { parseRunStatement } from "../src/verify/verify-run-statement.ts"
import { makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"
import { readable } from "./fixtures/judged.ts"
import { RUN_SAMPLES } from "./fixtures/sample-corpus.ts"

const PAYLOAD_TYPE = "application/vnd.in-toto+json"
const deployment = makeDeployment()
const { trust, trustDocument, serviceKey } = deployment
const { bundle } = sealRun(deployment, { outcome: "ok" })
const { bundle: denied } = sealRun(deployment, { outcome: "pepg_deny" })

const signed = (text: string, key = serviceKey): DsseEnvelope => signEnvelope(PAYLOAD_TYPE, utf8Encode(text), key)
const envelopeOf = (record: Bundle): DsseEnvelope => signed(runStatementText(runStatement(record)!))
const good = envelopeOf(bundle)
const statement = runStatement(bundle)!

const judged = (envelope: unknown, trusts = [trust]): Report => readable(verifyDocument(envelope, trusts))
const refusal = (envelope: unknown): string => {
  const report = verifyDocument(envelope, [trust])
  return isUnreadable(report) ? report.unreadable : report.verdict
}

describe("the statement of a record", () => {
  test.each(RUN_SAMPLES)("%s: there is one exactly when the record is whole and attests something", (_, __, spec) => {
    const record = sealRun(deployment, spec).bundle
    const found = runStatement(record)
    const whole = record.anchors.complete_record !== undefined && spec.outcome !== "stage_error"
    expect(found !== undefined).toBe(whole)
    if (found === undefined) return
    expect(found.subject).toEqual([{ name: `runs/${record.run.run_id}`, digest: { sha256: record.bundle_hash } }])
    expect(judged(envelopeOf(record))).toMatchObject({
      document: "run_statement",
      verdict: VERDICTS.run_statement,
      run_id: record.run.run_id,
      outcome_kind: spec.outcome,
      service: trust.service,
    })
  })

  test("names the manifest of an ok run and the receipt of a refused one, as the complete-record leaf does", () => {
    for (const record of [bundle, denied]) {
      const { manifest_hash, receipt_hash } = record.anchors.complete_record!.leaf
      const { predicate } = runStatement(record)!
      expect([predicate.manifest_hash, predicate.receipt_hash]).toEqual([manifest_hash, receipt_hash])
    }
  })

  test("is about the SHA-256 of a text that anybody can write down", () => {
    const text = bundlePreimageText(reduce(bundle))
    expect(digest(parseStrictJson(text))).toBe(bundle.bundle_hash)
    expect(canonicalize(parseStrictJson(text))).toBe(text)
  })
})

describe("an envelope is FAILED", () => {
  const failed = (envelope: unknown, trusts = [trust]): string | undefined => {
    const { verdict, first_failure } = judged(envelope, trusts)
    expect(verdict).toBe(VERDICTS.failed)
    return first_failure
  }
  const changed = (edit: (predicate: RunStatement["predicate"]) => object): string =>
    canonicalize({ ...statement, predicate: edit(statement.predicate) } as JsonObject)

  test("when any value of the statement was changed after it was signed", () => {
    const text = changed(predicate => ({ ...predicate, route_id: "claims/payout" }))
    expect(failed({ ...good, payload: encodeBase64(utf8Encode(text)) })).toBe("signature")
  })

  test("when nobody trusted signed it", () => {
    const another = makeDeployment({ seed: "another" })
    expect(failed(signed(runStatementText(statement), another.serviceKey))).toBe("signature")
    expect(failed(good, [another.trust])).toBe("signature")
    expect(failed(good, [])).toBe("signature")
  })

  test("when it names a trusted key that did not sign it", () => {
    const another = makeDeployment({ seed: "another" })
    const [signature] = signed(runStatementText(statement), another.serviceKey).signatures
    const [{ keyid }] = good.signatures as [DsseEnvelope["signatures"][number]]
    expect(failed({ ...good, signatures: [{ ...signature, keyid }] })).toBe("signature")
  })

  test("when its key was revoked at any time: nothing dates the signature", () => {
    const [key] = trustDocument.service_keys
    const revoked = trusted({ ...trustDocument, service_keys: [{ ...key!, revoked_from: "2030-01-01T00:00:00Z" }] })
    expect(failed(good, [revoked])).toBe("signature")
  })

  test("when its key was retired before the run was admitted, and not when it was retired after it", () => {
    const [key] = trustDocument.service_keys
    const until = (valid_to: string) => [trusted({ ...trustDocument, service_keys: [{ ...key!, valid_to }] })]
    expect(failed(good, until("2026-01-01T00:00:01Z"))).toBe("signature")
    expect(judged(good, until("2026-12-31T00:00:00Z")).verdict).toBe(VERDICTS.run_statement)
  })

  test.each<[string, string]>([
    ["is not canonical", ` ${runStatementText(statement)}`],
    [
      "names its subject otherwise",
      canonicalize({ ...statement, subject: [{ ...statement.subject[0]!, name: "runs/99" }] }),
    ],
    ["has no manifest hash for an ok run", changed(({ manifest_hash: _, ...rest }) => rest)],
    ["has a receipt hash for an ok run", changed(rest => ({ ...rest, receipt_hash: "ab".repeat(32) }))],
    ["says of an ok run that it was refused", changed(rest => ({ ...rest, outcome_kind: "pepg_deny" }))],
    ["has no pre-anchor", changed(rest => ({ ...rest, anchors: { complete_record: rest.anchors.complete_record } }))],
  ])("when a signed statement %s", (_, text) => {
    expect(failed(signed(text))).toBe("shape")
  })
})

describe("an envelope is no document of ours", () => {
  const withPayload = (value: JsonObject): DsseEnvelope => signed(canonicalize(value))
  test.each<[string, unknown]>([
    ["without a signature", { ...good, signatures: [] }],
    ["with two signatures", { ...good, signatures: [good.signatures[0], good.signatures[0]] }],
    ["with a member more", { ...good, comment: "" }],
    ["of another payload type", signEnvelope("text/plain", utf8Encode(runStatementText(statement)), serviceKey)],
    ["of another predicate", withPayload({ ...statement, predicateType: "https://slsa.dev/provenance/v1" })],
    ["of two subjects", withPayload({ ...statement, subject: [statement.subject[0]!, statement.subject[0]!] })],
    [
      "of a stage error",
      withPayload({ ...statement, predicate: { ...statement.predicate, outcome_kind: "stage_error" } }),
    ],
    ["of a payload that is no JSON", signed("{")],
    [
      "of a payload that holds U+0000",
      withPayload({ ...statement, predicate: { ...statement.predicate, route_id: "\u0000" } }),
    ],
    ["of more bytes than a statement has", signed(`"${"x".repeat(16_384)}"`)],
  ])("%s", (_, envelope) => {
    expect(refusal(envelope)).not.toMatch(/FAILED|SIGNED/)
  })
})

describe("an export of a statement", () => {
  const exported = (envelope: DsseEnvelope, record = bundle, trusts = [trust]) => {
    const parsed = parseRunStatement(envelope)
    if (!parsed.ok) throw new Error(parsed.problem)
    return statementExport(parsed.value, record, trusts)
  }

  test("holds record, envelope, bundle and keys under names of ours", () => {
    const files = exported(good)
    if ("problem" in files) throw new Error(files.problem)
    expect(files.map(({ name }) => name)).toEqual(Object.values(STATEMENT_FILES))
  })

  test.each<[string, DsseEnvelope, string]>([
    ["of another run", envelopeOf(denied), "predicate.run_id"],
    [
      "of another subject",
      signed(
        canonicalize({ ...statement, subject: [{ ...statement.subject[0]!, digest: { sha256: "ab".repeat(32) } }] }),
      ),
      "subject",
    ],
    [
      "that leaves something out",
      signed(canonicalize({ ...statement, predicate: (({ policy_hash: _, ...rest }) => rest)(statement.predicate) })),
      "predicate.policy_hash",
    ],
    [
      "that adds something",
      signed(canonicalize({ ...statement, predicate: { ...statement.predicate, ai_output_hash: "ab".repeat(32) } })),
      "predicate.ai_output_hash",
    ],
  ])("is refused for a statement %s", (_, envelope, name) => {
    expect(exported(envelope)).toEqual({ problem: `the statement is not this record's: ${name} differs` })
  })

  test("is refused when record and statement are held to two trust documents", () => {
    const another = makeDeployment({ seed: "another" })
    const other = signed(runStatementText(statement), another.serviceKey)
    expect(exported(other, bundle, [trust, another.trust])).toHaveProperty("problem")
    expect(exported(good, bundle, [])).toHaveProperty("problem")
  })
})
