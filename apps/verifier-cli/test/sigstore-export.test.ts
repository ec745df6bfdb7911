/** What `verifier export --sigstore` writes, held against Sigstore's own verifier. */
import { createPublicKey } from "node:crypto"
import { join } from "node:path"
import { encodeBase64 } from "@runseal/canonical"
import { keyIdOfSpki, pemToSpki } from "@runseal/log/keys/spki"
import { bundleFromJSON } from "@sigstore/bundle"
import { TrustedRoot } from "@sigstore/protobuf-specs"
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify"
import { describe, expect, test } from "vitest"
import { RUN_SAMPLES } from "../../../libs/core/test/fixtures/sample-corpus.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import {
  exportAfterChange,
  exportCorpus,
  exportFromOutside,
  exportOfAnother,
  isStamped,
  type Material,
  SPOILERS,
  STAMPED_SPOILERS,
} from "./sigstore-exports.ts"

const folder = testFolder("runseal-export")
const exported = await exportCorpus(folder)
const another = await exportOfAnother(folder)
const fromOutside = await exportFromOutside(folder)
const stamped = fromOutside.filter(isStamped)
/** Of another record, in the logs of another fixture. */
const [stampedElsewhere] = (await exportFromOutside(join(folder, "another"), "another")).filter(isStamped)

/** As a user of sigstore-js verifies who trusts this one key, whatever the bundle calls it. Throws what it refuses. */
function verify({ leaf, bundle, key, root }: Material): void {
  const trusted = { publicKey: createPublicKey(key), validFor: () => true }
  const trust = toTrustMaterial(TrustedRoot.fromJSON(JSON.parse(root)), () => trusted)
  new Verifier(trust).verify(toSignedEntity(bundleFromJSON(JSON.parse(bundle)), leaf))
}

describe("every exported anchor", () => {
  test.each(exported)("$name: sigstore-js accepts it", ({ material }) => {
    verify(material)
  })

  test.each(exported)("$name: names its key by the key's SHA-256", ({ material: { bundle, key } }) => {
    const { hint } = JSON.parse(bundle).verificationMaterial.publicKey
    expect(hint).toBe(encodeBase64(keyIdOfSpki(pemToSpki(key)!)))
  })

  test("of a log that changed its key: the trusted root lists both, and sigstore-js accepts it", async () => {
    const anchors = await exportAfterChange(folder)
    expect(anchors.length).toBe(2)
    for (const { material } of anchors) {
      expect(JSON.parse(material.root).tlogs).toHaveLength(2)
      verify(material)
    }
  })

  test("the corpus has anchors of every kind, of every outcome that is anchored", () => {
    const names = exported.map(({ name }) => name)
    for (const [name, , { receipt_anchor, complete_record }] of RUN_SAMPLES) {
      const anchored = receipt_anchor !== "none" || complete_record !== false
      expect(names.some(one => one.startsWith(`${name}, `))).toBe(anchored)
    }
    const slots = new Set(names.map(name => name.split(", ")[1]))
    expect(slots).toEqual(new Set(["pre_anchor", "receipt", "complete_record", "attestation"]))
  })
})

describe.each(SPOILERS)("%s", (_, spoil) => {
  test.each(exported)("$name: sigstore-js refuses it", ({ material }) => {
    expect(() => verify(spoil(material, another))).toThrow()
  })
})

describe("a record that is also in Rekor logs of both versions", () => {
  test.each(fromOutside)("$name: sigstore-js accepts it, beside the other logs and the authorities", ({ material }) => {
    const root = JSON.parse(material.root)
    expect([root.tlogs.length, root.timestampAuthorities.length]).toEqual([5, 3])
    verify(material)
  })

  test("has a bundle for each of its entries there", () => {
    expect(fromOutside).toHaveLength(10)
    expect(stamped).toHaveLength(6)
  })
})

describe.each(STAMPED_SPOILERS)("an entry of Rekor v2 with %s", (_, spoil) => {
  test.each(stamped)("$name: sigstore-js refuses it", ({ material }) => {
    expect(() => verify(spoil(material, stampedElsewhere!.material))).toThrow()
  })
})
