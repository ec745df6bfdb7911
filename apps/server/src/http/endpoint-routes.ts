/** Binds the table of endpoints: each row is a route, and what comes before its handler follows from the row. */
import type { Access, Endpoint } from "@runseal/api/endpoint"
import { ENDPOINTS } from "@runseal/api/endpoints"
import type { Context, Hono, MiddlewareHandler } from "hono"
import type { Deps } from "../deps.ts"
import { adminOnly, auditorsRead, authenticate, readersOnly } from "./access/authentication.ts"
import { limitAuditors, limitByAddress, limitRequests } from "./access/rate-limit.ts"
import { knownParameters } from "./known-parameters.ts"

/** Answers the requests to one endpoint. */
export type Handler = (c: Context) => Response | Promise<Response>
/** By the id of the endpoint. */
export type Handlers = Readonly<Record<string, Handler>>

/** What comes before the handler of an endpoint, in this order. */
const ADMISSION: Readonly<Record<Access, (endpoint: Endpoint, deps: Deps) => readonly MiddlewareHandler[]>> = {
  public: (endpoint, deps) => [
    knownParameters(endpoint),
    ...(endpoint.limit === undefined ? [] : [limitByAddress(deps, endpoint.limit)]),
  ],
  key: (endpoint, deps) => [
    authenticate(deps, endpoint.limit),
    ...(endpoint.auditors === true ? [] : [auditorsRead]),
    ...(endpoint.limit === undefined ? [] : [limitRequests(deps, endpoint.limit)]),
    knownParameters(endpoint),
  ],
  reader: (endpoint, deps) => [authenticate(deps), readersOnly, limitAuditors(deps), knownParameters(endpoint)],
  admin: (endpoint, deps) => [...ADMISSION.reader(endpoint, deps), adminOnly],
}

/** For what reads the request later: the largest body, and whether there may be an idempotency key. */
const noteEndpoint =
  (endpoint: Endpoint): MiddlewareHandler =>
  (c, next) => {
    c.set("endpoint", endpoint)
    return next()
  }

/** The path as the router writes it. A value with slashes ends it: its handler reads the path. */
function routeOf({ path, path_parameters = {} }: Endpoint): string {
  const many = Object.keys(path_parameters).find(name => path_parameters[name]?.many_segments)
  const start = many === undefined ? path : path.slice(0, path.indexOf(`{${many}}`))
  return `${start.replaceAll("{", ":").replaceAll("}", "")}${many === undefined ? "" : `:${many}{.+}`}`
}

/** Routes of what is answered without a key. */
export const PUBLIC_ROUTES: ReadonlySet<string> = new Set(
  ENDPOINTS.filter(({ access }) => access === "public").map(routeOf),
)

/** @throws Error for an endpoint without a handler, and for a handler without an endpoint */
export function mountEndpoints(
  app: Hono,
  deps: Deps,
  tables: readonly Handlers[],
  endpoints: readonly Endpoint[] = ENDPOINTS,
): void {
  const named = tables.flatMap(table => Object.entries(table))
  const handlers = new Map(named)
  if (handlers.size < named.length) throw new Error("an endpoint has two handlers")
  for (const endpoint of endpoints) {
    const handler = handlers.get(endpoint.id)
    if (handler === undefined) throw new Error(`the endpoint ${endpoint.id} has no handler`)
    handlers.delete(endpoint.id)
    const admission = [noteEndpoint(endpoint), ...ADMISSION[endpoint.access](endpoint, deps)]
    app.on(endpoint.method.toUpperCase(), [routeOf(endpoint)], ...admission, handler)
  }
  if (handlers.size > 0) throw new Error(`handlers without an endpoint: ${[...handlers.keys()].join(", ")}`)
}
