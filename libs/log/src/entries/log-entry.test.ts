import { encodeBase64, utf8Encode } from "@runseal/canonical"
import fc from "fast-check"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { body, digestHex, LOG_TIME, logged, logKey, PREIMAGE, serviceKey } from "../../test/own-log.ts"
import {
  assembleEntry,
  entryBody,
  MAX_PROOF_HASHES,
  parseEntryBody,
  signedEntryTimestampPayload,
  transparencyLogEntrySchema,
} from "./log-entry.ts"

const parts = { digestHex: digestHex(PREIMAGE), signatureDer: Uint8Array.of(0x30, 1), spkiDer: serviceKey.spki }

describe("the body of an entry", () => {
  test("is canonical JSON of the hashedrekord shape, with the key in Node's PEM", () => {
    const pem = encodeBase64(utf8Encode(serviceKey.pem))
    expect(entryBody(parts)).toBe(
      `{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":{"algorithm":"sha256","value":"${parts.digestHex}"}},` +
        `"signature":{"content":"MAE=","publicKey":{"content":"${pem}"}}}}`,
    )
  })

  test("reads back", () => {
    expect(parseEntryBody(utf8Encode(entryBody(parts)))).toEqual({
      apiVersion: "0.0.1",
      kind: "hashedrekord",
      canonical: true,
      ...parts,
    })
  })

  test.each([
    ["no bytes", ""],
    ["no JSON", "{"],
    ["null", "null"],
    ["a duplicate key", entryBody(parts).replace("{", '{"kind":"hashedrekord",')],
    ["an unknown field", entryBody(parts).replace("{", '{"a":1,')],
    ["another hash algorithm", entryBody(parts).replace("sha256", "sha512")],
    ["an uppercase digest", entryBody(parts).replace(parts.digestHex, parts.digestHex.toUpperCase())],
    ["a signature that is not base64", entryBody(parts).replace("MAE=", "MAE")],
  ])("is refused with %s", (_, text) => {
    expect(parseEntryBody(utf8Encode(text))).toBeUndefined()
  })

  test("is refused when it is not UTF-8", () => {
    expect(parseEntryBody(Uint8Array.of(0xff))).toBeUndefined()
  })

  test("of arbitrary bytes never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        expect(parseEntryBody(bytes)).toBeUndefined()
      }),
    )
  })
})

test("the promise is over body, time, log id in hex and index", () => {
  const logId = new Uint8Array(32).fill(0xab)
  expect(signedEntryTimestampPayload({ body: "AA==", integratedTime: LOG_TIME, logId, logIndex: 3 })).toBe(
    `{"body":"AA==","integratedTime":1767225600,"logID":"${"ab".repeat(32)}","logIndex":3}`,
  )
})

describe("an entry", () => {
  test("is protobuf-JSON in the field order of Sigstore's protobuf", () => {
    const entry = assembleEntry({
      logIndex: 9,
      logId: logKey.id,
      integratedTime: LOG_TIME,
      body: "{}",
      signedEntryTimestamp: Uint8Array.of(1),
      proof: { index: 3, size: 4, root: new Uint8Array(32), hashes: [new Uint8Array(32)], checkpoint: "text" },
    })
    const hash = encodeBase64(new Uint8Array(32))
    expect(JSON.stringify(entry)).toBe(
      `{"logIndex":"9","logId":{"keyId":"${encodeBase64(logKey.id)}"},"kindVersion":{"kind":"hashedrekord","version":"0.0.1"},` +
        `"integratedTime":"1767225600","inclusionPromise":{"signedEntryTimestamp":"AQ=="},"inclusionProof":{"logIndex":"3",` +
        `"rootHash":"${hash}","treeSize":"4","hashes":["${hash}"],"checkpoint":{"envelope":"text"}},"canonicalizedBody":"e30="}`,
    )
    expect(v.is(transparencyLogEntrySchema, entry)).toBe(true)
  })

  const entry = logged(body())
  const { inclusionProof, inclusionPromise } = entry
  test.each<[string, object]>([
    ["an unknown field", { extra: 1 }],
    ["a number for an int64", { logIndex: 4 }],
    ["a leading zero", { logIndex: "04" }],
    ["an index of 2^53", { logIndex: "9007199254740992" }],
    ["a negative time", { integratedTime: "-1" }],
    ["a log id of 31 bytes", { logId: { keyId: encodeBase64(logKey.id.subarray(1)) } }],
    ["unpadded base64", { canonicalizedBody: entry.canonicalizedBody.replace(/=+$/, "").slice(0, -1) }],
    ["an empty body", { canonicalizedBody: "" }],
    ["a body beyond 12,288 bytes", { canonicalizedBody: encodeBase64(new Uint8Array(12_289)) }],
    ["an empty promise", { inclusionPromise: { signedEntryTimestamp: "" } }],
    ["an unknown field in the promise", { inclusionPromise: { ...inclusionPromise, extra: 1 } }],
    ["no proof", { inclusionProof: undefined }],
    ["no checkpoint", { inclusionProof: { ...inclusionProof, checkpoint: undefined } }],
    ["a proof hash of 33 bytes", { inclusionProof: { ...inclusionProof, hashes: [encodeBase64(new Uint8Array(33))] } }],
    [
      "more proof hashes than any tree needs",
      {
        inclusionProof: {
          ...inclusionProof,
          hashes: Array.from({ length: MAX_PROOF_HASHES + 1 }, () => inclusionProof.rootHash),
        },
      },
    ],
    [
      "a checkpoint beyond 4,096 characters",
      { inclusionProof: { ...inclusionProof, checkpoint: { envelope: "x".repeat(4097) } } },
    ],
  ])("is refused with %s", (_, changed) => {
    expect(v.is(transparencyLogEntrySchema, { ...entry, ...changed })).toBe(false)
  })

  test("of arbitrary JSON never makes the schema throw", () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(v.is(transparencyLogEntrySchema, value)).toBe(false)
      }),
    )
  })
})
