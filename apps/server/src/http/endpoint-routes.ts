/**
 * Binds the table of endpoints: each row is a route, and what comes before its handler follows from the row. It also answers where a path almost names an
 * endpoint.
 */
import { type Access, type Endpoint, type Route, refusesUnknown } from "@runseal/api/endpoint"
import { ENDPOINTS, type EndpointTable } from "@runseal/api/endpoints"
import type { QuerySchema } from "@runseal/api/queries"
import { ignoredOf } from "@runseal/core/wire/ignored-members"
import type { Context, Hono, MiddlewareHandler } from "hono"
import type { GenericSchema } from "valibot"
import type { Deps } from "../deps.ts"
import { HttpError } from "../http-error.ts"
import { adminOnly, auditorsRead, authenticate, findEndUser, keysOnly, readersOnly } from "./access/authentication.ts"
import { limitAuditors, limitByAddress, limitRequests } from "./access/rate-limit.ts"
import { readJsonObject } from "./json-body.ts"
import { readQuery, refuseUnknown } from "./query.ts"
import { readBody, readBodyWithNulls, readPolicyBody, readStoredBody } from "./request-bodies.ts"
import { readsPages } from "./served-file.ts"

/**
 * What a request asks of an endpoint, read by its row when the handler takes it: who may not act at all is refused before the request is
 * judged.
 */
type Asked<Row extends Route> = {
  /** @throws HttpError 400 naming the parameter, never its value */
  readonly query: () => Row extends { readonly query: QuerySchema<infer Query> } ? Query : unknown
  /** @throws HttpError as `readJsonBody`, and 400 naming the field that is wrong, never its value */
  readonly body: () => Promise<
    Row extends { readonly body: GenericSchema<unknown, infer Body> } ? Received<Body> : unknown
  >
}
type Received<Body> = {
  readonly request: Body
  /** What the answer says of members that were not used. */
  readonly ignored: ReturnType<typeof ignoredOf>
}

/** Answers the requests to one endpoint. A handler takes what its own row reads: it is bound to no other. */
export type Handler<Row extends Route = Route> = {
  answer(c: Context, asked: Asked<Row>): Response | Promise<Response>
}["answer"]
/** By the id of the endpoint. */
export type Handlers = { readonly [Id in keyof EndpointTable]?: Handler<EndpointTable[Id]> }

function askedOf(c: Context, { query, body, nulls, stored }: Endpoint): Asked<Route> {
  return {
    query: () => {
      if (query === undefined) throw new Error("the row of this endpoint has no query")
      return readQuery(query, c.req.url)
    },
    body: async () => {
      if (body === undefined) throw new Error("the row of this endpoint has no body")
      const object = await readJsonObject(c)
      const request = READERS[stored ? "stored" : (nulls ?? "none")](body.judged, object)
      return { request, ignored: namesMembers(body.judged) ? ignoredOf(object, body.judged) : {} }
    },
  }
}

const READERS = { none: readBody, inside: readPolicyBody, all: readBodyWithNulls, stored: readStoredBody }

/** Whether a schema is one of an object with named members. */
const namesMembers = (schema: object): schema is { readonly entries: Readonly<Record<string, unknown>> } =>
  "entries" in schema

/**
 * Middleware that answers 400 to a query parameter which the endpoint does not have, and names those that it has: a misspelt filter must not answer with
 * everything. Pages for people ignore them, since links to them get parameters of others, and so does `/health`, which fails only when it cannot be
 * reached.
 */
function knownParameters(endpoint: Endpoint): MiddlewareHandler {
  // Whether a browser gets a page in place of the answer.
  const orPage = endpoint.answers[200]?.or_page === true
  const checks = refusesUnknown(endpoint)
  return (c, next) => {
    if (checks && c.req.url.includes("?") && !(orPage && readsPages(c))) refuseUnknown(endpoint.query, c.req.url)
    return next()
  }
}

/** What comes before the handler of an endpoint, in this order. */
const ADMISSION: Readonly<Record<Access, (endpoint: Endpoint, deps: Deps) => readonly MiddlewareHandler[]>> = {
  public: (endpoint, deps) => [
    knownParameters(endpoint),
    ...(endpoint.limit === undefined ? [] : [limitByAddress(deps, endpoint.limit)]),
  ],
  key: (endpoint, deps) => [
    authenticate(deps, endpoint.limit),
    ...(endpoint.persons === true ? [] : [keysOnly]),
    ...(endpoint.auditors === true ? [] : [auditorsRead]),
    ...(endpoint.limit === undefined ? [] : [limitRequests(deps, endpoint.limit)]),
    knownParameters(endpoint),
    ...(endpoint.end_user === "decides" ? [findEndUser(deps)] : []),
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
  const named = tables.flatMap(table => Object.entries<Handler>(table))
  const handlers = new Map(named)
  if (handlers.size < named.length) throw new Error("an endpoint has two handlers")
  for (const endpoint of endpoints) {
    const handler = handlers.get(endpoint.id)
    if (handler === undefined) throw new Error(`the endpoint ${endpoint.id} has no handler`)
    handlers.delete(endpoint.id)
    const admission = [noteEndpoint(endpoint), ...ADMISSION[endpoint.access](endpoint, deps)]
    app.on(endpoint.method.toUpperCase(), [routeOf(endpoint)], ...admission, c => handler(c, askedOf(c, endpoint)))
  }
  if (handlers.size > 0) throw new Error(`handlers without an endpoint: ${[...handlers.keys()].join(", ")}`)
}

// What is answered where a path almost names an endpoint: with a trailing slash, or with another method.

/** Every method of an endpoint of this service; HEAD is answered as GET without the body. */
const METHODS = ["GET", "POST", "PATCH", "DELETE"]

/** Methods of the endpoint at a path, as they were registered; none where there is no endpoint. */
const methodsAt = (app: Hono, path: string, isAsked: (route: string) => boolean): readonly string[] =>
  METHODS.filter(method =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method === method && isAsked(route.path)),
  )

const all = (_route: string): boolean => true

/**
 * Redirects a path with a trailing slash to its endpoint; undefined when the path names none. To be asked after no route has matched. The
 * Location is relative, so that it is right behind a proxy that adds a prefix, and never leads to another host.
 * @param isAsked which routes are looked at; absent: all
 * @throws HttpError 405 for an endpoint without this method
 */
export function nearMiss(app: Hono, c: Context, isAsked = all): Response | undefined {
  const { path } = c.req
  if (methodsAt(app, path, isAsked).length > 0) {
    const [first = "", ...others] = methodsAt(app, path, all)
    const allow = [first, ...(first === "GET" ? ["HEAD"] : []), ...others].join(", ")
    throw new HttpError("method_not_allowed", `This endpoint has no such method; it has ${allow}.`, { Allow: allow })
  }
  if (path === "/" || !path.endsWith("/") || methodsAt(app, path.slice(0, -1), isAsked).length === 0) return undefined
  const { pathname, search } = new URL(c.req.url)
  return c.redirect(`../${pathname.split("/").at(-2)}${search}`, 308)
}
