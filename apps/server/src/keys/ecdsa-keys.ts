/** The deployment's signing keys, ready to sign. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import { p256 } from "@noble/curves/nist.js"
import { encodeHex } from "@runseal/canonical"
import type { SignEcdsaP256, SignEd25519 } from "@runseal/log/entries/log-signing"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import { publicOrigin } from "@runseal/log/notes/checkpoint"
import type { NoteKey } from "@runseal/log/notes/signed-note"
import { noteKey } from "@runseal/log/notes/signed-note"
import type { KeyIds } from "../store/tables/signing-keys.ts"

/** The Ed25519 SPKI prefix is 12 bytes; the raw public key follows. */
const ED25519_SPKI_PREFIX_BYTES = 12

/** Signs a bounded batch of messages: DER, low-S, in their order. Rejects with SignerFailure when a remote signer does not sign. */
type SignAll = (messages: readonly Uint8Array[]) => Promise<readonly Uint8Array[]>

/** The signature of one message. Rejects as `signAll` does. */
export async function signOne({ signAll }: Pick<EcdsaKey, "signAll">, message: Uint8Array): Promise<Uint8Array> {
  const [signature] = await signAll([message])
  if (signature === undefined) throw new Error("a key gives a signature for each message")
  return signature
}

export type EcdsaKey = {
  readonly signAll: SignAll
  readonly spki: Uint8Array
  /**
   * Gives the same signature for the same message each time, low-S: the nonce is derived from key and message (RFC 6979). OpenSSL draws
   * a random nonce and is faster, so everything else is signed by it. Absent for a key that a remote signer holds.
   */
  readonly signRepeatably?: SignEcdsaP256
  /** For formats that sign otherwise. Absent for a key that a remote signer holds. */
  readonly privateKey?: KeyObject
  /** SHA-256 of the SPKI, 32 bytes: the log id for the log key. */
  readonly id: Uint8Array
  /** The same, lowercase hex. */
  readonly keyId: string
  /** Whether a remote signer holds it: then signing can fail, and takes as long as the signer does. */
  readonly isElsewhere: boolean
}

/** A key whose private half this process holds. */
export type OwnEcdsaKey = EcdsaKey & { readonly sign: SignEcdsaP256 }

export type Ed25519Key = {
  readonly sign: SignEd25519
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly spki: Uint8Array
  /** SHA-256 of the SPKI, lowercase hex. */
  readonly keyId: string
}

export type SigningKeys = {
  /** Signs leaves. */
  readonly service: EcdsaKey
  /** Signs entry checkpoints and timestamps. */
  readonly log: OwnEcdsaKey
  /** Signs the public C2SP checkpoint. */
  readonly checkpoint: Ed25519Key
  /**
   * HMAC secret for the hashes of addresses and agents: a bare hash of an IPv4 address can be guessed. A KeyObject, because
   * Node takes longer to make one of bytes than to compute an HMAC.
   */
  readonly originSecret: KeyObject
}

/** Messages that are signed in one go before the event loop continues: some 2 ms. */
const SIGNED_TOGETHER = 64

/** Signs one message after the other. */
export const signEach =
  (signNow: SignEcdsaP256): SignAll =>
  async messages => {
    const signatures: Uint8Array[] = []
    for (const message of messages) {
      signatures.push(toLowS(signNow(message)))
      if (signatures.length % SIGNED_TOGETHER === 0) await setImmediate()
    }
    return signatures
  }

/** An ECDSA P-256 signing key around a bare KeyObject, which signs twice as fast as one with options. */
export function ecdsaKey(privateKey: KeyObject): OwnEcdsaKey {
  const spki = new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" }))
  const id = keyIdOfSpki(spki)
  const signNow: SignEcdsaP256 = message => sign("sha256", message, privateKey)
  return {
    sign: signNow,
    signAll: signEach(signNow),
    signRepeatably: message => p256.sign(message, scalarOf(privateKey), { format: "der", lowS: true }),
    privateKey,
    spki,
    id,
    keyId: encodeHex(id),
    isElsewhere: false,
  }
}

/** The private value of a P-256 key, 32 bytes. RFC 7518 §6.2.2.1. */
const scalarOf = (privateKey: KeyObject): Uint8Array =>
  Uint8Array.from(Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url"))

/** The public half of a key that a remote signer holds; `withSigner` makes it sign. */
export function keyElsewhere(spki: Uint8Array): EcdsaKey {
  const id = keyIdOfSpki(spki)
  const signAll: SignAll = async () => {
    throw new Error("a remote signer holds the service key")
  }
  return { signAll, spki, id, keyId: encodeHex(id), isElsewhere: true }
}

/** A fresh ECDSA P-256 key. */
export const newEcdsaKey = (): OwnEcdsaKey => ecdsaKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)

/** An Ed25519 signing key. */
export function ed25519Key(privateKey: KeyObject): Ed25519Key {
  const spki = new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" }))
  const publicKey = spki.subarray(ED25519_SPKI_PREFIX_BYTES)
  return { sign: message => sign(null, message, privateKey), publicKey, spki, keyId: encodeHex(keyIdOfSpki(spki)) }
}

/** An Ed25519 public key, DER, as the note key of a log's public checkpoint. @param origin `<host> - <decimal tree id>` */
export const checkpointNoteKey = (spki: Uint8Array, origin: string): NoteKey =>
  noteKey(publicOrigin(origin), "ed25519", spki.subarray(ED25519_SPKI_PREFIX_BYTES))

/** The ids of the keys by role. */
export const idsOf = ({ service, log, checkpoint }: SigningKeys): KeyIds => ({
  service: service.keyId,
  log: log.keyId,
  checkpoint: checkpoint.keyId,
})

/** Whether two sets of keys are the same ones. */
export const sameIds = (a: KeyIds, b: KeyIds): boolean =>
  a.service === b.service && a.log === b.log && a.checkpoint === b.checkpoint
