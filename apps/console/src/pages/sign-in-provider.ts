/** Signing in with the identity provider: the way there, and the way back. */
import { consolePage, finishedSignInSchema, startedSignInSchema } from "@runseal/core/wire/session-requests"
import type { Context } from "hono"
import { type Api, isRefusal } from "../api.ts"
import { refused } from "../parts/pieces.ts"
import { statusOf } from "../visit.ts"
import { handOn, showSignIn } from "./sign-in-page.ts"

/**
 * Leads to the provider. A page of another site must not begin a sign-in, which would end the session that the browser has: its visitor
 * decides on the page that signs in. Fetch Metadata.
 */
export async function startWithProvider(c: Context, api: Api): Promise<Response> {
  const next = consolePage(c.req.query("next"))
  const site = c.req.header("Sec-Fetch-Site") ?? "same-origin"
  if (site !== "same-origin" && site !== "none")
    return c.redirect(`/console/sign-in?${new URLSearchParams({ next })}`, 303)
  const response = await api.send("POST", "/session/sign-in", { next })
  handOn(c, response)
  const started = await api.read(response, startedSignInSchema)
  return isRefusal(started)
    ? showSignIn(c, api, { next, before: refused(started), status: statusOf(started) })
    : c.redirect(started.url, 303)
}

/** Takes the answer with which the provider sends the browser back. */
export async function finishWithProvider(c: Context, api: Api): Promise<Response> {
  const query = new URL(c.req.url).search.replace(/^\?/, "")
  const response = await api.send("POST", "/session/sign-in/answer", { query })
  handOn(c, response)
  const finished = await api.read(response, finishedSignInSchema)
  return isRefusal(finished)
    ? showSignIn(c, api, { next: "/console", before: refused(finished), status: statusOf(finished) })
    : c.redirect(consolePage(finished.next), 303)
}
