/**
 * Headers that keep a browser from doing more with an answer than show it. There is no Strict-Transport-Security: who ends
 * TLS answers for the whole host name and its subdomains, and we do not know them. Nor is there any Access-Control field:
 * no other origin's script reads us. Decision 0025.
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

/** The page of /docs runs its own scripts, and asks nobody but this service. */
const page = secureHeaders({
  strictTransportSecurity: false,
  xFrameOptions: "DENY",
  contentSecurityPolicy: {
    defaultSrc: NONE,
    scriptSrc: SELF,
    styleSrc: SELF,
    imgSrc: ["'self'", "data:"],
    connectSrc: SELF,
    baseUri: NONE,
    formAction: NONE,
    frameAncestors: NONE,
  },
})

const isPage = (path: string): boolean => path === "/docs" || path.startsWith("/docs/")

/** A page that brings a policy of its own, made for its own script, keeps it. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  let own: string | null = null
  await (isPage(c.req.path) ? page : answers)(c, async () => {
    await next()
    own = c.res.headers.get("Content-Security-Policy")
  })
  if (own !== null) c.res.headers.set("Content-Security-Policy", own)
}
