/**
 * Refuses query parameters that an endpoint does not have: a misspelt filter must not answer with everything. Pages for people ignore
 * them, since links to them get parameters of others, and so does `/health`, which fails only when it cannot be reached.
 */
import { type Endpoint, refusesUnknown } from "@runseal/api/endpoint"
import type { MiddlewareHandler } from "hono"
import { refuseUnknown } from "./query.ts"
import { readsPages } from "./served-file.ts"

/** Middleware that answers 400 and names the parameters which the endpoint has. */
export function knownParameters(endpoint: Endpoint): MiddlewareHandler {
  // Whether a browser gets a page in place of the answer.
  const orPage = endpoint.answers[200]?.or_page === true
  const checks = refusesUnknown(endpoint)
  return (c, next) => {
    if (checks && c.req.url.includes("?") && !(orPage && readsPages(c))) refuseUnknown(endpoint.query, c.req.url)
    return next()
  }
}
