import { createHash } from "node:crypto"
import { encodeBase64 } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { newEd25519 } from "../../test/own-log.ts"
import { cosignatureLine, signedNote } from "../entries/log-signing.ts"
import {
  formatNote,
  formatVkey,
  MAX_NOTE_LENGTH,
  MAX_NOTE_SIGNATURES,
  noteKey,
  noteSignatureLine,
  parseNote,
  parseVkey,
} from "./signed-note.ts"
import { verifyNote } from "./verified-note.ts"

const TEXT = "log.example\n12\nroot\n\nanother paragraph\n"
const log = newEd25519()
const logKey = noteKey("log.example", "ed25519", log.raw)
const witness = newEd25519()
const witnessKey = noteKey("witness.example/w1", "cosignature/v1", witness.raw)

const note = signedNote(TEXT, logKey, log.sign)
const cosign = (time: number, text = TEXT): string => cosignatureLine(witnessKey, time, text, witness.sign)
const strangerLine = noteSignatureLine({ name: "stranger.example", keyId: "01020304", signature: Uint8Array.of(1) })

describe("a note", () => {
  test("is its text up to the last empty line, and the signature lines after it", () => {
    const parsed = parseNote(note)!
    expect(parsed.text).toBe(TEXT)
    expect(parsed.signatures.map(({ name, keyId }) => [name, keyId])).toEqual([["log.example", logKey.keyId]])
    expect(formatNote(parsed.text, parsed.signatures.map(noteSignatureLine))).toBe(note)
  })

  const line = `— a ${encodeBase64(Uint8Array.of(1, 2, 3, 4, 5))}\n`
  test.each([
    ["no empty line", `text\n${line}`],
    ["no signature", "text\n\n"],
    ["no final newline", `text\n\n${line.slice(0, -1)}`],
    ["another dash", `text\n\n${line.replace("—", "-")}`],
    ["an empty name", `text\n\n${line.replace(" a ", "  ")}`],
    ["a plus in the name", `text\n\n${line.replace(" a ", " a+b ")}`],
    ["a Unicode space in the name", `text\n\n${line.replace(" a ", " a\u2003b ")}`],
    ["a next-line character in the name", `text\n\n${line.replace(" a ", " a\u0085b ")}`],
    ["a name of 254 characters", `text\n\n${line.replace(" a ", ` ${"a".repeat(254)} `)}`],
    ["something after the signature", `text\n\n${line.replace("\n", " x\n")}`],
    ["two spaces", `text\n\n${line.replace(" a", "  a")}`],
    ["a key id without signature", `text\n\n— a ${encodeBase64(Uint8Array.of(1, 2, 3, 4))}\n`],
    ["base64 without padding", `text\n\n${line.replace("=", "")}`],
    ["an empty line among the signatures", `text\n\n${line}\n${line}\n`],
    ["a tab", `te\txt\n\n${line}`],
    ["a carriage return", `text\r\n\n${line}`],
    ["a NUL", `te\0xt\n\n${line}`],
    ["a lone surrogate", `te\ud800xt\n\n${line}`],
    ["more signatures than the limit", `text\n\n${line.repeat(MAX_NOTE_SIGNATURES + 1)}`],
    ["more characters than the limit", `${"x".repeat(MAX_NOTE_LENGTH)}\n\n${line}`],
  ])("is refused with %s", (_, text) => {
    expect(parseNote(text)).toBeUndefined()
  })

  test("may have as many signatures as the limit, and text of any script", () => {
    expect(parseNote(`è subito sera.\n\n${line.repeat(MAX_NOTE_SIGNATURES)}`)?.signatures.length).toBe(64)
  })

  test("never makes the reader throw, and has one spelling", () => {
    const piece = fc.constantFrom(
      "text",
      "\n",
      "\n\n",
      "— ",
      "log.example ",
      line,
      "AQIDBAU=",
      "\r",
      "+",
      "\ud800",
      "—",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const text = pieces.join("")
        const parsed = parseNote(text)
        if (parsed !== undefined) expect(formatNote(parsed.text, parsed.signatures.map(noteSignatureLine))).toBe(text)
      }),
    )
  })
})

describe("a verified note", () => {
  test("names every known key that signed it, and the time of a cosignature", () => {
    const cosigned = note + cosign(1_679_315_147)
    expect(verifyNote(cosigned, [logKey, witnessKey])).toEqual({
      text: TEXT,
      signers: [{ key: logKey }, { key: witnessKey, time: 1_679_315_147 }],
    })
  })

  test("ignores signatures of strangers", () => {
    expect(verifyNote(note + strangerLine, [logKey])?.signers).toEqual([{ key: logKey }])
    expect(verifyNote(note + cosign(1), [logKey])?.signers).toEqual([{ key: logKey }])
  })

  test("ignores a stranger who shares a name or an id with a known key", () => {
    const sameName = noteSignatureLine({ name: logKey.name, keyId: "01020304", signature: Uint8Array.of(1) })
    const sameId = noteSignatureLine({ name: "stranger.example", keyId: logKey.keyId, signature: Uint8Array.of(1) })
    expect(verifyNote(note + sameName + sameId, [logKey])?.signers).toEqual([{ key: logKey }])
  })

  test("has at least one valid signature of a known key", () => {
    expect(verifyNote(note, [])).toBeUndefined()
    expect(verifyNote(note, [witnessKey])).toBeUndefined()
    expect(verifyNote("no note", [logKey])).toBeUndefined()
  })

  test("has no invalid signature of a known key", () => {
    const invalid = noteSignatureLine({ ...logKey, signature: new Uint8Array(64) })
    expect(verifyNote(note + invalid, [logKey])).toBeUndefined()
    expect(verifyNote(note + cosign(1, "another text\n"), [logKey, witnessKey])).toBeUndefined()
  })

  test("is held against each of two keys that share a name and an id", () => {
    const stranger = { ...logKey, publicKey: newEd25519().raw }
    for (const keys of [
      [stranger, logKey],
      [logKey, stranger],
    ])
      expect(verifyNote(note, keys)?.signers).toEqual([{ key: logKey }])
    expect(verifyNote(note, [stranger])).toBeUndefined()
  })

  test("covers every character of its text", () => {
    expect(verifyNote(note.replace("12", "13"), [logKey])).toBeUndefined()
    expect(verifyNote(`\n${note}`, [logKey])).toBeUndefined()
  })

  test("does not take the log's signature for a cosignature, nor the other way round", () => {
    const posing = noteKey("log.example", "cosignature/v1", log.raw)
    const signature = log.sign(new TextEncoder().encode(TEXT))
    expect(posing.keyId).not.toBe(logKey.keyId)
    expect(verifyNote(formatNote(TEXT, [noteSignatureLine({ ...posing, signature })]), [posing])).toBeUndefined()
  })
})

/** A key under an id that is its own, whatever its type. */
function typedVkey(type: number, key: Uint8Array): string {
  const typed = Buffer.concat([Uint8Array.of(type), key])
  const id = createHash("sha256").update("witness.example\n").update(typed).digest("hex").slice(0, 8)
  return `witness.example+${id}+${typed.toString("base64")}`
}

describe("a vkey", () => {
  const quantumKey = noteKey("witness.example/pq", "ml-dsa-44", new Uint8Array(1312).fill(3))
  test("reads back for every signature type", () => {
    expect(parseVkey(formatVkey(quantumKey))).toEqual(quantumKey)
    expect(parseVkey(formatVkey(logKey))).toEqual(logKey)
    expect(parseVkey(formatVkey(witnessKey))).toEqual(witnessKey)
  })

  const vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
  test("of the signed-note specification's reference code is read", () => {
    expect(parseVkey(vkey)).toMatchObject({ name: "PeterNeumann", keyId: "c74f20a3", algorithm: "ed25519" })
  })

  test.each([
    ["another id", vkey.replace("c74f20a3", "c74f20a4")],
    ["an id in uppercase", vkey.replace("c74f20a3", "C74F20A3")],
    ["another name", vkey.replace("Peter", "John")],
    ["no name", vkey.replace("PeterNeumann", "")],
    ["a space in its name", vkey.replace("PeterN", "Peter N")],
    ["no key", vkey.slice(0, vkey.lastIndexOf("+"))],
    ["text after it", `${vkey}\n`],
    ["a signature type that is not read", typedVkey(0x02, new Uint8Array(32))],
    ["an ML-DSA-44 key of a byte less", typedVkey(0x06, new Uint8Array(1311))],
    ["an Ed25519 key of a byte more", typedVkey(0x04, new Uint8Array(33))],
    ["an ML-DSA-44 key that says it is of Ed25519", typedVkey(0x04, new Uint8Array(1312))],
    ["more characters than the limit", `${formatVkey(quantumKey)}${"=".repeat(1000)}`],
    ["nothing", ""],
  ])("is refused with %s", (_, text) => {
    expect(parseVkey(text)).toBeUndefined()
  })

  test("never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.uint8Array({ maxLength: 40 }), (name, id, key) => {
        expect(parseVkey(`${name}+${id}+${encodeBase64(key)}`)).toBeUndefined()
      }),
    )
  })

  test("cannot be made of a name or key the format cannot carry", () => {
    expect(() => noteKey("a b", "ed25519", log.raw)).toThrow(RangeError)
    expect(() => noteKey("a", "ed25519", log.raw.subarray(1))).toThrow(RangeError)
  })
})
