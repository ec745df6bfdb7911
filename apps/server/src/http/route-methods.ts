/** What is answered where a path almost names an endpoint: with a trailing slash, or with another method. */
import type { Context, Hono } from "hono"
import { HttpError } from "../http-error.ts"

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
