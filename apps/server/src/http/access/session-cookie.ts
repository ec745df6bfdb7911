/**
 * The cookies of sessions and of sign-ins. Over https the first is `__Host-runseal-session`, which a browser takes and sends over https alone, and which no other
 * host name can set. Over plain HTTP, on the machine itself only, it has another name, because browsers refuse the first there.
 */
import type { Context } from "hono"
import { deleteCookie, getCookie, setCookie } from "hono/cookie"
import { HttpError } from "../../http-error.ts"
import { forwardsHttps, type Proxies } from "../caller-address.ts"

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

/** A cookie of this service. Over https its name has the prefix `__Host-`. */
export type OwnCookie = { readonly name: string; readonly maxAgeSeconds?: number }

/** The session. The browser forgets it when it is closed; the service ends it earlier. */
const SESSION: OwnCookie = { name: "runseal-session" }

/**
 * The value that the browser sent; undefined when it sent none. A page that a proxy on this machine passes on without a word has no
 * `Origin`, so that it seems to be plain HTTP: its cookie is still that of https.
 */
export const cookieOf = (c: Context, deps: CookieParts, { name }: OwnCookie): string | undefined =>
  getCookie(c, name, "host") ?? (isPlainLoopback(c, deps) ? getCookie(c, name) : undefined)

/**
 * Lax: a browser sends it with a link that leads here from another site, as the identity provider's answer does, and not with forms, frames
 * and requests of other sites.
 */
const OPTIONS = { path: "/", httpOnly: true, sameSite: "Lax" } as const

/** Gives the browser a cookie. */
export function giveCookie(c: Context, deps: CookieParts, { name, maxAgeSeconds }: OwnCookie, value: string): void {
  const options = { ...OPTIONS, ...(maxAgeSeconds === undefined ? {} : { maxAge: maxAgeSeconds }) }
  if (isPlainLoopback(c, deps)) setCookie(c, name, value, options)
  else setCookie(c, name, value, { ...options, secure: true, prefix: "host" })
}

/** Makes the browser forget a cookie. */
export function takeCookie(c: Context, deps: CookieParts, { name }: OwnCookie): void {
  if (isPlainLoopback(c, deps)) deleteCookie(c, name, OPTIONS)
  else deleteCookie(c, name, { ...OPTIONS, secure: true, prefix: "host" })
}

/** The token of the session that the browser sent; undefined when it sent none. */
export const sessionTokenOf = (c: Context, deps: CookieParts): string | undefined => cookieOf(c, deps, SESSION)
export const giveSessionToken = (c: Context, deps: CookieParts, token: string): void =>
  giveCookie(c, deps, SESSION, token)
export const takeSessionToken = (c: Context, deps: CookieParts): void => takeCookie(c, deps, SESSION)
