/**
 * The cookie of a session. Over https it is `__Host-runseal-session`, which a browser takes and sends over https alone, and which no other
 * host name can set. Over plain HTTP, on the machine itself only, it has another name, because browsers refuse the first there.
 */
import type { Context } from "hono"
import { deleteCookie, getCookie, setCookie } from "hono/cookie"
import { HttpError } from "../../http-error.ts"
import type { Proxies } from "../caller-address.ts"
import { forwardsHttps } from "../forwarded.ts"

const NAME = "runseal-session"
const LOOPBACK = /^(?:localhost|[\w-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

const isHttps = (address: string | undefined): boolean => address?.startsWith("https:") === true

export type CookieParts = Pick<Proxies, "proxyHeader"> & {
  /** Address under which callers reach the service, when the operator gave one. */
  readonly baseUrl: string | undefined
}

/** The proxies' own header, or X-Forwarded-Proto beside X-Forwarded-For. */
const isForwardedHttps = (c: Context, proxyHeader: Proxies["proxyHeader"]): boolean =>
  proxyHeader === "forwarded"
    ? forwardsHttps(c.req.header("Forwarded") ?? "")
    : c.req.header("X-Forwarded-Proto")?.startsWith("https") === true

/** Whether the browser is on this machine and speaks plain HTTP. A proxy that ends TLS says so; one that says nothing is taken to. */
function isPlainLoopback(c: Context, { baseUrl, proxyHeader }: CookieParts): boolean {
  if (isHttps(baseUrl) || isHttps(c.req.header("Origin"))) return false
  if (isForwardedHttps(c, proxyHeader)) return false
  return LOOPBACK.test(new URL(c.req.url).hostname)
}

/** @throws HttpError 403 for a browser that sent the key over plain HTTP from another machine */
export function refusePlainHttp(c: Context, deps: CookieParts): void {
  const isPlain = c.req.header("Origin")?.startsWith("http:") === true && !isHttps(deps.baseUrl)
  if (isPlain && !isPlainLoopback(c, deps))
    throw new HttpError(
      "https_required",
      "Sign in over https, or on the machine itself: over plain HTTP others on the way can read the key.",
    )
}

/**
 * The token that the browser sent; undefined when it sent none. A page that a proxy on this machine passes on without a word has no
 * `Origin`, so that it seems to be plain HTTP: its cookie is still that of https.
 */
export const sessionTokenOf = (c: Context, deps: CookieParts): string | undefined =>
  getCookie(c, NAME, "host") ?? (isPlainLoopback(c, deps) ? getCookie(c, NAME) : undefined)

const OPTIONS = { path: "/", httpOnly: true, sameSite: "Strict" } as const

/** Gives the browser a token. It forgets it when it is closed; the service ends the session earlier. */
export function giveSessionToken(c: Context, deps: CookieParts, token: string): void {
  if (isPlainLoopback(c, deps)) setCookie(c, NAME, token, OPTIONS)
  else setCookie(c, NAME, token, { ...OPTIONS, secure: true, prefix: "host" })
}

/** Makes the browser forget its token. */
export function takeSessionToken(c: Context, deps: CookieParts): void {
  if (isPlainLoopback(c, deps)) deleteCookie(c, NAME, OPTIONS)
  else deleteCookie(c, NAME, { ...OPTIONS, secure: true, prefix: "host" })
}
