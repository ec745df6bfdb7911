/** A service key that a remote signer holds: a signature counts once it verifies, and a signer that does not answer costs bounded time. */
import { createPublicKey, verify } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { encodeHex, utf8Encode } from "@runseal/canonical"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type SignerFault, type StandInSigner, startSigner } from "../../spec/harness/signer.ts"
import type { RemoteSigner } from "../options/table.ts"
import { signOne } from "./ecdsa-keys.ts"
import { fetchPublicKey, MAX_MESSAGES, remoteKey, SIGNER_RETRIES_MAX } from "./remote-signer.ts"

const folder = testFolder("runseal-signer")
const tokenFile = join(folder, "token")
let standIn: StandInSigner
let signer: RemoteSigner
const keyOf = (spki: Uint8Array) =>
  remoteKey(signer, { spki, id: keyIdOfSpki(spki), keyId: encodeHex(keyIdOfSpki(spki)) })
const MESSAGE = utf8Encode("a leaf")

beforeAll(async () => {
  standIn = await startSigner()
})
beforeEach(() => {
  standIn.fault = undefined
  writeFileSync(tokenFile, `${standIn.token}\n`)
  signer = { url: standIn.url, tokenFile }
})
afterAll(async () => {
  await standIn.close()
})

test("its public key is what the signer says", async () => {
  expect(await fetchPublicKey(signer)).toEqual(standIn.spki)
})

test("signatures are those of the key, in the order of the messages, and low-S whatever the signer gave", async () => {
  const key = keyOf(standIn.spki)
  const messages = Array.from({ length: 300 }, (_, at) => utf8Encode(`leaf ${at}`))
  const signatures = await key.signAll(messages)
  expect(standIn.counts.high).toBeGreaterThan(100)
  const publicKey = createPublicKey({ key: Buffer.from(key.spki), format: "der", type: "spki" })
  expect(signatures.length).toBe(messages.length)
  for (const [at, signature] of signatures.entries()) {
    expect(isLowS(signature)).toBe(true)
    expect(verify("sha256", messages[at]!, publicKey, signature)).toBe(true)
  }
})

test("a request to a signer that fails once is retried", async () => {
  const key = keyOf(standIn.spki)
  standIn.fault = "once unavailable"
  expect((await signOne(key, MESSAGE)).length).toBeGreaterThan(60)
})

describe("is refused, with an error that quotes nothing of the signer's answer", () => {
  const FAULTS: readonly (readonly [SignerFault, RegExp, attempts: number])[] = [
    ["unavailable", /answered 503/, 1 + SIGNER_RETRIES_MAX],
    ["silent", /no whole answer in time/, 1 + SIGNER_RETRIES_MAX],
    ["forbidden", /refused with 403/, 1],
    ["another key", /no signature of the pinned service key/, 1],
    ["another digest", /no signature of the pinned service key/, 1],
    ["no DER", /no signature of the pinned service key/, 1],
    ["long", /no JSON of a signature's size/, 1],
  ]
  test.each(FAULTS)("a signer that is %s", async (fault, says, attempts) => {
    const key = keyOf(standIn.spki)
    standIn.fault = fault
    const before = standIn.counts.asked
    await expect(key.signAll([MESSAGE])).rejects.toThrow(says)
    expect(standIn.counts.asked - before).toBe(attempts)
  })

  test("a signer that is not there", async () => {
    const gone = await startSigner()
    await gone.close()
    signer = { url: gone.url }
    await expect(keyOf(gone.spki).signAll([MESSAGE])).rejects.toThrow(/no whole answer in time/)
  })

  test("another token, none, and a file that holds none", async () => {
    writeFileSync(tokenFile, "another")
    await expect(fetchPublicKey(signer)).rejects.toThrow(/refused with 403/)
    writeFileSync(tokenFile, "two\nlines")
    await expect(fetchPublicKey(signer)).rejects.toThrow(/holds no token/)
    signer = { url: standIn.url, tokenFile: join(folder, "none") }
    await expect(fetchPublicKey(signer)).rejects.toThrow(/cannot be read/)
  })

  test("more messages than a batch ever has", async () => {
    const many = Array.from({ length: MAX_MESSAGES + 1 }, () => MESSAGE)
    await expect(keyOf(standIn.spki).signAll(many)).rejects.toThrow(/At most 1024/)
  })
})
