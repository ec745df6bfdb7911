/** What `verifier export --in-toto` writes, held against Sigstore's own verifier. */
import { createHash, createPublicKey } from "node:crypto"
import { bundleFromJSON } from "@sigstore/bundle"
import { TrustedRoot } from "@sigstore/protobuf-specs"
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { exportStatements, SPOILT_ENVELOPES, type StatementMaterial, statementOfAnother } from "./statement-exports.ts"

const folder = testFolder("runseal-statements")
const exported = await exportStatements(folder)
const another = await statementOfAnother(folder)

/** As a user of sigstore-js verifies who trusts this one key and asks for no log. It compares no file. Throws what it refuses. */
function verify({ bundle, key, root }: StatementMaterial): void {
  const trusted = { publicKey: createPublicKey(key), validFor: () => true }
  const trust = toTrustMaterial(TrustedRoot.fromJSON(JSON.parse(root)), () => trusted)
  const verifier = new Verifier(trust, { tlogThreshold: 0, timestampThreshold: 0, ctlogThreshold: 0 })
  verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(bundle))))
}

describe.each(exported)("the statement of $name", ({ material }) => {
  test("is accepted by sigstore-js", () => {
    verify(material)
  })

  test("has the SHA-256 of the record's file as its subject", () => {
    const statement = JSON.parse(Buffer.from(JSON.parse(material.envelope).payload, "base64").toString())
    expect(statement.subject[0].digest.sha256).toBe(createHash("sha256").update(material.record).digest("hex"))
  })

  test.each(SPOILT_ENVELOPES)("is refused by sigstore-js with %s", (_, spoil) => {
    expect(() => verify(spoil(material, another))).toThrow()
  })
})
