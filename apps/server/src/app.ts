/** The HTTP application: the order of middleware, which routes need a key, and the one place where errors are rendered. */

import { createConsole } from "@runseal/console"
import { REQUEST_ID_HEADER, REQUEST_ID_MAX_LENGTH } from "@runseal/core/wire/error-codes"
import { errorAnswer } from "@runseal/core/wire/service-answers"
import { claudeCode } from "@runseal/hooks/claude-code"
import { type HookParts, hookHandler } from "@runseal/hooks/hooks-app"
import { traceHandler } from "@runseal/otlp/otlp-app"
import { type Context, Hono, type MiddlewareHandler } from "hono"
import { HTTPException } from "hono/http-exception"
import { requestId } from "hono/request-id"
import { matchedRoutes } from "hono/route"
import type { Deps } from "./deps.ts"
import { followedRequest } from "./followed-steps.ts"
import {
  adminOnly,
  asObserver,
  auditorsRead,
  authenticate,
  keysOnly,
  readersOnly,
  unauthorized,
} from "./http/access/authentication.ts"
import { type Caller, callerName } from "./http/access/caller.ts"
import { limitAuditors, limitRequests } from "./http/access/rate-limit.ts"
import { isShared } from "./http/access/request-counter.ts"
import { createBodyRoom } from "./http/body-room.ts"
import { type Handler, type Handlers, mountEndpoints, nearMiss, PUBLIC_ROUTES } from "./http/endpoint-routes.ts"
import { readHook, readHookSettings, refusalOfHook } from "./http/hook-body.ts"
import { holdBodies } from "./http/json-body.ts"
import { readBodyWithNulls } from "./http/request-bodies.ts"
import { adminPermitRoutes, adminRunRoutes } from "./http/routes/admin-runs-routes.ts"
import { approvalRoutes } from "./http/routes/approvals-routes.ts"
import { attentionRoutes } from "./http/routes/attention-route.ts"
import { attestationRoutes } from "./http/routes/attestations-routes.ts"
import { claimRoutes } from "./http/routes/claim-routes.ts"
import { auditRoutes, usageRoutes } from "./http/routes/deployment-routes.ts"
import { deliveryRoutes, destinationRoutes } from "./http/routes/destinations-routes.ts"
import { discoveryRoutes } from "./http/routes/discovery-routes.ts"
import { eventRoutes } from "./http/routes/events-routes.ts"
import { executeRoutes } from "./http/routes/execute-routes.ts"
import { exportRoutes } from "./http/routes/export-routes.ts"
import { healthRoutes } from "./http/routes/health-routes.ts"
import { indexRoutes } from "./http/routes/index-route.ts"
import { keyRoutes } from "./http/routes/keys-routes.ts"
import { logRoutes } from "./http/routes/log-routes.ts"
import { overviewRoutes } from "./http/routes/overview-route.ts"
import { passkeyRoutes } from "./http/routes/passkeys-routes.ts"
import { permitRoutes, redeemRoutes } from "./http/routes/permits-routes.ts"
import { policyHistoryRoutes, policyRoutes } from "./http/routes/policies-routes.ts"
import { publicationRoutes, publicBundleRoutes } from "./http/routes/publications-routes.ts"
import { publicStatementRoutes, runRoutes } from "./http/routes/runs-routes.ts"
import { sessionRoutes } from "./http/routes/session-routes.ts"
import { sharedRecordRoutes, shareRoutes } from "./http/routes/shares-routes.ts"
import { verifyPageRoutes } from "./http/routes/verify-page-route.ts"
import { inOrder } from "./http/sealing-order.ts"
import { securityHeaders } from "./http/security-headers.ts"
import { readTraces, refuseTraces, retryTraces } from "./http/trace-body.ts"
import { HttpError, helpLink, unavailable } from "./http-error.ts"
import { SIGNER_AWAY, SignerFailure } from "./keys/remote-signer.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import { withWaitLimit } from "./store/driver/wait-limit.ts"
import { ActorRefused, AlreadyDone } from "./store/tables/admin-events.ts"
import type { Route } from "./telemetry.ts"

/** The handlers of every endpoint, by its id. */
const HANDLERS: readonly ((deps: Deps) => Handlers)[] = [
  indexRoutes,
  healthRoutes,
  logRoutes,
  publicBundleRoutes,
  publicStatementRoutes,
  sharedRecordRoutes,
  redeemRoutes,
  sessionRoutes,
  verifyPageRoutes,
  discoveryRoutes,
  adminRunRoutes,
  adminPermitRoutes,
  usageRoutes,
  overviewRoutes,
  attentionRoutes,
  auditRoutes,
  policyHistoryRoutes,
  eventRoutes,
  deliveryRoutes,
  shareRoutes,
  keyRoutes,
  claimRoutes,
  policyRoutes,
  publicationRoutes,
  destinationRoutes,
  executeRoutes,
  permitRoutes,
  approvalRoutes,
  passkeyRoutes,
  exportRoutes,
  runRoutes,
  attestationRoutes,
]

/** The application over its parts; `app.request()` takes the same way as a request from the socket. */
export function createApp(deps: Deps): Hono {
  const app = new Hono()
  app.use(requestId({ headerName: REQUEST_ID_HEADER, limitLength: REQUEST_ID_MAX_LENGTH }))
  app.use(securityHeaders)
  app.use(holdBodies(createBodyRoom(), c => callerName(c, deps)))
  app.use(reportAnswers(deps))
  if (isShared(deps.db)) app.use(boundWaits)
  mountEndpoints(app, deps, [...HANDLERS.map(handlers => handlers(deps)), doorHandlers(app, deps)])
  // What follows is asked for what is no endpoint.
  app.use((c, next) => Promise.resolve(nearMiss(app, c, route => PUBLIC_ROUTES.has(route)) ?? next()))
  app.use("/admin/*", authenticate(deps), readersOnly, limitAuditors(deps), adminOnly)
  app.all("/admin/*", c => c.notFound())
  app.use(authenticate(deps, "shared"), keysOnly, auditorsRead, limitRequests(deps, "shared"))
  app.notFound(c => nearMiss(app, c) ?? renderRefusal(noSuchEndpoint(), c, deps))
  app.onError(async (error, c) => {
    if (error instanceof AlreadyDone) {
      // The first answer may not have been given: what was done is acknowledged now.
      const unknown = await deps.rememberStored().then(
        () => undefined,
        (failed: unknown) => failed,
      )
      if (unknown !== undefined) return renderError(unknown, c, deps)
    }
    if (error instanceof StoreError) {
      deps.telemetry.storeFailed(error)
      deps.reportUnavailable()
    }
    return renderError(error, c, deps)
  })
  return app
}

/** Reports each answer to the metrics and the access log, and follows the request. */
const reportAnswers =
  ({ telemetry }: Deps): MiddlewareHandler =>
  (c, next) => {
    const since = performance.now()
    const { method, path } = c.req
    return followedRequest({ method, path, traceparent: c.req.header("traceparent") }, async note => {
      await next()
      if (!c.res.headers.has("Cache-Control")) c.res.headers.set("Cache-Control", "no-store")
      const [route, { status }] = [routeOf(c), c.res]
      note(route?.path, status)
      telemetry.answered({
        request_id: c.get("requestId"),
        method,
        route,
        status,
        ms: performance.now() - since,
        key_id: keyIdOf(c.get("caller")),
      })
    })
  }

const keyIdOf = (caller: Caller | undefined): number | undefined =>
  caller?.person === undefined ? caller?.api_key_id : undefined

/** Requests that write are refused in time. A read may be long, such as an export, and has the bounds of its statements. */
const boundWaits: MiddlewareHandler = (c, next) =>
  ["POST", "PATCH", "DELETE"].includes(c.req.method) ? withWaitLimit(next) : next()

/** The registered route of a request, also of one that was refused before its handler ran. The path as sent is in no metric and no log. */
const routeOf = (c: Context): Route | undefined => matchedRoutes(c).find(({ method }) => method !== "ALL")

const noSuchEndpoint = (): HttpError => new HttpError("endpoint_not_found", "There is no such endpoint.")

/** Renders a refused request or a failure. The cause of an unexpected failure goes to the process log alone. */
function renderError(error: unknown, c: Context, deps: Deps): Response {
  const known = asHttpError(error)
  if (known !== undefined) return renderRefusal(known, c, deps)
  const request_id = c.get("requestId")
  deps.telemetry.requestFailed(error, request_id, routeOf(c))
  const sentence = `The server failed; the operator finds the cause under request ${request_id}.`
  return renderRefusal(new HttpError("internal_error", sentence), c, deps)
}

/** The one form of a refusal. */
const renderRefusal = ({ code, message, status, headers }: HttpError, c: Context, { baseUrl }: Deps): Response =>
  c.json(errorAnswer(code, message, c.get("requestId")), status, { ...helpLink(baseUrl), ...headers })

const ALREADY_DONE =
  "This was done before, under this Idempotency-Key, and was not done again; a secret that it made is shown in its first answer alone."
const OUTCOME_UNKNOWN =
  "It is not known whether this took effect. Check that before you send it again, or retry it under the same Idempotency-Key."

function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (error instanceof ActorRefused) return unauthorized()
  if (error instanceof AlreadyDone) return new HttpError("already_done", ALREADY_DONE)
  if (error instanceof StoreError && error.code === "outcome_unknown")
    return unavailable(error.callerMessage ?? OUTCOME_UNKNOWN, "outcome_unknown")
  if (error instanceof StoreError && error.code !== "corrupt")
    return unavailable(
      error.callerMessage ?? "The record store is not available now; nothing was acknowledged. Try again.",
    )
  if (error instanceof SignerFailure) return unavailable(SIGNER_AWAY)
  if (error instanceof HTTPException) return new HttpError("malformed_http", "The request cannot be read.")
  return undefined
}

/**
 * The doors that the service itself serves. Each is a client of the public API: it sends ordinary requests with its caller's key or session.
 * @param app the service, which answers what they send
 */
function doorHandlers(app: Hono, { telemetry, peers }: Pick<Deps, "telemetry" | "peers">): Handlers {
  const fetch: HookParts["fetch"] = (request, env) => app.fetch(request, env ?? {})
  const reports: HookParts["fetch"] = (request, env) => app.fetch(request, asObserver(env))
  // For people in a browser. Every page finds its visitor by the session itself.
  const pages = createConsole({ fetch, peers })
  const page: Handler = c => pages.fetch(c.req.raw, c.env)
  const parse = readBodyWithNulls
  return {
    console: page,
    console_page: page,
    console_form: page,
    hook_claude_code: hookHandler(claudeCode(parse), {
      fetch,
      reports,
      settings: readHookSettings,
      read: readHook,
      parse,
      refusal: refusalOfHook,
    }),
    export_traces: traceHandler({
      inOrder: () => inOrder(async (request, env) => reports(request, env)),
      read: readTraces,
      refusal: refuseTraces,
      retry: retryTraces,
      count: telemetry.spansReceived,
    }),
  }
}
