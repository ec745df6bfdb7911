import { encodeBase64 } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { body, logged, logKey, ORIGIN } from "../../test/own-log.ts"
import { formatCheckpoint, parseCheckpoint, parseEntryCheckpoint, parseOrigin, publicOrigin } from "./checkpoint.ts"
import { formatNote, noteSignatureLine } from "./signed-note.ts"

const ROOT = encodeBase64(new Uint8Array(32).fill(7))

describe("a checkpoint body", () => {
  test("is origin, size, root and extension lines", () => {
    const checkpoint = {
      origin: "log.example/a",
      size: 20_852_163,
      root: new Uint8Array(32).fill(7),
      extensions: ["x"],
    }
    expect(formatCheckpoint(checkpoint)).toBe(`log.example/a\n20852163\n${ROOT}\nx\n`)
    expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual(checkpoint)
  })

  test("reads back", () => {
    const line = fc.string({ unit: "grapheme", minLength: 1 }).filter(text => !text.includes("\n"))
    const root = fc.uint8Array({ minLength: 32, maxLength: 32 })
    const size = fc.maxSafeInteger().map(Math.abs)
    fc.assert(
      fc.property(line, size, root, fc.array(line, { maxLength: 3 }), (origin, leaves, hash, extensions) => {
        const checkpoint = { origin, size: leaves, root: hash, extensions }
        expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual(checkpoint)
      }),
    )
  })

  test.each([
    ["no final newline", `log\n1\n${ROOT}`],
    ["an empty origin", `\n1\n${ROOT}\n`],
    ["two lines", "log\n1\n"],
    ["a leading zero in its size", `log\n01\n${ROOT}\n`],
    ["a signed size", `log\n+1\n${ROOT}\n`],
    ["a negative size", `log\n-1\n${ROOT}\n`],
    ["a size of 2^53", `log\n9007199254740992\n${ROOT}\n`],
    ["no size", `log\n\n${ROOT}\n`],
    ["a root of 31 bytes", `log\n1\n${encodeBase64(new Uint8Array(31))}\n`],
    ["a root of 33 bytes", `log\n1\n${encodeBase64(new Uint8Array(33))}\n`],
    ["a root without padding", `log\n1\n${ROOT.replace("=", "")}\n`],
    ["an empty extension line", `log\n1\n${ROOT}\n\n`],
    ["an empty line before an extension", `log\n1\n${ROOT}\n\nx\n`],
    ["CRLF", `log\r\n1\r\n${ROOT}\r\n`],
    ["nothing", ""],
  ])("is refused with %s", (_, text) => {
    expect(parseCheckpoint(text)).toBeUndefined()
  })
})

describe("a log origin", () => {
  test.each([
    ["runseal.local - 4127", { host: "runseal.local", treeId: "4127" }],
    ["rekor.sigstore.dev - 1193050959916656506", { host: "rekor.sigstore.dev", treeId: "1193050959916656506" }],
    ["a - 0", { host: "a", treeId: "0" }],
  ])("%s", (origin, expected) => {
    expect(parseOrigin(origin)).toEqual(expected)
    expect(publicOrigin(origin)).toBe(`${expected.host}/${expected.treeId}`)
  })

  test.each([
    "runseal.local",
    "runseal.local - ",
    "runseal.local - x",
    "runseal.local - 01",
    "runseal.local - -1",
    "runseal.local - 9223372036854775808",
    "runseal.local -1",
    "runseal.local:8080 - 1",
    "Runseal.local - 1",
    "runseal.local/log - 1",
    "-runseal.local - 1",
    " - 1",
    "runseal.local - 1\n",
    `${"a".repeat(254)} - 1`,
    "",
  ])("%j is none", origin => {
    expect(parseOrigin(origin)).toBeUndefined()
  })
})

describe("the checkpoint inside an entry", () => {
  const { envelope } = logged(body()).inclusionProof.checkpoint

  test("is signed once, in the name of its origin's host", () => {
    const checkpoint = parseEntryCheckpoint(envelope)!
    expect(checkpoint).toMatchObject({ origin: ORIGIN, host: "runseal.local", size: 7, extensions: [] })
    expect(checkpoint.keyHint).toBe(Buffer.from(logKey.id).toString("hex").slice(0, 8))
    expect(envelope.startsWith(`${checkpoint.signedText}\n—`)).toBe(true)
  })

  const line = envelope.slice(envelope.indexOf("—"))
  test.each([
    ["a second signature", envelope + line],
    ["another signature name", envelope.replace("— runseal.local", "— runseal")],
    ["an extension line", envelope.replace("\n\n", "\nx\n\n")],
    ["an origin without tree id", envelope.replace(" - 4127", "")],
    ["no signature", envelope.slice(0, envelope.indexOf("—"))],
    ["a paragraph more", `paragraph\n\n${envelope}`],
    ["a byte order mark", `\ufeff${envelope}`],
    ["CRLF", envelope.replaceAll("\n", "\r\n")],
  ])("is refused with %s", (_, text) => {
    expect(text).not.toBe(envelope)
    expect(parseEntryCheckpoint(text)).toBeUndefined()
  })

  test("never makes the reader throw, and has one spelling", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(envelope.length), (text, at) => {
        const mixed = envelope.slice(0, at) + text + envelope.slice(at)
        const parsed = parseEntryCheckpoint(mixed)
        if (parsed === undefined) return
        const { host, keyHint, signature, ...checkpoint } = parsed
        const line = noteSignatureLine({ name: host, keyId: keyHint, signature })
        expect(formatNote(formatCheckpoint(checkpoint), [line])).toBe(mixed)
      }),
    )
  })
})
