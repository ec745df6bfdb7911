/**
 * The signing keys and the origin secret, in one file that is written whole or not at all. While keys are being changed, a second file
 * beside it holds the next keys. Trusted here: the keys directory and its file mode. A user who can read these files can sign as the
 * service and as the log.
 */
import { createPrivateKey, createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"
import { chmodSync, renameSync } from "node:fs"
import { join } from "node:path"
import { decodeHex } from "@runseal/canonical"
import type { KeyRole } from "@runseal/core/vocabulary/key-roles"
import { parseP256Spki, pemToSpki, spkiToPem } from "@runseal/log/keys/spki"
import * as v from "valibot"
import { StartupError } from "../options/startup-error.ts"
import { makeFolder } from "../store/driver/make-folder.ts"
import type { KeyIds } from "../store/tables/signing-keys.ts"
import { type EcdsaKey, ecdsaKey, ed25519Key, idsOf, keyElsewhere, type SigningKeys, sameIds } from "./ecdsa-keys.ts"
import { inKeysFolder, syncDirectory, whileLocked } from "./keys-folder.ts"
import { readOwnJson, storeOwnJson } from "./own-files.ts"

const KEYS_FILE = "signing-keys.json"
/** The next keys. They have no effect until the database lists them as in force. */
const NEXT_FILE = "next-signing-keys.json"
const KEYS_KIND = "runseal.keys.v1"
const SECRET_BYTES = 32

const keysSchema = v.strictObject({
  kind: v.literal(KEYS_KIND),
  service_key: v.string(),
  log_key: v.string(),
  checkpoint_key: v.string(),
  origin_secret: v.string(),
})
type KeysFile = v.InferOutput<typeof keysSchema>

/**
 * Reads the keys; undefined when there are none yet.
 * @throws StartupError when the file cannot be read, is damaged or open to others
 */
export const readKeys = (directory: string): SigningKeys | undefined => readKeysOf(directory, KEYS_FILE)

/** Reads the next keys of a change that has started; undefined when there is none. @throws StartupError */
export const readNextKeys = (directory: string): SigningKeys | undefined => readKeysOf(directory, NEXT_FILE)

function readKeysOf(directory: string, name: string): SigningKeys | undefined {
  const file = readOwnJson(directory, name, keysSchema)
  return file === undefined ? undefined : fromFile(file, join(directory, name))
}

/**
 * The keys with these ids. A change of keys that was committed, but whose file was not renamed yet, is finished here.
 * @returns "none" when the folder holds no keys, "others" when it holds other keys
 * @throws StartupError
 */
export function findSigningKeys(directory: string, ids: KeyIds): SigningKeys | "none" | "others" {
  const keys = readKeys(directory)
  if (keys !== undefined && sameIds(idsOf(keys), ids)) return keys
  const next = readNextKeys(directory)
  if (next !== undefined && sameIds(idsOf(next), ids)) {
    takeNextKeys(directory, ids)
    return next
  }
  // Read once more: between the two reads another process may have renamed the file.
  const again = readKeys(directory)
  if (again !== undefined && sameIds(idsOf(again), ids)) return again
  return again === undefined ? "none" : "others"
}

/**
 * Makes and stores fresh keys. Of two processes that try at once one wins, and both then read the winner's.
 * @param elsewhere public half, DER, of a service key that a remote signer holds
 * @throws StartupError when the folder cannot be used
 */
export function createKeys(directory: string, elsewhere?: Uint8Array): SigningKeys {
  inKeysFolder(directory, () => {
    makeFolder(directory)
    chmodSync(directory, 0o700)
    const secret = randomBytes(SECRET_BYTES).toString("hex")
    const service_key = elsewhere === undefined ? newKey.service() : spkiToPem(elsewhere)
    const fresh = { service_key, log_key: newKey.log(), checkpoint_key: newKey.checkpoint() }
    const file: KeysFile = { kind: KEYS_KIND, ...fresh, origin_secret: secret }
    storeOwnJson(directory, KEYS_FILE, file)
  })
  const keys = readKeys(directory)
  if (keys === undefined) throw new StartupError(`The keys could not be stored in ${directory}.`)
  return keys
}

/**
 * Makes and stores the next keys: fresh ones for these roles, the others as they are. Of two processes that try at once one wins, and
 * both then read the winner's.
 * @param elsewhere public half, DER, of a next service key that a remote signer holds
 * @throws StartupError when the folder cannot be used
 */
export function createNextKeys(directory: string, roles: readonly KeyRole[], elsewhere?: Uint8Array): SigningKeys {
  const makeKey = (role: KeyRole): string =>
    role === "service" && elsewhere !== undefined ? spkiToPem(elsewhere) : newKey[role]()
  const fresh = Object.fromEntries(roles.map(role => [`${role}_key`, makeKey(role)]))
  whileLocked(directory, () => {
    const file = readOwnJson(directory, KEYS_FILE, keysSchema)
    if (file === undefined) throw new StartupError(`There are no signing keys in ${directory}.`)
    storeOwnJson(directory, NEXT_FILE, { ...file, ...fresh })
  })
  const next = readNextKeys(directory)
  if (next === undefined) throw new StartupError(`The keys could not be stored in ${directory}.`)
  return next
}

/**
 * Replaces the keys by the next keys; the old private keys are gone then. Does nothing when another process did so before, even if a
 * further change has started since: keys that were never committed to the log must not replace those in force.
 * @param ids of the keys that are in force
 */
export function takeNextKeys(directory: string, ids: KeyIds): void {
  // Under the lock, so that no further change starts between the check of the file and its rename.
  whileLocked(directory, () => {
    const keys = readNextKeys(directory)
    if (keys === undefined || !sameIds(idsOf(keys), ids)) return
    renameSync(join(directory, NEXT_FILE), join(directory, KEYS_FILE))
    syncDirectory(directory)
  })
}

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()
const newP256 = (): string => pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)
const newKey: Readonly<Record<KeyRole, () => string>> = {
  service: newP256,
  log: newP256,
  checkpoint: () => pem(generateKeyPairSync("ed25519").privateKey),
}

function fromFile(file: KeysFile, path: string): SigningKeys {
  const originSecret = decodeHex(file.origin_secret)
  if (originSecret?.length !== SECRET_BYTES) throw new StartupError(`${path} holds a damaged origin secret.`)
  try {
    return {
      service: serviceKey(file.service_key),
      log: ecdsaKey(p256(file.log_key)),
      checkpoint: ed25519Key(createPrivateKey(file.checkpoint_key)),
      originSecret: createSecretKey(originSecret),
    }
  } catch (cause) {
    throw new StartupError(`${path} holds a damaged key; restore it from your backup.`, { cause })
  }
}

/** For a key that a remote signer holds, the file holds the public half only. */
function serviceKey(text: string): EcdsaKey {
  const spki = pemToSpki(text)
  if (spki === undefined) return ecdsaKey(p256(text))
  if (parseP256Spki(spki) === undefined) throw new Error("not a P-256 key")
  return keyElsewhere(spki)
}

function p256(text: string): KeyObject {
  const key = createPrivateKey(text)
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("not a P-256 key")
  return key
}
