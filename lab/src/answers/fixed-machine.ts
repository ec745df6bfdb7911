/**
 * A machine on which everything is the same each time: its clock moves only when it is moved, and its random numbers, keys and signatures
 * follow from counters. It replaces what this process has of `node:crypto` and of the clock, and nothing of our own code.
 */
import crypto, { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { p256 } from "@noble/curves/nist.js"

const BIRTH_MS = Date.parse("2026-01-15T12:00:00.000Z")
/** PKCS #8 around the seed of an Ed25519 key. RFC 8410 section 7. */
const ED25519_PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex")

export type FixedMachine = {
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly advance: (ms: number) => void
}

/** Replaces clock and randomness of this process for good. */
export function fixMachine(): FixedMachine {
  let now = BIRTH_MS
  let drawn = 0
  const bytes = (size: number): Buffer => {
    const blocks = Array.from({ length: Math.ceil(size / 32) }, () =>
      createHash("sha256").update(`${drawn++}`).digest(),
    )
    return Buffer.concat(blocks).subarray(0, size)
  }
  const uuid = (): string =>
    bytes(16)
      .toString("hex")
      .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5")
  const makeKey = (type: string): KeyObject =>
    type === "ec"
      ? ecKey(bytes(32))
      : createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, bytes(32)]), format: "der", type: "pkcs8" })
  const { sign } = crypto
  Object.assign(crypto, {
    randomBytes: bytes,
    randomUUID: uuid,
    randomInt: (first: number, end?: number) => (end === undefined ? 0 : first),
    generateKeyPairSync: (type: string) => {
      const privateKey = makeKey(type)
      return { privateKey, publicKey: createPublicKey(privateKey) }
    },
    sign: (algorithm: string | null, data: Uint8Array, key: KeyObject) =>
      key.asymmetricKeyType === "ec"
        ? Buffer.from(p256.sign(data, scalarOf(key), { format: "der" }))
        : sign(algorithm, data, key),
  })
  syncBuiltinESMExports()
  Object.assign(globalThis.crypto, { randomUUID: uuid })
  Date.now = () => now
  performance.now = () => now - BIRTH_MS
  return {
    nowMs: () => now,
    advance: ms => {
      now += ms
    },
  }
}

function ecKey(scalar: Uint8Array): KeyObject {
  const point = p256.getPublicKey(scalar, false)
  const text = (part: Uint8Array): string => Buffer.from(part).toString("base64url")
  const coordinates = { d: text(scalar), x: text(point.subarray(1, 33)), y: text(point.subarray(33)) }
  return createPrivateKey({ key: { kty: "EC", crv: "P-256", ...coordinates }, format: "jwk" })
}

const scalarOf = (key: KeyObject): Uint8Array => Buffer.from(key.export({ format: "jwk" }).d ?? "", "base64url")
