/** For whom the agent's present request is made: `--end-user-from`. */
import { AsyncLocalStorage } from "node:async_hooks"

/**
 * The access token of the request that is being handled, as the agent sent it to the gateway. It is read when a call or a review begins, and given on
 * by hand from there: what is sealed later is for the same person.
 */
export const endUserOf: AsyncLocalStorage<string | undefined> = new AsyncLocalStorage()

/**
 * The token of an Authorization header (RFC 6750 §2.1); undefined without one. A header of another scheme gives what is no token, so the call is not made:
 * somebody counts on the person being named.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ""
}
