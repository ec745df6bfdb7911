/**
 * Headers that allow a browser to show an answer and nothing else. There is no Strict-Transport-Security: it binds the whole host
 * name and its subdomains, which only the operator of the TLS proxy knows. Scripts of other origins may read public documents,
 * and no other answer. Decisions 0025 and 0128.
 */
import type { MiddlewareHandler } from "hono"
import { secureHeaders } from "hono/secure-headers"

const NONE = ["'none'"]
const SELF = ["'self'"]

const answers = secureHeaders({
  strictTransportSecurity: false,
  xFrameOptions: "DENY",
  contentSecurityPolicy: { defaultSrc: NONE, frameAncestors: NONE },
})

/** The page of /docs runs its own scripts, which may call this service alone. */
const page = secureHeaders({
  strictTransportSecurity: false,
  xFrameOptions: "DENY",
  contentSecurityPolicy: {
    defaultSrc: NONE,
    scriptSrc: SELF,
    styleSrc: SELF,
    fontSrc: SELF,
    imgSrc: ["'self'", "data:"],
    connectSrc: SELF,
    baseUri: NONE,
    formAction: NONE,
    frameAncestors: NONE,
  },
})

const isPage = (path: string): boolean => path === "/docs" || path.startsWith("/docs/")

/** The log, the trust documents, and what is published: the same for everybody, and never with a key. */
const isPublicDocument = (path: string): boolean =>
  /^\/(?:log|\.well-known)\//.test(path) || /^\/public\/runs\/[^/]+\/[^/]+$/.test(path)

/** An answer with a policy of its own, made for its own script, goes out with that policy. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  let own: string | null = null
  await (isPage(c.req.path) ? page : answers)(c, async () => {
    await next()
    own = c.res.headers.get("Content-Security-Policy")
  })
  const reads = c.req.method === "GET" || c.req.method === "HEAD"
  if (reads && isPublicDocument(c.req.path)) c.res.headers.set("Access-Control-Allow-Origin", "*")
  if (own !== null) c.res.headers.set("Content-Security-Policy", own)
}
