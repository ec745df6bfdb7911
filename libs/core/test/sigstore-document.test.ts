/** The files by which other people's tools verify an anchor. That they do is tested where the command line is. */
import { encodeBase64, utf8Decode } from "@runseal/canonical"
import { sigstoreBundle } from "@runseal/log/entries/sigstore-bundle"
import { spkiToPem } from "@runseal/log/keys/spki"
import { describe, expect, test } from "vitest"
import { p256Key } from "../../log/test/seeded-keys.ts"
import { leafText } from "../src/formulas/leaves.ts"
import { sigstoreExport } from "../src/verify/sigstore-export.ts"
import { attest, makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"

const deployment = makeDeployment()
const { trust, trustDocument } = deployment
const anchor = attest(deployment, { digest: "ab".repeat(32) })
const anchors = [{ slot: "attestation", anchor }] as const

const contents = (files: readonly { readonly name: string; readonly bytes: Uint8Array }[]): Record<string, string> =>
  Object.fromEntries(files.map(({ name, bytes }) => [name, utf8Decode(bytes) ?? ""]))

describe("an export", () => {
  test("holds the leaf to the byte, the bundle, the trusted key and the trusted root", () => {
    const { files } = sigstoreExport(anchors, [trust])!
    const all = contents(files)
    expect(Object.keys(all)).toEqual([
      "attestation.leaf.json",
      "attestation.sigstore.json",
      "service.pub",
      "trusted_root.json",
    ])
    expect(all["attestation.leaf.json"]).toBe(leafText(anchor.leaf))
    expect(JSON.parse(all["attestation.sigstore.json"]!)).toEqual(sigstoreBundle(anchor.entry))
    expect(all["service.pub"]).toBe(spkiToPem(deployment.serviceKey.spki))
    expect(JSON.parse(all["trusted_root.json"]!)).toEqual(trustDocument.trusted_root)
  })

  test("of anchors under two service keys gives each its own key", () => {
    const serviceKey = p256Key("a second key", "service key", "random")
    const second = attest({ ...deployment, serviceKey }, { digest: "cd".repeat(32) })
    const [first] = trustDocument.service_keys
    const row = { key_id: serviceKey.keyId, spki: encodeBase64(serviceKey.spki), valid_from: first!.valid_from }
    const both = trusted({ ...trustDocument, service_keys: [first!, row] })
    const { files, anchors: exported } = sigstoreExport([...anchors, { slot: "receipt", anchor: second }], [both])!
    const all = contents(files)
    expect(exported.map(({ key }) => all[key])).toEqual([
      spkiToPem(deployment.serviceKey.spki),
      spkiToPem(serviceKey.spki),
    ])
    expect(exported.map(({ key }) => key)).toEqual(["service.pub", "service-2.pub"])
  })

  test("never takes a key from the record: without trust in it there is none", () => {
    expect(sigstoreExport(anchors, [])).toBeUndefined()
    expect(sigstoreExport(anchors, [makeDeployment({ seed: "another" }).trust])).toBeUndefined()
    expect(sigstoreExport(anchors, [{ ...trust, serviceKeys: [] }])).toBeUndefined()
  })

  test("of a record without anchors is none", () => {
    expect(sigstoreExport([], [trust])).toBeUndefined()
  })

  test("of any run's anchors uses file names of ours alone", () => {
    const { anchors } = sealRun(deployment, { outcome: "ok" }).bundle
    const slotted = [{ slot: "pre_anchor", anchor: anchors.pre_anchor! } as const]
    for (const { name } of sigstoreExport(slotted, [trust])!.files) expect(name).toMatch(/^[a-z0-9_-]+(\.[a-z]+)+$/)
  })
})

test("an entry whose body names no public key has no Sigstore bundle", () => {
  expect(sigstoreBundle({ ...anchor.entry, canonicalizedBody: "e30=" })).toBeUndefined()
})
