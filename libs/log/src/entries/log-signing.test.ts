import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { LOG_TIME, logKey, newEd25519, ORIGIN } from "../../test/own-log.ts"
import { isLowS } from "../keys/ecdsa-der.ts"
import { verifyEcdsaP256 } from "../keys/signatures.node.ts"
import { parseEntryCheckpoint } from "../notes/checkpoint.ts"
import { noteKey } from "../notes/signed-note.ts"
import { verifyNote } from "../notes/verified-note.ts"
import { signedEntryTimestampPayload } from "./log-entry.ts"
import { signedCheckpoint, signedEntryTimestamp, signedNote } from "./log-signing.ts"

const ROUNDS = 20
const head = { origin: ORIGIN, size: 7, root: new Uint8Array(32).fill(3), logId: logKey.id }

describe("a log", () => {
  test("signs the checkpoint of its entries in low-S form, in the name of its host", () => {
    for (let round = 0; round < ROUNDS; round++) {
      const checkpoint = parseEntryCheckpoint(signedCheckpoint(head, logKey.sign))!
      expect(checkpoint.signedText).toBe(`${ORIGIN}\n7\n${encodeBase64(head.root)}\n`)
      expect(isLowS(checkpoint.signature)).toBe(true)
      expect(verifyEcdsaP256(logKey.spki, utf8Encode(checkpoint.signedText), checkpoint.signature)).toBe(true)
    }
  })

  test("signs its promise in low-S form", () => {
    const promise = { body: "AA==", integratedTime: LOG_TIME, logId: logKey.id, logIndex: 1 }
    for (let round = 0; round < ROUNDS; round++) {
      const signature = signedEntryTimestamp(promise, logKey.sign)
      expect(isLowS(signature)).toBe(true)
      expect(verifyEcdsaP256(logKey.spki, utf8Encode(signedEntryTimestampPayload(promise)), signature)).toBe(true)
    }
  })

  test("signs no checkpoint of an origin cosign would misread", () => {
    expect(() => signedCheckpoint({ ...head, origin: "runseal.local" }, logKey.sign)).toThrow(RangeError)
  })

  test("passes on no signature that is not DER", () => {
    expect(() => signedCheckpoint(head, () => new Uint8Array(64))).toThrow(RangeError)
  })

  test("signs its public checkpoint as a note", () => {
    const key = newEd25519()
    const known = noteKey("runseal.local", "ed25519", key.raw)
    expect(verifyNote(signedNote("a\n", known, key.sign), [known])).toEqual({ text: "a\n", signers: [{ key: known }] })
  })
})
