import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { concatBytes, decodeBase64, utf8Decode } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { newEd25519 } from "../../test/own-log.ts"
import { cosignatureMessage, encodeCosignature, verifyCosignature } from "./cosignature.ts"
import { noteKey, parseNote } from "./signed-note.ts"

const TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
const TIME = 1_679_315_147
const witness = newEd25519()
const key = noteKey("witness.example.com/w1", "cosignature/v1", witness.raw)
/** As tlog-cosignature writes it, with Ed25519. */
const message = (time: number, text = TEXT): Uint8Array => Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
const cosignature = encodeCosignature(TIME, witness.sign(message(TIME)))

describe("a witness cosignature", () => {
  test("signs the header, the time and the whole checkpoint body: the example of tlog-cosignature", () => {
    expect(utf8Decode(cosignatureMessage(key, TIME, TEXT)!)).toBe(`cosignature/v1\ntime 1679315147\n${TEXT}`)
  })

  test("carries its time as the example of C2SP tlog-cosignature does", () => {
    // The witness line printed in tlog-cosignature; its time is that of the example message.
    const line =
      "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA=="
    const { signature } = parseNote(`${TEXT}\n— witness.example.com/w1 ${line}\n`)!.signatures[0]!
    expect(encodeCosignature(TIME, signature.subarray(8))).toEqual(signature)
    expect(decodeBase64(line)!.subarray(4)).toEqual(signature)
  })

  test("verifies to its time", () => {
    expect(verifyCosignature(key, TEXT, cosignature)).toBe(TIME)
    expect(verifyCosignature(key, TEXT, concatBytes(Uint8Array.of(9), cosignature).subarray(1))).toBe(TIME)
  })

  test("covers its time, its text and its key", () => {
    for (let at = 0; at < cosignature.length; at++) {
      expect(verifyCosignature(key, TEXT, cosignature.with(at, cosignature[at]! ^ 1))).toBeUndefined()
    }
    expect(verifyCosignature(key, `${TEXT}extension\n`, cosignature)).toBeUndefined()
    expect(verifyCosignature({ ...key, publicKey: newEd25519().raw }, TEXT, cosignature)).toBeUndefined()
  })

  test("has 72 bytes and a time of at most 2^53−1", () => {
    expect(verifyCosignature(key, TEXT, cosignature.subarray(1))).toBeUndefined()
    const late = Uint8Array.of(0, 0x20, 0, 0, 0, 0, 0, 0)
    const signed = witness.sign(message(2 ** 53))
    expect(verifyCosignature(key, TEXT, concatBytes(late, signed))).toBeUndefined()
    const last = Number.MAX_SAFE_INTEGER
    const latest = encodeCosignature(last, witness.sign(message(last)))
    expect(verifyCosignature(key, TEXT, latest)).toBe(last)
  })

  test("states a time: 0 is none", () => {
    expect(verifyCosignature(key, TEXT, encodeCosignature(0, witness.sign(message(0))))).toBeUndefined()
    expect(verifyCosignature(key, TEXT, encodeCosignature(1, witness.sign(message(1))))).toBe(1)
  })

  test("of arbitrary bytes never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        expect(verifyCosignature(key, TEXT, bytes)).toBeUndefined()
      }),
    )
  })
})

/** OpenSSL's ML-DSA-44, which knows nothing of ours. */
const quantum = generateKeyPairSync("ml-dsa-44")
const RAW_KEY_BYTES = 1312
const rawOf = (publicKey: KeyObject): Uint8Array =>
  new Uint8Array(publicKey.export({ type: "spki", format: "der" }).subarray(-RAW_KEY_BYTES))
const NAME = "witness.example.com/pq"
const quantumKey = noteKey(NAME, "ml-dsa-44", rawOf(quantum.publicKey))

/** The `cosigned_message` of tlog-cosignature, by hand. */
function cosignedMessage(time: number, name = NAME, start = 0): Buffer {
  const [origin = "", size = "", root = ""] = TEXT.split("\n")
  const uint64 = (value: number): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64BE(BigInt(value))
    return bytes
  }
  const opaque = (text: string): Buffer => Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)])
  const range = [uint64(start), uint64(Number(size)), Buffer.from(root, "base64")]
  return Buffer.concat([Buffer.from("subtree/v1\n\0"), opaque(name), uint64(time), opaque(origin), ...range])
}
const quantumSigned = (signed: Uint8Array, time = TIME): Uint8Array =>
  encodeCosignature(time, new Uint8Array(sign(null, signed, quantum.privateKey)))

describe("a cosignature of ML-DSA-44", () => {
  const good = quantumSigned(cosignedMessage(TIME))

  test("signs name, time, origin, size and root, and verifies to its time", () => {
    expect(Buffer.from(cosignatureMessage(quantumKey, TIME, TEXT)!)).toEqual(cosignedMessage(TIME))
    expect(good.length).toBe(8 + 2420)
    expect(verifyCosignature(quantumKey, TEXT, good)).toBe(TIME)
  })

  test("covers its time, its name, its checkpoint and its key", () => {
    for (const at of [0, 7, 8, 9, 40, 1000, 2427])
      expect(verifyCosignature(quantumKey, TEXT, good.with(at, good[at]! ^ 1)), `byte ${at}`).toBeUndefined()
    const renamed = noteKey("witness.example.com/p2", "ml-dsa-44", quantumKey.publicKey)
    expect(verifyCosignature(renamed, TEXT, good)).toBeUndefined()
    for (const [from, to] of [
      ["sofa", "sofas"],
      ["20852163", "20852164"],
      ["CsUY", "CsUZ"],
    ] as const)
      expect(verifyCosignature(quantumKey, TEXT.replace(from, to), good)).toBeUndefined()
    const another = { ...quantumKey, publicKey: rawOf(generateKeyPairSync("ml-dsa-44").publicKey) }
    expect(verifyCosignature(another, TEXT, good)).toBeUndefined()
    expect(verifyCosignature({ ...quantumKey, algorithm: "cosignature/v1" }, TEXT, good)).toBeUndefined()
  })

  test.each<{ what: string; signed: Uint8Array; text?: string }>([
    { what: "that states no time", signed: quantumSigned(cosignedMessage(0), 0) },
    { what: "of a subtree that begins later", signed: quantumSigned(cosignedMessage(TIME, NAME, 256)) },
    { what: "under the message of Ed25519", signed: quantumSigned(message(TIME)) },
    { what: "with a byte more", signed: concatBytes(good, Uint8Array.of(0)) },
    { what: "with a byte less", signed: good.subarray(0, -1) },
    { what: "with a time and no signature", signed: good.subarray(0, 8) },
    {
      what: "under a checkpoint with extension lines, which it does not cover",
      signed: good,
      text: `${TEXT}extension\n`,
    },
    { what: "under what is no checkpoint", signed: good, text: "hello\n" },
  ])("$what is none", ({ signed, text = TEXT }) => {
    expect(verifyCosignature(quantumKey, text, signed)).toBeUndefined()
  })

  test("has room for names of 255 bytes", () => {
    const long = noteKey("é".repeat(128), "ml-dsa-44", quantumKey.publicKey)
    expect(cosignatureMessage(long, TIME, TEXT)).toBeUndefined()
    expect(verifyCosignature(long, TEXT, good)).toBeUndefined()
    expect(cosignatureMessage(noteKey("é".repeat(127), "ml-dsa-44", quantumKey.publicKey), TIME, TEXT)).toBeDefined()
  })
})
