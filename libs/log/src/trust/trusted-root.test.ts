import type { JsonObject, JsonValue } from "@runseal/canonical"
import { encodeBase64 } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { serviceKey, trustDocument } from "../../test/own-log.ts"
import type { TimestampAuthority } from "../timestamps/timestamp-authority.ts"
import { PUBLIC_REKOR_ROOT } from "./rekor-root.ts"
import type { LogKey } from "./trusted-keys.ts"
import { formatTrustedRoot, parseTimestampAuthorities, parseTrustedRoot } from "./trusted-root.ts"

const keysOf = (value: unknown): readonly LogKey[] => {
  const keys = parseTrustedRoot(value)
  if ("problem" in keys) throw new Error(keys.problem)
  return keys
}
const root = trustDocument.trusted_root
const [log] = root.tlogs as readonly [JsonObject]
const publicKey = log.publicKey as JsonObject
const withLog = (changed: JsonObject): JsonObject => ({ ...root, tlogs: [{ ...log, ...changed }] })
const withKey = (changed: JsonObject): JsonObject => withLog({ publicKey: { ...publicKey, ...changed } })

describe("a trusted root", () => {
  test("written by us carries empty lists and no field of ours", () => {
    expect(Object.keys(root)).toEqual([
      "mediaType",
      "tlogs",
      "certificateAuthorities",
      "ctlogs",
      "timestampAuthorities",
    ])
    expect(Object.keys(log)).toEqual(["baseUrl", "hashAlgorithm", "publicKey", "logId"])
    expect([root.certificateAuthorities, root.ctlogs, root.timestampAuthorities]).toEqual([[], [], []])
  })

  test("reads back, also with an end of validity", () => {
    const keys = keysOf(root).map(key => ({ ...key, validTo: key.validFrom + 1 }))
    expect(keysOf(formatTrustedRoot(keys))).toEqual(keys)
    expect(formatTrustedRoot(keysOf(PUBLIC_REKOR_ROOT))).toEqual(PUBLIC_REKOR_ROOT)
  })

  test("may carry more than we read", () => {
    expect(keysOf({ ...root, certificateAuthorities: [{ uri: "x" }], future: true })).toEqual(keysOf(root))
    expect(keysOf(withLog({ future: true }))).toEqual(keysOf(root))
  })

  test("may say null of what it leaves out, as JSON of Protocol Buffers may", () => {
    const { start } = publicKey.validFor as JsonObject
    const [endless] = keysOf(withKey({ validFor: { start: start!, end: null } }))
    expect(endless).toEqual(keysOf(withKey({ validFor: { start: start! } }))[0])
    expect(endless).not.toHaveProperty("validTo")
    const unused = { certificateAuthorities: null, ctlogs: null, timestampAuthorities: null, signingConfig: null }
    expect(keysOf({ ...root, ...unused })).toEqual(keysOf(root))
    expect(parseTimestampAuthorities({ ...root, ...unused })).toEqual([])
    const certChain = { certificates: [{ rawBytes: "AA==" }] }
    const authority = { uri: null, subject: null, certChain, validFor: { start: start!, end: null } }
    const [read] = parseTimestampAuthorities({ timestampAuthorities: [authority] }) as readonly TimestampAuthority[]
    expect(read).toEqual({ uri: "", certificates: [Uint8Array.of(0)], validFrom: expect.any(Number) })
  })

  test("keeps keys of algorithms we do not use, which vouch for nothing", () => {
    const [key] = keysOf(withKey({ keyDetails: "PKIX_ED25519", rawBytes: "AA==" }))
    expect(key).toMatchObject({ keyDetails: "PKIX_ED25519", spki: Uint8Array.of(0) })
  })

  test.each<[string, JsonValue]>([
    ["another media type", { ...root, mediaType: "application/json" }],
    ["no logs field", { mediaType: root.mediaType! }],
    ["another hash", withLog({ hashAlgorithm: "SHA2_512" })],
    ["a key that is not base64", withKey({ rawBytes: "=" })],
    ["a key that is not P-256 under that name", withKey({ rawBytes: "AA==" })],
    ["a key that is another than the log id's", withKey({ rawBytes: encodeBase64(serviceKey.spki) })],
    ["a short log id", withLog({ logId: { keyId: "AA==" } })],
    ["a start that is no time", withKey({ validFor: { start: "yesterday" } })],
    ["an end that is no time", withKey({ validFor: { start: "2021-01-01T00:00:00Z", end: "x" } })],
    ["no validity", withKey({ validFor: {} })],
    ["null for its validity", withKey({ validFor: null })],
    ["null for its start", withKey({ validFor: { start: null } })],
    ["null for its logs", { ...root, tlogs: null }],
    ["null for a key", withKey({ rawBytes: null })],
    ["65 logs", { ...root, tlogs: Array.from({ length: 65 }, () => log) }],
    ["a list in place of an object", []],
    ["null", null],
  ])("is refused with %s", (_, value) => {
    expect(parseTrustedRoot(value)).toEqual({ problem: expect.stringMatching(/^The .+\.$/) })
  })

  test("of arbitrary JSON never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(parseTrustedRoot(value)).toHaveProperty("problem")
        expect(Array.isArray(parseTrustedRoot({ ...root, tlogs: value }))).toBe(
          Array.isArray(value) && value.length === 0,
        )
      }),
    )
  })
})
