/** The doors that the service itself serves. Each is a client of the public API: it sends ordinary requests with its caller's key. */
import { type HookParts, hooksApp } from "@runseal/hooks/hooks-app"
import type { Hono } from "hono"
import { readHook, readHookBody } from "./front/http/hook-body.ts"

/** The routes of `/hooks/…`. @param app the service, which answers what they send */
export const hookRoutes = (app: Hono): Hono => {
  const fetch: HookParts["fetch"] = (request, env) => app.fetch(request, env ?? {})
  return hooksApp({ fetch, read: readHook, parse: readHookBody })
}
