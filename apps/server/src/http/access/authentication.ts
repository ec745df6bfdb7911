/**
 * Who asks: authentication by API key or by a session, the end user behind the request, and the checks of what the caller may ask for. docs/api.md,
 * "Keys" and "Sessions".
 */
import type { LimitName } from "@runseal/api/endpoint"
import type { EndUser } from "@runseal/core/artifacts/end-user"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import { KEY_HEADER } from "@runseal/core/wire/key-requests"
import { CSRF_HEADER } from "@runseal/core/wire/session-requests"
import { UNATTENDED_HEADER } from "@runseal/core/wire/session-use"
import type { Context, MiddlewareHandler } from "hono"
import { HttpError } from "../../http-error.ts"
import { type EndUserTokens, endUserRequired } from "../../outbound/identity/end-user-tokens.ts"
import { callerOf, keyCallerOf, type PersonCaller } from "./caller.ts"
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
    const admission =
      session === undefined ? await deps.keys.admit(key, limit) : await admitSession(deps, session, limit)
    if (admission === "nobody") throw unauthorized()
    if (session !== undefined && admission.caller.scope !== "anonymous") refuseForgery(c, session)
    c.set("caller", admission.caller)
    c.set("counted", admission.counted)
    c.set("session", session)
    await next()
  }
}

/** A person is who the session says; its requests are counted by the rate limit itself. */
async function admitSession(
  { keys }: Doorkeepers,
  { holder }: BrowserSession,
  limit?: LimitName,
): Promise<Admission | { readonly caller: PersonCaller; readonly counted?: undefined }> {
  if ("secret_hash" in holder) return keys.admitHash(holder.secret_hash, limit)
  return { caller: { person: holder.person, scope: holder.role } }
}

/**
 * The session of the cookie. A link of another site opens pages of the console with it, and these ask here in their own name: sent straight
 * here it does not count, so that such a link starts no export. Fetch Metadata.
 */
async function sessionOf(c: Context, deps: Doorkeepers): Promise<BrowserSession | undefined> {
  if (c.req.header("Sec-Fetch-Site") === "cross-site") return undefined
  const token = sessionTokenOf(c, deps)
  return token === undefined
    ? undefined
    : await deps.sessions.find(token, c.req.header(UNATTENDED_HEADER) === undefined)
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

export const personRefused = (sentence: string): HttpError => new HttpError("person_not_allowed", sentence)

const approverRefused = (): HttpError =>
  new HttpError(
    "approver_key",
    "This is the key of an approver: it sees approvals and decides on them, and nothing else.",
  )

/** A person has no runs, permits and attestations of its own, and no approver's key has: endpoints about those are for other keys. */
export const keysOnly: MiddlewareHandler = async (c, next) => {
  if (callerOf(c).person === undefined && callerOf(c).scope === "approver") throw approverRefused()
  if (callerOf(c).person !== undefined)
    throw personRefused("This endpoint is about runs of the caller, and a person makes none: send a key.")
  await next()
}

/** @throws HttpError 403 for customer keys and approvers, where administrators and auditors read */
export function refuseUnlessReader(c: Context): void {
  const { scope, person } = callerOf(c)
  if (scope === "customer") throw adminKeyRequired("a customer key")
  if (scope === "approver")
    throw person === undefined
      ? approverRefused()
      : personRefused("An approver sees approvals and the own passkeys, and nothing else.")
}

/** The same before anything else of the request is read. */
export const readersOnly: MiddlewareHandler = async (c, next) => {
  refuseUnlessReader(c)
  await next()
}

/** An auditor reads and verifies, and does nothing. */
export const auditorsRead: MiddlewareHandler = async (c, next) => {
  const { scope, person } = callerOf(c)
  if (scope === "auditor" && !READS.has(c.req.method))
    throw person === undefined
      ? new HttpError("read_only_key", "This is the key of an auditor: it reads and verifies, and does nothing.")
      : personRefused(AUDITOR_READS)
  await next()
}
const AUDITOR_READS = "An auditor reads and verifies, and does nothing."

const adminKeyRequired = (given: string): HttpError =>
  new HttpError("admin_key_required", `This endpoint needs an admin key, and this is ${given}; ${BREAK_GLASS}`)

/** Refuses all but administrators before anything else of the request is read. In open mode the anonymous caller administers. */
export const adminOnly: MiddlewareHandler = async (c, next) => {
  const { scope, person } = callerOf(c)
  if (person !== undefined && scope !== "admin") throw personRefused(AUDITOR_READS)
  if (scope === "customer") throw adminKeyRequired("a customer key")
  if (scope === "auditor") throw adminKeyRequired("the key of an auditor")
  await next()
}

/** @throws HttpError 403 for the anonymous caller of open mode, and for who is no administrator */
export function refuseUnlessAdmin(c: Context): void {
  if (callerOf(c).scope !== "admin")
    throw new HttpError("admin_key_required", "This endpoint needs an admin key; in open mode there is none.")
}

/** The id of the caller's admin key. @throws HttpError 403 also for a person: what is made lasts as long as the key does */
export function adminKeyOf(c: Context): number {
  refuseUnlessAdmin(c)
  if (callerOf(c).person !== undefined)
    throw personRefused("This needs an admin key: what it makes lasts as long as the key does, and a person has none.")
  return keyCallerOf(c).api_key_id
}

// The end user: the person behind a request, as the access token says that the request carries. docs/identity.md.

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
  ({ endUsers }: { readonly endUsers: EndUserTokens }): MiddlewareHandler =>
  async (c, next) => {
    const token = c.req.header(END_USER_HEADER)
    if (token !== undefined) c.set("endUser", await endUsers.read(token))
    else if (endUsers.isRequired && !isObserver(c)) throw endUserRequired()
    await next()
  }
