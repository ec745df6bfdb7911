/** The secret of an API key: how it is made, spelt and remembered. Specification, "API key" and "Authentication". */
import { createHash, randomBytes } from "node:crypto"

/** What every secret begins with, so that scanners of source and logs know one. */
export const SECRET_PREFIX = "rsk_"
/** 192 bits: a secret is not guessed, and its plain SHA-256 not searched. */
const SECRET_BYTES = 24
const SECRET = new RegExp(`^${SECRET_PREFIX}[0-9a-f]{${2 * SECRET_BYTES}}$`)

/** A new secret. Whoever receives it is the last to see it. */
export const newSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("hex")

/**
 * What is stored of a secret and looked up: SHA-256 of its text, in hex; undefined for what is spelt unlike any secret.
 * The look-up needs no constant time: how long it takes tells of a hash, and nobody can choose the hash of a secret.
 */
export const secretHash = (secret: string): string | undefined =>
  SECRET.test(secret) ? createHash("sha256").update(secret).digest("hex") : undefined
