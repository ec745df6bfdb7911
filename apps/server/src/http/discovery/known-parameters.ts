/**
 * Refuses query parameters that an endpoint does not have, by the table of endpoints: a misspelt filter must not
 * answer with everything. Pages for people ignore them, since links to them get parameters of others, and so does `/health`, which fails only when it cannot be reached.
 */
import { type Access, type Endpoint, refusesUnknown } from "@runseal/api/endpoint"
import { ENDPOINTS } from "@runseal/api/endpoints"
import type { QuerySchema } from "@runseal/api/queries"
import type { Context, MiddlewareHandler } from "hono"
import { refuseUnknown } from "../query.ts"
import { readsPages } from "../served-file.ts"

type Parameters = {
  readonly access: Access
  readonly method: string
  readonly path: RegExp
  readonly query: QuerySchema<unknown> | undefined
  /** Whether a browser gets a page in place of the answer. */
  readonly orPage: boolean
}

const CHECKED: readonly Parameters[] = ENDPOINTS.filter(refusesUnknown).map(endpoint => ({
  access: endpoint.access,
  method: endpoint.method.toUpperCase(),
  path: pathPattern(endpoint),
  query: endpoint.query,
  orPage: endpoint.answers[200]?.or_page === true,
}))

function pathPattern({ path, path_parameters = {} }: Endpoint): RegExp {
  const pattern = path
    .split(/\{(\w+)\}/)
    .map((part, at) =>
      at % 2 === 0 ? part.replaceAll(".", "\\.") : path_parameters[part]?.many_segments ? ".+" : "[^/]+",
    )
  return new RegExp(`^${pattern.join("")}$`)
}

/**
 * Middleware that answers 400 and names the parameters which the endpoint has.
 * @param access of the endpoints that are checked: those behind a key are checked once the caller is authenticated
 */
export function knownParameters(access: Access): MiddlewareHandler {
  const endpoints = CHECKED.filter(endpoint => endpoint.access === access)
  const endpointOf = ({ req }: Context): Parameters | undefined => {
    const method = req.method === "HEAD" ? "GET" : req.method
    return endpoints.find(endpoint => endpoint.method === method && endpoint.path.test(req.path))
  }
  return async (c, next) => {
    const endpoint = c.req.url.includes("?") ? endpointOf(c) : undefined
    if (endpoint !== undefined && !(endpoint.orPage && readsPages(c))) refuseUnknown(endpoint.query, c.req.url)
    await next()
  }
}
