/**
 * What the signers of a log returned, so that the thread that reads a finished text can compare it: the text must hold these very bytes for these
 * very messages. Decision 0155.
 */
import { encodeBase64, sha256Hex } from "@runseal/canonical"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import type { LogIdentity } from "./embedded-log.ts"

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
export const MADE_MAX_SIGNATURES = 8192

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
