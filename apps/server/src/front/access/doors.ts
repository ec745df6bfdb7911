/** The doors of the kept endpoints: whose key it is, and who may administer. docs/api.md, "Keys". */
import type { Context, MiddlewareHandler } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { callerOf } from "./caller.ts"
import type { LimitName } from "./rate-limit.ts"

export const KEY_HEADER = "X-Service-Key"

/**
 * The challenge that RFC 9110 §15.5.2 demands of a 401. No registered scheme carries its key in a header of its own; this name
 * is the customary one, and no browser asks its user anything for it. Decision 0082.
 */
const CHALLENGE = { "WWW-Authenticate": `ApiKey realm="runseal", header="${KEY_HEADER}"` }

/** One sentence for every reason: none tells whether a key ever existed. */
export const unauthorized = (): HttpError =>
  new HttpError(401, `A valid key is required in the header ${KEY_HEADER}.`, CHALLENGE)

/**
 * Every request behind this door has a caller. In open mode that is the anonymous one, whatever the header says; in locked
 * mode a header that is missing, malformed, unknown or of a revoked key is refused.
 * @param limitOf the limit that counts the request; absent where none does
 */
export function authenticate({ keys }: Pick<Deps, "keys">, limitOf?: (c: Context) => LimitName): MiddlewareHandler {
  return async (c, next) => {
    const admission = await keys.admit(c.req.header(KEY_HEADER), limitOf?.(c))
    if (admission === "nobody") throw unauthorized()
    c.set("caller", admission.caller)
    c.set("counted", admission.counted)
    await next()
  }
}

/** Refuses customers, before anything is said about what they asked for. In open mode there is nobody else to administer. */
export const adminOnly: MiddlewareHandler = async (c, next) => {
  if (callerOf(c).scope === "customer") throw new HttpError(403, "This endpoint needs an admin key.")
  await next()
}

/** The id of the caller's admin key. @throws HttpError 403 for the anonymous caller of open mode */
export function adminKeyOf(c: Context): number {
  const { scope, api_key_id } = callerOf(c)
  if (scope !== "admin") throw new HttpError(403, "This endpoint needs an admin key; in open mode there is none.")
  return api_key_id
}
