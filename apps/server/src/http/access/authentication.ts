/** Authentication by API key or by a session, and the check for admin keys. docs/api.md, "Keys" and "Sessions". */
import type { LimitName } from "@runseal/api/endpoint"
import { KEY_HEADER } from "@runseal/core/wire/key-requests"
import { CSRF_HEADER } from "@runseal/core/wire/session-requests"
import type { Context, MiddlewareHandler } from "hono"
import { HttpError } from "../../http-error.ts"
import { callerOf } from "./caller.ts"
import type { Admission, KeyDirectory } from "./key-directory.ts"
import { type CookieParts, sessionTokenOf } from "./session-cookie.ts"
import { type BrowserSession, isCsrfToken, type Sessions } from "./sessions.ts"

/**
 * The challenge that RFC 9110 §15.5.2 demands of a 401. No registered scheme sends its key in a header of its own; this name
 * is the customary one, and no browser opens a password dialog for it. Decision 0082.
 */
const CHALLENGE = { "WWW-Authenticate": `ApiKey realm="runseal", header="${KEY_HEADER}"` }

/** Where an operator without an admin key finds the way back in. */
const BREAK_GLASS = "where none is left, the operator makes one on the server's machine with --mint-admin-key."

/** The same sentence for every reason, so that it does not reveal whether a key ever existed. */
export const unauthorized = (): HttpError =>
  new HttpError(
    "key_required",
    `A valid key is required in the header ${KEY_HEADER}. An admin key makes keys; ${BREAK_GLASS}`,
    CHALLENGE,
  )

type Doorkeepers = CookieParts & { readonly keys: KeyDirectory; readonly sessions: Sessions }

/**
 * Middleware that finds the caller. In open mode that is the anonymous caller, whatever the header holds; in locked mode a header
 * that is missing, malformed, unknown or of a revoked key is refused. Without the header the session of the cookie counts.
 * @param limit the rate limit of its requests; absent where there is none
 */
export function authenticate(deps: Doorkeepers, limit?: LimitName): MiddlewareHandler {
  return async (c, next) => {
    const key = c.req.header(KEY_HEADER)
    const session = key === undefined ? await sessionOf(c, deps) : undefined
    const admission: Admission = await (session === undefined
      ? deps.keys.admit(key, limit)
      : deps.keys.admitHash(session.secret_hash, limit))
    if (admission === "nobody") throw unauthorized()
    if (session !== undefined && admission.caller.scope !== "anonymous") refuseForgery(c, session)
    c.set("caller", admission.caller)
    c.set("counted", admission.counted)
    c.set("session", session)
    await next()
  }
}

async function sessionOf(c: Context, deps: Doorkeepers): Promise<BrowserSession | undefined> {
  const token = sessionTokenOf(c, deps)
  return token === undefined ? undefined : await deps.sessions.find(token)
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD"])

/**
 * A browser adds the cookie to requests that pages of others make. The header is needed besides, whose value only a page of this service
 * knows. @throws HttpError 403
 */
function refuseForgery(c: Context, session: BrowserSession): void {
  if (READS.has(c.req.method) || isCsrfToken(c.req.header(CSRF_HEADER), session)) return
  throw new HttpError(
    "csrf_token_required",
    `With a session cookie this request needs the header ${CSRF_HEADER} with the csrf_token of GET /session.`,
  )
}

/** Refuses customer keys where administrators and auditors read. */
export const readersOnly: MiddlewareHandler = async (c, next) => {
  if (callerOf(c).scope === "customer") throw adminKeyRequired("a customer key")
  await next()
}

/** An auditor's key reads and verifies, and does nothing. */
export const auditorsRead: MiddlewareHandler = async (c, next) => {
  if (callerOf(c).scope === "auditor" && !READS.has(c.req.method))
    throw new HttpError("read_only_key", "This is the key of an auditor: it reads and verifies, and does nothing.")
  await next()
}

const adminKeyRequired = (given: string): HttpError =>
  new HttpError("admin_key_required", `This endpoint needs an admin key, and this is ${given}; ${BREAK_GLASS}`)

/** Refuses customer keys and auditors before anything else of the request is read. In open mode the anonymous caller administers. */
export const adminOnly: MiddlewareHandler = async (c, next) => {
  const { scope } = callerOf(c)
  if (scope === "customer") throw adminKeyRequired("a customer key")
  if (scope === "auditor") throw adminKeyRequired("the key of an auditor")
  await next()
}

/** The id of the caller's admin key. @throws HttpError 403 for the anonymous caller of open mode */
export function adminKeyOf(c: Context): number {
  const { scope, api_key_id } = callerOf(c)
  if (scope !== "admin")
    throw new HttpError("admin_key_required", "This endpoint needs an admin key; in open mode there is none.")
  return api_key_id
}
