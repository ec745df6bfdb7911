/** Records of keys that sign no more: they verify as long as the keys were valid then, and the report says which and until when. */

import type { TrustDocument } from "@runseal/log/trust/trust-document"
import { describe, expect, test } from "vitest"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, trusted } from "./fixtures/deployment.ts"
import { reportOn } from "./fixtures/judged.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

const deployment = makeDeployment()
const { runs, receipts, attestations } = sealCorpus(deployment)
const { trustDocument } = deployment
const [key] = trustDocument.service_keys
const completed = runs.find(({ verdict }) => verdict === VERDICTS.complete)
const DOCUMENTS = [
  { name: "a bundle", document: completed?.document.bundle },
  { name: "a receipt", document: receipts.find(({ verdict }) => verdict === VERDICTS.receipt)?.document },
  { name: "an attestation", document: attestations[0]?.document },
]

const withServiceKey = (changed: object): TrustDocument => ({
  ...trustDocument,
  service_keys: [{ ...key!, ...changed }],
})

const verified = (document: unknown, trust: TrustDocument): Report =>
  reportOn(JSON.stringify(document), [trusted(trust)])

/** Of its last log entry, moved by some seconds. */
const loggedAt = (document: unknown, seconds: number): string => {
  const times = verified(document, trustDocument).anchors.map(({ integrated_time }) => Number(integrated_time))
  return new Date((Math.max(...times) + seconds) * 1000).toISOString().replace(".000Z", "Z")
}

describe.each(DOCUMENTS)("$name", ({ document }) => {
  test("of keys in force has no note", () => {
    expect(verified(document, trustDocument)).not.toHaveProperty("key_notes")
  })

  test("of a key retired since verifies, and the report says: key retired, valid then", () => {
    const valid_to = loggedAt(document, 0)
    const report = verified(document, withServiceKey({ valid_to }))
    expect(report).toEqual({ ...verified(document, trustDocument), key_notes: report.key_notes })
    expect(report.key_notes).toMatchObject([{ role: "service", key_id: key?.key_id, code: "key_retired" }])
    expect(report.key_notes?.[0]?.sentence).toContain(`key retired, valid then (it signed until ${valid_to}`)
  })

  test("of a key retired before fails", () => {
    expect(verified(document, withServiceKey({ valid_to: loggedAt(document, -1) }))).toMatchObject({
      verdict: VERDICTS.failed,
    })
  })

  test("of a key revoked from a later time verifies, and the report says so among what is not verified", () => {
    const revoked_from = loggedAt(document, 1)
    const report = verified(document, withServiceKey({ valid_to: revoked_from, revoked_from }))
    expect(report.verdict).toBe(verified(document, trustDocument).verdict)
    expect(report.key_notes?.[0]?.sentence).toContain(`key revoked from ${revoked_from}, valid then`)
    expect(report.limitations).toContainEqual(expect.objectContaining({ code: "key_revoked_later", strict: true }))
  })

  test("of a key revoked from its log time on fails, and the check says so", () => {
    const revoked_from = loggedAt(document, 0)
    const report = verified(document, withServiceKey({ revoked_from }))
    expect(report.verdict).toBe(VERDICTS.failed)
    expect(report).not.toHaveProperty("key_notes")
    const failed = report.checks.find(({ result }) => result === "fail")
    expect(failed?.message).toContain(`was revoked from ${revoked_from} on`)
  })

  test("of a log key retired since verifies, and the report says so", () => {
    const [log] = trustDocument.trusted_root.tlogs as readonly [{ publicKey: { validFor: object } }]
    const validFor = { ...log.publicKey.validFor, end: loggedAt(document, 0) }
    const tlogs = [{ ...log, publicKey: { ...log.publicKey, validFor } }]
    const trusted_root = { ...trustDocument.trusted_root, tlogs }
    const report = verified(document, JSON.parse(JSON.stringify({ ...trustDocument, trusted_root })))
    expect(report.verdict).toBe(verified(document, trustDocument).verdict)
    expect(report.key_notes).toMatchObject([{ role: "log", code: "key_retired" }])
  })
})
