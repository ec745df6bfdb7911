/** The doors that the service itself serves. Each is a client of the public API: it sends ordinary requests with its caller's key or session. */
import { type ConsoleParts, createConsole } from "@runseal/console"
import { type HookParts, hooksApp } from "@runseal/hooks/hooks-app"
import { otlpApp } from "@runseal/otlp/otlp-app"
import { type Context, Hono } from "hono"
import type { Deps } from "./deps.ts"
import { readHook, readHookSettings, refusalOfHook } from "./front/http/hook-body.ts"
import { readBodyWithNulls } from "./front/http/request-bodies.ts"
import { readTraces, refuseTraces, retryTraces } from "./front/http/trace-body.ts"

/** The routes of `/hooks/…`. @param app the service, which answers what they send */
export const hookRoutes = (app: Hono): Hono => {
  const fetch: HookParts["fetch"] = (request, env) => app.fetch(request, env ?? {})
  return hooksApp({
    fetch,
    settings: readHookSettings,
    read: readHook,
    parse: readBodyWithNulls,
    refusal: refusalOfHook,
  })
}

/** The routes of `/console`, for people in a browser. Every page finds its visitor by the session itself. @param app as above */
export function consoleRoutes(app: Hono): Hono {
  const fetch: ConsoleParts["fetch"] = (request, env) => app.fetch(request, env ?? {})
  const pages = createConsole({ fetch })
  const answer = (c: Context): Response | Promise<Response> => pages.fetch(c.req.raw, c.env)
  const page = "/console/:page{.+}"
  return new Hono().get("/console", answer).get(page, answer).post(page, answer)
}

/** `POST /v1/traces`. @param app the service, which answers what it sends */
export const traceRoutes = (app: Hono, { telemetry }: Pick<Deps, "telemetry">): Hono =>
  otlpApp({
    fetch: (request, env) => app.fetch(request, env ?? {}),
    read: readTraces,
    refusal: refuseTraces,
    retry: retryTraces,
    count: telemetry.spansReceived,
  })
