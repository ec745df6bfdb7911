/** Opening, showing and closing the session of a person in a browser. docs/api.md, "Sessions". */
import type { ClosedSession, SessionAnswer } from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { secretHash } from "../access/api-key.ts"
import { unauthorized } from "../access/authentication.ts"
import { type Caller, callerOf } from "../access/caller.ts"
import { giveSessionToken, refusePlainHttp, sessionTokenOf, takeSessionToken } from "../access/session-cookie.ts"
import type { BrowserSession } from "../access/sessions.ts"
import type { Handlers } from "../endpoint-routes.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

const sessionAnswer = (
  { api_key_id, scope, reads, share, authentication }: Caller,
  session: BrowserSession | undefined,
): SessionAnswer => ({
  ok: true,
  key_id: api_key_id,
  name: authentication.api_key_name ?? "anonymous",
  scope,
  ...(reads === undefined ? {} : { reads: [...reads] }),
  ...(share === undefined ? {} : { share }),
  ...(session === undefined
    ? {}
    : {
        csrf_token: session.csrf_token,
        idle_ends_at: timestamp(session.idle_ends_at),
        ends_at: timestamp(session.ends_at),
      }),
})

/** Opens the session of a key; in open mode there is none to open. @throws HttpError 401 for a text that is no valid key */
async function openSession(c: Context, deps: Deps, key: string): Promise<SessionAnswer> {
  const admission = await deps.keys.admit(key)
  if (admission === "nobody") throw unauthorized()
  const { caller } = admission
  if (caller.scope === "anonymous") return sessionAnswer(caller, undefined)
  const before = sessionTokenOf(c, deps)
  if (before !== undefined) await deps.sessions.close(before)
  const { token, ...session } = await deps.sessions.open(secretHash(key))
  giveSessionToken(c, deps, token)
  return sessionAnswer(caller, session)
}

export function sessionRoutes(deps: Deps): Handlers {
  return {
    open_session: async (c, { body }) => {
      refusePlainHttp(c, deps)
      return c.json(await openSession(c, deps, (await body()).request.key), 201)
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
