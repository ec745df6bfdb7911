/** The texts that a Rekor v2 log receives and holds, name by name: sigstore/rekor-tiles, rekor_hashedrekord.proto. */
import { encodeBase64, sha256, utf8Decode, utf8Encode } from "@runseal/canonical"
import { expect, test } from "vitest"
import { body, PREIMAGE, serviceKey } from "../../test/own-log.ts"
import { rekorV2Request, signatureIn, tiledBody } from "./rekor-v2.ts"

const own = utf8Encode(body())
const digest = encodeBase64(sha256(PREIMAGE))
const signature = {
  content: encodeBase64(signatureIn(own)!),
  verifier: { keyDetails: "PKIX_ECDSA_P256_SHA_256", publicKey: { rawBytes: encodeBase64(serviceKey.spki) } },
}

test("a request names digest and signature as the log's API does", () => {
  expect(JSON.parse(rekorV2Request(own) ?? "")).toEqual({ hashedRekordRequestV002: { digest, signature } })
})

test("an entry's body is that of a hashedrekord 0.0.2", () => {
  expect(JSON.parse(utf8Decode(tiledBody(own)!) ?? "")).toEqual({
    apiVersion: "0.0.2",
    kind: "hashedrekord",
    spec: { hashedRekordV002: { data: { algorithm: "SHA2_256", digest }, signature } },
  })
})

test("a body of another shape has neither", () => {
  for (const other of ["", "{}", body().replace("hashedrekord", "hashedrekor")]) {
    const bytes = utf8Encode(other.replace('"publicKey"', '"key"'))
    expect(rekorV2Request(bytes)).toBeUndefined()
    expect(tiledBody(bytes)).toBeUndefined()
  }
})
