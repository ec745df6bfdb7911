/** The end user of a request: the person behind it, as the access token says that the request carries. docs/identity.md. */
import type { EndUser } from "@runseal/core/artifacts/end-user"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import type { Context, MiddlewareHandler } from "hono"
import type { Deps } from "../../deps.ts"
import { endUserRequired } from "../../outbound/identity/end-user-tokens.ts"

declare module "hono" {
  interface ContextVariableMap {
    /** Set by `findEndUser` alone, from a token that was verified. */
    endUser: EndUser | undefined
  }
}

/** A mark in the environment of a request, which no caller can send. */
const OBSERVER = Symbol("request of what is over")

/** For requests that the service sends itself of what is over: spans, and events after a call. They carry no token, and need none. */
export const asObserver = (env: unknown): object => ({ ...(typeof env === "object" ? env : {}), [OBSERVER]: true })

const isObserver = ({ env }: Context): boolean => typeof env === "object" && env !== null && OBSERVER in env

/**
 * Middleware that verifies the token of a request, once its key was found. A caller who sends a token counts on it, so one that is not accepted
 * is refused also where none is required.
 */
export const findEndUser =
  ({ endUsers }: Pick<Deps, "endUsers">): MiddlewareHandler =>
  async (c, next) => {
    const token = c.req.header(END_USER_HEADER)
    if (token !== undefined) c.set("endUser", await endUsers.read(token))
    else if (endUsers.isRequired && !isObserver(c)) throw endUserRequired()
    await next()
  }
