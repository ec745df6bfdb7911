/**
 * The service's own fresh signatures: what its signers returned, and how a thread that verifies finished texts compares them. A signature in a
 * text must be the one that the signer returned for that message. ECDSA itself is run before the answer for a sample, and for all others soon
 * after. Decision 0155.
 */
import { randomInt } from "node:crypto"
import { encodeBase64, equalBytes, sha256Hex } from "@runseal/canonical"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import type { VerifyP256 } from "@runseal/log/trust/trusted-keys"
import type { LogIdentity } from "../keys/embedded-log.ts"

/** Most signatures of a thread that ECDSA was not run for yet; beyond it, it is run before the answer. Some 1.5 KB each. */
export const LATER_MAX_SIGNATURES = 8192
/** Age from which a signature is verified before any new text, in milliseconds: half of the minute that is promised. */
export const LATER_MAX_AGE_MS = 30_000

const FORGOTTEN_AT_ONCE = 1024

/** The service's public keys, DER. */
export type OwnKeys = {
  readonly service: Uint8Array
  readonly log: Uint8Array
  /** Whether every signature of the service key was verified when its remote signer returned it. */
  readonly serviceIsVerified: boolean
}

/** A signature that is no signature of its key. */
export type WrongSignature = Pick<MadeSignature, "role" | "message">

type Later = {
  readonly role: SigningRole
  readonly spki: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly since: number
}

/** The signatures of one text. */
type OfText = {
  readonly verifySignature: VerifyP256
  /**
   * Called when the text was accepted: puts its signatures into the queue.
   * @param sampled runs ECDSA now for one signature of each key, chosen at random
   * @returns false when such a one is wrong; then nothing of the text is put into the queue
   */
  readonly accept: (sampled: boolean) => boolean
}

export type OwnSignatures = {
  /** Takes what the signers returned. */
  readonly learn: (made: readonly MadeSignature[]) => void
  readonly ofText: () => OfText
  /** Runs ECDSA for the oldest signature in the queue; false when there is none. */
  readonly verifyOne: () => boolean
  /** The same for all that are due before any new text. */
  readonly verifyDue: () => void
}

/** @param report called for each signature that is wrong */
export function openOwnSignatures(keys: OwnKeys, report: (wrong: WrongSignature) => void): OwnSignatures {
  const made = new Map<string, string>()
  const later: Later[] = []
  let done = 0

  const isRight = ({ spki, message, signature }: Later): boolean => verifyEcdsaP256(spki, message, signature)
  const verifyOne = (): boolean => {
    const next = later[done]
    if (next === undefined) return false
    done++
    // Many at once: removing one moves all others.
    if (done === FORGOTTEN_AT_ONCE) {
      later.splice(0, done)
      done = 0
    }
    if (!isRight(next)) report({ role: next.role, message: sha256Hex(next.message) })
    return true
  }
  const roleOf = (spki: Uint8Array): SigningRole | undefined =>
    equalBytes(spki, keys.log) ? "log" : equalBytes(spki, keys.service) ? "service" : undefined

  return {
    learn: signatures => {
      for (const { role, message, signature } of signatures) made.set(`${role} ${message}`, signature)
      for (const oldest of made.keys()) {
        if (made.size <= MADE_MAX_SIGNATURES) break
        made.delete(oldest)
      }
    },
    ofText: () => {
      const found: Later[] = []
      return {
        verifySignature: (spki, message, signature) => {
          const role = roleOf(spki)
          const returned = role && made.get(`${role} ${sha256Hex(message)}`)
          // Not from this batch, or the thread was started anew meanwhile.
          if (role === undefined || returned === undefined) return verifyEcdsaP256(spki, message, signature)
          if (returned !== encodeBase64(signature)) return false
          if (role === "service" && keys.serviceIsVerified) return true
          if (later.length - done + found.length >= LATER_MAX_SIGNATURES)
            return verifyEcdsaP256(spki, message, signature)
          // Copies: the message is part of the text, which would stay in memory with it.
          found.push({ role, spki, message: message.slice(), signature: signature.slice(), since: performance.now() })
          return true
        },
        accept: sampled => {
          const now = sampled ? (["service", "log"] as const).flatMap(role => oneOf(found, role)) : []
          if (!now.every(isRight)) return false
          later.push(...found.filter(one => !now.includes(one)))
          return true
        },
      }
    },
    verifyOne,
    verifyDue: () => {
      for (let next = later[done]; next !== undefined; next = later[done]) {
        if (performance.now() - next.since < LATER_MAX_AGE_MS) return
        verifyOne()
      }
    },
  }
}

/** One signature of a key, chosen at random; none when there is none. */
function oneOf(found: readonly Later[], wanted: SigningRole): readonly Later[] {
  const own = found.filter(({ role }) => role === wanted)
  const chosen = own.length === 0 ? undefined : own[randomInt(own.length)]
  return chosen === undefined ? [] : [chosen]
}

// What the signers of a log returned, so that the thread that reads a finished text can compare it: the text must hold these very bytes for these
// very messages. Decision 0155.

/** Who signed: the service key signs leaves, the log key checkpoints and timestamps. */
export type SigningRole = "service" | "log"

export type MadeSignature = {
  readonly role: SigningRole
  /** SHA-256 of the message, lowercase hex. */
  readonly message: string
  /** DER in base64. */
  readonly signature: string
}

/** Most signatures that are cached: several times those of the largest batch. What is older is verified instead of compared. */
const MADE_MAX_SIGNATURES = 8192

export type MadeSignatures = {
  /** The same log; what its keys sign is cached. */
  readonly log: LogIdentity
  /** Number of signatures made so far. */
  readonly count: () => number
  /** Those after the first so many, as far as they are cached. */
  readonly after: (count: number) => readonly MadeSignature[]
}

export function keepSignatures(log: LogIdentity): MadeSignatures {
  const signatures: MadeSignature[] = []
  let dropped = 0
  const add = (role: SigningRole, message: Uint8Array, signature: Uint8Array): void => {
    signatures.push({ role, message: sha256Hex(message), signature: encodeBase64(signature) })
    // Many at once: removing one moves all others.
    if (signatures.length > 2 * MADE_MAX_SIGNATURES) dropped += signatures.splice(0, MADE_MAX_SIGNATURES).length
  }
  const { service, log: logKey } = log.keys
  return {
    log: {
      ...log,
      keys: {
        service: {
          ...service,
          signAll: async messages => {
            const returned = await service.signAll(messages)
            for (const [at, signature] of returned.entries()) {
              const message = messages[at]
              if (message !== undefined) add("service", message, signature)
            }
            return returned
          },
        },
        log: {
          ...logKey,
          sign: message => {
            const signature = toLowS(logKey.sign(message))
            add("log", message, signature)
            return signature
          },
        },
      },
    },
    count: () => dropped + signatures.length,
    after: count => signatures.slice(Math.max(0, count - dropped)),
  }
}
