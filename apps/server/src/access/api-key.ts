/** The secret of an API key: how it is made, spelt and remembered. docs/api.md, "Keys" and "POST /admin/keys". */
import { createHash, randomBytes } from "node:crypto"

/** What every secret begins with, so that a scanner of sources and logs knows one when it sees it. */
const PREFIX = "rsk_"
/** 192 random bits: neither the secret nor a text of its hash can be found by trying. */
const SECRET_BYTES = 24
const SECRET = new RegExp(`^${PREFIX}[0-9a-f]{${2 * SECRET_BYTES}}$`)

/** A new secret. Whoever receives it is the last to see it. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("hex")

/** Whether a text is spelt as secrets are; anything else is no key, and nobody needs to be asked. */
export const isSecret = (text: string): boolean => SECRET.test(text)

/**
 * What is stored of a secret, and looked up: SHA-256 of its text, in hex. The look-up may take its time in the open: that
 * tells something of a hash, and nobody can choose the secret that has a given one.
 */
export const secretHash = (secret: string): string => createHash("sha256").update(secret).digest("hex")
