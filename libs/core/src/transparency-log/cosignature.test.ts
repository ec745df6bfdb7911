import { concatBytes, decodeBase64, utf8Decode } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { newEd25519 } from "../../test/transparency-log/own-log.ts"
import { cosignatureMessage, encodeCosignature, verifyCosignature } from "./cosignature.ts"
import { parseNote } from "./signed-note.ts"

const TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
const TIME = 1_679_315_147
const witness = newEd25519()
const cosignature = encodeCosignature(TIME, witness.sign(cosignatureMessage(TIME, TEXT)))

describe("a witness cosignature", () => {
  test("signs the header, the time and the whole checkpoint body: the example of tlog-cosignature", () => {
    expect(utf8Decode(cosignatureMessage(TIME, TEXT))).toBe(`cosignature/v1\ntime 1679315147\n${TEXT}`)
  })

  test("carries its time as the specification's example does", () => {
    // The witness line printed in tlog-cosignature; its time is that of the example message.
    const line =
      "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA=="
    const { signature } = parseNote(`${TEXT}\n— witness.example.com/w1 ${line}\n`)!.signatures[0]!
    expect(encodeCosignature(TIME, signature.subarray(8))).toEqual(signature)
    expect(decodeBase64(line)!.subarray(4)).toEqual(signature)
  })

  test("verifies to its time", () => {
    expect(verifyCosignature(witness.raw, TEXT, cosignature)).toBe(TIME)
    expect(verifyCosignature(witness.raw, TEXT, concatBytes(Uint8Array.of(9), cosignature).subarray(1))).toBe(TIME)
  })

  test("covers its time, its text and its key", () => {
    for (let at = 0; at < cosignature.length; at++) {
      expect(verifyCosignature(witness.raw, TEXT, cosignature.with(at, cosignature[at]! ^ 1))).toBeUndefined()
    }
    expect(verifyCosignature(witness.raw, `${TEXT}extension\n`, cosignature)).toBeUndefined()
    expect(verifyCosignature(newEd25519().raw, TEXT, cosignature)).toBeUndefined()
  })

  test("has 72 bytes and a time of at most 2^53−1", () => {
    expect(verifyCosignature(witness.raw, TEXT, cosignature.subarray(1))).toBeUndefined()
    const late = Uint8Array.of(0, 0x20, 0, 0, 0, 0, 0, 0)
    const signed = witness.sign(cosignatureMessage(2 ** 53, TEXT))
    expect(verifyCosignature(witness.raw, TEXT, concatBytes(late, signed))).toBeUndefined()
    const last = Number.MAX_SAFE_INTEGER
    const latest = encodeCosignature(last, witness.sign(cosignatureMessage(last, TEXT)))
    expect(verifyCosignature(witness.raw, TEXT, latest)).toBe(last)
  })

  test("of arbitrary bytes never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        expect(verifyCosignature(witness.raw, TEXT, bytes)).toBeUndefined()
      }),
    )
  })
})
