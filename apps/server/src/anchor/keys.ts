/**
 * The deployment's signing keys and its origin secret, in one file that is written whole or not at all.
 * Trusted here: the keys directory and its file mode. Whoever reads this file can sign as the service and as the log.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { decodeHex, encodeBase64, encodeHex, parseStrictJson } from "@runseal/canonical"
import type { SignEcdsaP256, SignEd25519 } from "@runseal/core/transparency-log/log-signing"
import type { NoteKey } from "@runseal/core/transparency-log/signed-note"
import { noteKey } from "@runseal/core/transparency-log/signed-note"
import { keyIdOfSpki } from "@runseal/core/transparency-log/spki"
import * as v from "valibot"
import { StartupError } from "../startup-error.ts"
import { inKeysFolder } from "./keys-folder.ts"

const KEYS_FILE = "signing-keys.json"
const KEYS_KIND = "runseal.keys.v1"
const SECRET_BYTES = 32
/** The Ed25519 SPKI prefix is 12 bytes; what follows is the raw public key. */
const ED25519_SPKI_PREFIX_BYTES = 12

export type EcdsaKey = {
  readonly sign: SignEcdsaP256
  readonly spki: Uint8Array
  /** SHA-256 of the SPKI, 32 bytes: the log id for the log key. */
  readonly id: Uint8Array
  /** The same, lowercase hex. */
  readonly keyId: string
}

export type SigningKeys = {
  /** Signs leaves. */
  readonly service: EcdsaKey
  /** Signs entry checkpoints and timestamps. */
  readonly log: EcdsaKey
  /** Signs the public C2SP checkpoint. */
  readonly checkpoint: { readonly sign: SignEd25519; readonly publicKey: Uint8Array; readonly keyId: string }
  /** HMAC secret for the hashes of addresses and agents: a bare hash of an IPv4 address can be guessed. */
  readonly originSecret: Uint8Array
}

const keysSchema = v.strictObject({
  kind: v.literal(KEYS_KIND),
  service_key: v.string(),
  log_key: v.string(),
  checkpoint_key: v.string(),
  origin_secret: v.string(),
})
type KeysFile = v.InferOutput<typeof keysSchema>

/** An ECDSA P-256 signing key around a bare KeyObject, which signs twice as fast as one with options. */
export function ecdsaKey(privateKey: KeyObject): EcdsaKey {
  const spki = new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" }))
  const id = keyIdOfSpki(spki)
  return { sign: message => sign("sha256", message, privateKey), spki, id, keyId: encodeHex(id) }
}

/** A fresh ECDSA P-256 key. */
export const newEcdsaKey = (): EcdsaKey => ecdsaKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)

/** The checkpoint key under a log host's name, as C2SP signed-note wants it. */
export const checkpointNoteKey = (keys: SigningKeys, host: string): NoteKey =>
  noteKey(host, "ed25519", keys.checkpoint.publicKey)

function checkpointKey(privateKey: KeyObject): SigningKeys["checkpoint"] {
  const spki = new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" }))
  const publicKey = spki.subarray(ED25519_SPKI_PREFIX_BYTES)
  return { sign: message => sign(null, message, privateKey), publicKey, keyId: encodeHex(keyIdOfSpki(spki)) }
}

function fromFile(file: KeysFile, path: string): SigningKeys {
  const originSecret = decodeHex(file.origin_secret)
  if (originSecret?.length !== SECRET_BYTES) throw new StartupError(`${path} holds a damaged origin secret.`)
  try {
    return {
      service: ecdsaKey(p256(file.service_key)),
      log: ecdsaKey(p256(file.log_key)),
      checkpoint: checkpointKey(createPrivateKey(file.checkpoint_key)),
      originSecret,
    }
  } catch (cause) {
    throw new StartupError(`${path} holds a damaged key; restore it from your backup.`, { cause })
  }
}

function p256(pem: string): KeyObject {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("not a P-256 key")
  return key
}

/** A file that only its owner may read; undefined when it is not there. */
function readOwnFile(path: string): Uint8Array | undefined {
  if (!existsSync(path)) return undefined
  if ((statSync(path).mode & 0o077) !== 0)
    throw new StartupError(`${path} can be read by other users; set its mode to 0600 and consider the keys exposed.`)
  return readFileSync(path)
}

/**
 * Reads the keys; undefined when there are none yet.
 * @throws StartupError when the file cannot be read, is damaged or open to others
 */
export function readKeys(directory: string): SigningKeys | undefined {
  const path = join(directory, KEYS_FILE)
  const bytes = inKeysFolder(directory, () => readOwnFile(path))
  if (bytes === undefined) return undefined
  let parsed: v.SafeParseResult<typeof keysSchema>
  try {
    parsed = v.safeParse(keysSchema, parseStrictJson(bytes))
  } catch (cause) {
    throw new StartupError(`${path} is damaged; restore it from your backup.`, { cause })
  }
  if (!parsed.success) throw new StartupError(`${path} is not a key file of this release; restore it from your backup.`)
  return fromFile(parsed.output, path)
}

/**
 * Makes and stores fresh keys. Of two processes that try at once one wins, and both then read the winner's.
 * @throws StartupError when the folder cannot be used
 */
export function createKeys(directory: string): SigningKeys {
  inKeysFolder(directory, () => storeNewKeys(directory))
  const keys = readKeys(directory)
  if (keys === undefined) throw new StartupError(`The keys could not be stored in ${directory}.`)
  return keys
}

function storeNewKeys(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
  const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()
  const file: KeysFile = {
    kind: KEYS_KIND,
    service_key: pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
    log_key: pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
    checkpoint_key: pem(generateKeyPairSync("ed25519").privateKey),
    origin_secret: randomBytes(SECRET_BYTES).toString("hex"),
  }
  const path = join(directory, KEYS_FILE)
  const temporary = `${path}.${randomBytes(8).toString("hex")}`
  const fd = openSync(temporary, "wx", 0o600)
  try {
    writeSync(fd, JSON.stringify(file, undefined, 2))
    fsyncSync(fd)
    linkSync(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  } finally {
    closeSync(fd)
    rmSync(temporary, { force: true })
  }
  syncDirectory(directory)
}

/** Makes a directory's entries durable. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Base64 of a key's SPKI, as trust documents carry it. */
export const spkiBase64 = (key: EcdsaKey): string => encodeBase64(key.spki)
