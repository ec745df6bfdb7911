/** In sync mode an answer says that the outside log holds the record too. */
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"

/** Seconds after which a caller may ask again for what is on its way. */
const RETRY_AFTER_SECONDS = "5"

/**
 * Waits until the outside log holds an entry, and with it all entries before that it gets; at once where answers do not wait for it, and
 * for an entry from before the log was named.
 * @param what is sealed, as a caller is told of it
 * @throws HttpError 503 when it does not hold it in time: the record stands, and its delivery goes on
 */
export async function untilOutside({ outside }: Pick<Deps, "outside">, what: string, logIndex: number): Promise<void> {
  if (outside === undefined || outside.log.mode === "async" || (await outside.untilPassed(logIndex))) return
  const sentence = `${what} is sealed, and its entry in the outside log is still on its way; a repeat under the same Idempotency-Key waits for it.`
  throw new HttpError(503, sentence, { "Retry-After": RETRY_AFTER_SECONDS })
}
