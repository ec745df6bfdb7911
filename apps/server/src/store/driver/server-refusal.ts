/** Why the first connection to PostgreSQL failed, in a sentence for the operator. */
import { driverCode, isConnectionFailure } from "./store-errors.ts"

/** SQLSTATEs of a refused connection, PostgreSQL documentation "Error Codes". */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "refused the user name or password",
  "28000": "refused the user",
  "3D000": "has no database of the given name",
  "53300": "has no connection left",
  "57P03": "is not ready to accept connections",
}

const SQLSTATE = /^[0-9A-Z]{5}$/
/** Of a text of the server, in characters: its reasons are shorter. */
const MAX_REASON = 200
/** A shorter user name or password is masked in quotes only: it may be part of any word. */
const MASKED_EVERYWHERE = 4

/**
 * The sentence holds the server's own reason, which only PostgreSQL knows: a missing line in pg_hba.conf, a parameter that a pooler refuses.
 * It is printed to the operator and never logged or sent to a caller.
 * @param login user and password of the connection, which are masked in the reason
 */
export function refusalSentence(
  at: string,
  error: unknown,
  login: { readonly user: unknown; readonly pass: unknown },
): string {
  const code = driverCode(error) ?? ""
  if (code === "NO_PRIMARY") return `${at}: no server takes writes.`
  if (isConnectionFailure(error)) return `${at} could not be reached (${code}).`
  if (!(error instanceof Error) || !SQLSTATE.test(code)) {
    const reason = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : ""
    return `${at} could not be used${reason}.`
  }
  const reason = `${oneLine(masked(error.message, [login.user, login.pass]))} (SQLSTATE ${code}).`
  const pooler = /startup parameter/.test(error.message) ? ` ${POOLER}` : ""
  return `${at} ${REFUSALS[code] ?? "could not be used"}: ${reason}${pooler}`
}

const POOLER =
  "A pooler such as PgBouncer does not pass on the timeouts that the service sets: give --database-pooling transaction, or the address of PostgreSQL itself."

const masked = (text: string, names: readonly unknown[]): string =>
  names
    .filter(name => typeof name === "string" && name !== "")
    .reduce<string>((left, name) => {
      const quoted = left.replaceAll(`"${name}"`, '"…"')
      return `${name}`.length < MASKED_EVERYWHERE ? quoted : quoted.replaceAll(`${name}`, "…")
    }, text)

/** Without control characters, which could act on a terminal. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .slice(0, MAX_REASON)
    .trim()
