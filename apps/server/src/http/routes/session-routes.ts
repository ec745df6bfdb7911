/** Opening, showing and closing the session of a person in a browser. docs/api.md, "Sessions". */
import type {
  ClosedSession,
  FinishedSignIn,
  FinishSignInRequest,
  SessionAnswer,
  StartedSignIn,
} from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { RETRY_LATER } from "../../outbound/identity/identity-provider.ts"
import { ProviderUnavailable, SignInRefused } from "../../outbound/identity/people-provider.ts"
import type { SessionHolder } from "../../store/tables/sessions-table.ts"
import { secretHash } from "../access/api-key.ts"
import { unauthorized } from "../access/authentication.ts"
import { type Caller, callerOf, type PersonCaller } from "../access/caller.ts"
import {
  cookieOf,
  giveCookie,
  giveSessionToken,
  refusePlainHttp,
  sessionTokenOf,
  takeCookie,
  takeSessionToken,
} from "../access/session-cookie.ts"
import type { BrowserSession } from "../access/sessions.ts"
import { SIGN_IN_COOKIE, type SignIns } from "../access/sign-in.ts"
import type { Handlers } from "../endpoint-routes.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

const sessionAnswer = (caller: Caller, session: BrowserSession | undefined): SessionAnswer => ({
  ok: true,
  ...(caller.person === undefined
    ? { key_id: caller.api_key_id, name: caller.authentication.api_key_name ?? "anonymous" }
    : personAnswer(caller.person, session)),
  scope: caller.scope,
  ...(caller.reads === undefined ? {} : { reads: [...caller.reads] }),
  ...(caller.share === undefined ? {} : { share: caller.share }),
  ...(session === undefined
    ? {}
    : {
        csrf_token: session.csrf_token,
        idle_ends_at: timestamp(session.idle_ends_at),
        ends_at: timestamp(session.ends_at),
      }),
})

const personAnswer = (
  { issuer, subject, display_name: name, groups }: PersonCaller["person"],
  session: BrowserSession | undefined,
): Pick<SessionAnswer, "name" | "person"> => ({
  name,
  person: { issuer, subject, groups: [...groups], signed_in_at: timestamp(session?.opened_at ?? 0) },
})

/** Ends the session that the browser has, and gives it another: a token that was there before leads to nobody who signs in later. */
async function openSession(c: Context, deps: Deps, holder: SessionHolder): Promise<BrowserSession> {
  const before = sessionTokenOf(c, deps)
  if (before !== undefined) await deps.sessions.close(before)
  const { token, ...session } = await deps.sessions.open(holder)
  giveSessionToken(c, deps, token)
  return session
}

/** Opens the session of a key; in open mode there is none to open. @throws HttpError 401 for a text that is no valid key */
async function openKeySession(c: Context, deps: Deps, key: string): Promise<SessionAnswer> {
  const admission = await deps.keys.admit(key)
  if (admission === "nobody") throw unauthorized()
  const { caller } = admission
  if (caller.scope === "anonymous") return sessionAnswer(caller, undefined)
  return sessionAnswer(caller, await openSession(c, deps, { secret_hash: secretHash(key) }))
}

/** Opens the session of the person whom the provider names. @throws HttpError 403, 503 */
async function openPersonSession(c: Context, deps: Deps, { query }: FinishSignInRequest): Promise<FinishedSignIn> {
  const signIns = signInsOf(deps)
  const cookie = cookieOf(c, deps, SIGN_IN_COOKIE)
  // It counts once, whatever comes of it.
  takeCookie(c, deps, SIGN_IN_COOKIE)
  const signedIn = await signIns.finish(cookie, query).catch((error: unknown) => refuse(deps, error))
  if (signedIn === undefined)
    throw new HttpError(
      "sign_in_refused",
      `This sign-in did not begin in this browser, or more than ten minutes ago. Begin again at ${deps.baseUrl}/console.`,
    )
  const { person, next } = signedIn
  const role = signIns.roleOf(person)
  if (role === undefined)
    throw new HttpError(
      "role_missing",
      "You have signed in, and none of your groups has a role here. Ask the operator of this service, who gives roles to groups with --oidc-roles.",
    )
  return { ...sessionAnswer({ person, scope: role }, await openSession(c, deps, { person })), next }
}

/** @throws HttpError 403 where people do not sign in with a provider */
function signInsOf({ signIns }: Deps): SignIns {
  if (signIns === undefined)
    throw new HttpError("sign_in_off", "People do not sign in with an identity provider here: sign in with a key.")
  return signIns
}

/** @throws HttpError 403, 503; the error itself where it is a fault of the service */
function refuse({ telemetry }: Pick<Deps, "telemetry">, error: unknown): never {
  if (!(error instanceof ProviderUnavailable || error instanceof SignInRefused)) throw error
  telemetry.signInFailed(error)
  if (error instanceof SignInRefused)
    throw new HttpError(
      "sign_in_refused",
      "The identity provider did not sign you in. Begin again; if that does not help, ask the operator of this service, whose log says why.",
    )
  throw new HttpError(
    "sign_in_unavailable",
    "The identity provider does not answer, or not as it must. Try again later, or sign in with a key.",
    RETRY_LATER,
  )
}

export function sessionRoutes(deps: Deps): Handlers {
  return {
    open_session: async (c, { body }) => {
      refusePlainHttp(c, deps)
      return c.json(await openKeySession(c, deps, (await body()).request.key), 201)
    },
    start_sign_in: async (c, { body }) => {
      refusePlainHttp(c, deps)
      const { next } = (await body()).request
      const { cookie, url } = await signInsOf(deps)
        .start(next)
        .catch((error: unknown) => refuse(deps, error))
      giveCookie(c, deps, SIGN_IN_COOKIE, cookie)
      return c.json({ ok: true, url } satisfies StartedSignIn, 201)
    },
    finish_sign_in: async (c, { body }) => {
      refusePlainHttp(c, deps)
      return c.json(await openPersonSession(c, deps, (await body()).request), 201)
    },
    show_session: c => c.json(sessionAnswer(callerOf(c), c.get("session"))),
    close_session: async c => {
      const token = sessionTokenOf(c, deps)
      if (token !== undefined) await deps.sessions.close(token)
      takeSessionToken(c, deps)
      return c.json({ ok: true, closed: true } satisfies ClosedSession)
    },
  }
}
