import { decodeBase64, encodeBase64, utf8Decode, utf8Encode } from "@runseal/canonical"
import { expect, test } from "vitest"
import { formatEcdsaSignature, isLowS, parseEcdsaSignature } from "../keys/ecdsa-der.ts"
import { pemToSpki } from "../keys/spki.ts"
import { type DsseEnvelope, dsseKeyId, isSignedBy, preAuthenticationEncoding, signEnvelope } from "./dsse.ts"

// The test vector of the DSSE protocol (secure-systems-lab/dsse, protocol.md), its signature in DER and its key as SPKI.
const TYPE = "http://example.com/HelloWorld"
const PAYLOAD = utf8Encode("hello world")
const SIGNATURE = "MEQCIANyarEBrVbCdjtsaqyOSHJ14qeRk6CdxfhZ2fjvPEo7AiBR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
const PEM = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZ805D3eqNZywjCI19lInBJOp7YMr
CrzAH3CVTAOQ0jgMeCvVTiaRJaRPRDOv8UMs6U4SvKc6pnrIDOoSYI3fdA==
-----END PUBLIC KEY-----
`
const SPKI = pemToSpki(PEM)!
/** As `ssh-keygen -l` prints it. */
const FINGERPRINT = "SHA256:f4AuBLdH4Lj/dIuwAUXXebzoI9B/cJ4iSQ3/qByIl4M"
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const envelope: DsseEnvelope = {
  payload: encodeBase64(PAYLOAD),
  payloadType: TYPE,
  signatures: [{ keyid: FINGERPRINT, sig: SIGNATURE }],
}
const signedWith = (sig: string): DsseEnvelope => ({ ...envelope, signatures: [{ keyid: FINGERPRINT, sig }] })

test("what is signed is the pre-authentication encoding, lengths in bytes", () => {
  const text = (type: string, payload: string): string | undefined =>
    utf8Decode(preAuthenticationEncoding(type, utf8Encode(payload)))
  expect(text(TYPE, "hello world")).toBe("DSSEv1 29 http://example.com/HelloWorld 11 hello world")
  expect(text("é", "ü ")).toBe("DSSEv1 2 é 3 ü ")
})

test("the published vector verifies, and nothing that was changed in it", () => {
  expect(isSignedBy(envelope, SPKI)).toBe(true)
  expect(isSignedBy({ ...envelope, payload: encodeBase64(utf8Encode("hello w0rld")) }, SPKI)).toBe(false)
  expect(isSignedBy({ ...envelope, payloadType: `${TYPE}s` }, SPKI)).toBe(false)
  expect(isSignedBy({ ...envelope, signatures: [] }, SPKI)).toBe(false)
  expect(isSignedBy({ ...envelope, payload: "?" }, SPKI)).toBe(false)
  expect(isSignedBy(envelope, SPKI.slice(1))).toBe(false)
})

test("the other of a signature's two values is refused", () => {
  const { r, s } = parseEcdsaSignature(decodeBase64(SIGNATURE)!)!
  const twin = formatEcdsaSignature({ r, s: ORDER - s })
  expect(isSignedBy(signedWith(encodeBase64(twin)), SPKI)).toBe(isLowS(twin))
  expect([isLowS(twin), isLowS(decodeBase64(SIGNATURE)!)]).toEqual([false, true])
})

test("a key id is OpenSSH's fingerprint, of a P-256 key alone", () => {
  expect(dsseKeyId(SPKI)).toBe(FINGERPRINT)
  expect(dsseKeyId(SPKI.slice(1))).toBeUndefined()
  expect(() => signEnvelope(TYPE, PAYLOAD, { spki: SPKI.slice(1), sign: () => SPKI })).toThrow(RangeError)
})

test("an envelope is signed low-S, whatever the signer returns", () => {
  const { r, s } = parseEcdsaSignature(decodeBase64(SIGNATURE)!)!
  const sign = (): Uint8Array => formatEcdsaSignature({ r, s: ORDER - s })
  expect(signEnvelope(TYPE, PAYLOAD, { spki: SPKI, sign })).toEqual(envelope)
})
