import { encodeBase64 } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  formatAddCheckpoint,
  formatTreeSize,
  MAX_PROOF_LINES,
  parseAddCheckpoint,
  parseTreeSize,
} from "./witness-messages.ts"

/** The request printed in tlog-witness. */
const CHECKPOINT = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
`
const HASHES = [
  "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=",
  "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=",
  "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=",
]
const REQUEST = ["old 20852014", ...HASHES, "", CHECKPOINT].join("\n")

describe("a request to a witness", () => {
  test("is written and read as the example of C2SP tlog-witness", () => {
    const parsed = parseAddCheckpoint(REQUEST)
    expect(parsed).toMatchObject({ oldSize: 20852014, checkpoint: CHECKPOINT })
    expect(parsed?.proof.map(encodeBase64)).toEqual(HASHES)
    expect(formatAddCheckpoint(parsed!)).toBe(REQUEST)
  })

  test("needs no proof from an empty tree", () => {
    expect(parseAddCheckpoint(`old 0\n\n${CHECKPOINT}`)).toEqual({ oldSize: 0, proof: [], checkpoint: CHECKPOINT })
  })

  test("is read as it was written, whatever it holds", () => {
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
    const request = fc.record({
      oldSize: fc.maxSafeNat(),
      proof: fc.array(hash, { maxLength: MAX_PROOF_LINES }),
      checkpoint: fc.string({ unit: "grapheme" }),
    })
    fc.assert(
      fc.property(request, one => {
        expect(parseAddCheckpoint(formatAddCheckpoint(one))).toEqual(one)
      }),
    )
  })

  test.each([
    ["nothing", ""],
    ["no empty line", REQUEST.replace("\n\nexample", "\nexample").replace("\n\n—", "\n—")],
    ["no old size", REQUEST.replace("old 20852014\n", "")],
    ["a size with a zero before it", REQUEST.replace("old 2", "old 02")],
    ["a negative size", REQUEST.replace("old 2", "old -2")],
    ["a size beyond 2^53−1", REQUEST.replace("old 20852014", "old 9007199254740992")],
    ["two spaces", REQUEST.replace("old 2", "old  2")],
    ["a hash of 31 bytes", REQUEST.replace(HASHES[0]!, encodeBase64(new Uint8Array(31)))],
    ["a hash that is no base64", REQUEST.replace(HASHES[1]!, `${HASHES[1]!.slice(0, -2)}!=`)],
    ["carriage returns", REQUEST.replaceAll("\n", "\r\n")],
    ["64 hashes", ["old 1", ...Array.from({ length: 64 }, () => HASHES[0]), "", CHECKPOINT].join("\n")],
  ])("with %s is refused", (_name, body) => {
    expect(parseAddCheckpoint(body)).toBeUndefined()
  })

  test("of arbitrary text never makes the reader throw", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), text => void parseAddCheckpoint(`old 1\n${text}`)))
  })
})

describe("the size a witness answers", () => {
  test("is a decimal and a newline", () => {
    expect(formatTreeSize(20852014)).toBe("20852014\n")
    expect(parseTreeSize("20852014\n")).toBe(20852014)
    expect(parseTreeSize("0\n")).toBe(0)
  })

  test.each(["", "\n", "1", "01\n", "1\n\n", " 1\n", "-1\n", "9007199254740992\n"])("is not %j", body => {
    expect(parseTreeSize(body)).toBeUndefined()
  })
})
