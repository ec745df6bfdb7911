import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { encodeHex, sha256Hex, utf8Encode } from "@runseal/canonical"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures.node"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { bothDatabases } from "../../spec/database/databases.ts"
import { type StandInSigner, startSigner } from "../../spec/harness/signer.ts"
import { newEcdsaKey } from "./ecdsa-keys.ts"
import { remoteKey, SignerFailure } from "./remote-signer.ts"
import { openRepeatableSigning } from "./repeatable-signing.ts"

const MESSAGE = utf8Encode("signed attributes")
const folder = testFolder("runseal-repeat")
const tokenFile = join(folder, "token")
let standIn: StandInSigner
beforeAll(async () => {
  standIn = await startSigner()
  writeFileSync(tokenFile, standIn.token)
})
beforeEach(() => {
  standIn.fault = undefined
})
afterAll(async () => {
  await standIn.close()
})
const remote = () => {
  const { spki, url } = standIn
  return remoteKey({ url, tokenFile }, { spki, id: keyIdOfSpki(spki), keyId: encodeHex(keyIdOfSpki(spki)) })
}

bothDatabases("a signature that is the same each time", open => {
  test("of a key that is here needs no database: RFC 6979 gives it in every process", async () => {
    const [db, key] = [await open(), newEcdsaKey()]
    const signature = await openRepeatableSigning(key, db)(MESSAGE)
    expect(verifyEcdsaP256(key.spki, MESSAGE, signature)).toBe(true)
    expect(isLowS(signature)).toBe(true)
    expect(await openRepeatableSigning(key, db)(MESSAGE)).toEqual(signature)
    expect(await openRepeatableSigning(key, db)(utf8Encode("other"))).not.toEqual(signature)
    expect(Number((await db.read(({ sql }) => sql`select count(*) from repeated_signature`))[0]?.count)).toBe(0)
  })

  test("of a remote signer is the first one that any server got from it, also while the signer is away", async () => {
    const db = await open()
    const [one, two] = [openRepeatableSigning(remote(), db), openRepeatableSigning(remote(), db)]
    const before = standIn.counts.asked
    const signatures = await Promise.all([one, one, two, two].map(sign => sign(MESSAGE)))
    expect(new Set(signatures.map(encodeHex)).size).toBe(1)
    expect(standIn.counts.asked - before).toBeLessThanOrEqual(2)
    standIn.fault = "unavailable"
    const [signature] = signatures
    expect(await openRepeatableSigning(remote(), db)(MESSAGE)).toEqual(signature)
    expect(verifyEcdsaP256(standIn.spki, MESSAGE, signature!) && isLowS(signature!)).toBe(true)
    await expect(one(utf8Encode("another message"))).rejects.toThrow(SignerFailure)
    standIn.fault = undefined
    expect(isLowS(await one(utf8Encode("another message")))).toBe(true)
  })

  test("that somebody wrote into the database counts only when it is one", async () => {
    const db = await open()
    const digest = sha256Hex(MESSAGE)
    await db.read(({ sql }) => sql`insert into repeated_signature values (${digest}, ${utf8Encode("forged")})`)
    const signature = await openRepeatableSigning(remote(), db)(MESSAGE)
    expect(verifyEcdsaP256(standIn.spki, MESSAGE, signature)).toBe(true)
    expect(await openRepeatableSigning(remote(), db)(MESSAGE)).toEqual(signature)
  })
})
