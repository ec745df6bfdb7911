import { encodeBase64 } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { LOG_TIME, logKey, newKey, ORIGIN } from "../../test/own-log.ts"
import { parseEntryCheckpoint } from "../notes/checkpoint.ts"
import type { LogKey } from "../trust/trusted-keys.ts"
import { signedCheckpoint } from "./log-signing.ts"
import { isSignedCheckpoint } from "./verified-checkpoints.ts"

const MORE_THAN_REMEMBERED = 300

const keyOf = (key: typeof logKey): LogKey => ({
  logId: encodeBase64(key.id),
  spki: key.spki,
  keyDetails: "PKIX_ECDSA_P256_SHA_256",
  baseUrl: "https://runseal.local/log",
  validFrom: LOG_TIME,
})
const envelopeOf = (size: number): string =>
  signedCheckpoint({ origin: ORIGIN, size, root: new Uint8Array(32), logId: logKey.id }, logKey.sign)
const isSigned = (envelope: string, key: LogKey): boolean =>
  isSignedCheckpoint(envelope, parseEntryCheckpoint(envelope)!, key)

describe("a checkpoint's signature", () => {
  test("is valid again and again, however many checkpoints came between", () => {
    const key = keyOf(logKey)
    const first = envelopeOf(1)
    expect([isSigned(first, key), isSigned(first, key)]).toEqual([true, true])
    for (let size = 2; size <= MORE_THAN_REMEMBERED; size++) expect(isSigned(envelopeOf(size), key)).toBe(true)
    expect(isSigned(first, key)).toBe(true)
  })

  test("once valid vouches for no other text and no other key", () => {
    const key = keyOf(logKey)
    const envelope = envelopeOf(7)
    expect(isSigned(envelope, key)).toBe(true)
    expect(isSigned(envelope.replace("\n7\n", "\n8\n"), key)).toBe(false)
    expect(isSigned(envelope, keyOf(newKey()))).toBe(false)
  })
})
