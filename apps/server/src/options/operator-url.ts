/** Addresses that the operator names: the only ones that the service sends requests to. */

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Reads an http or https address. Undefined for another scheme, and where credentials, a query or a fragment stand in it.
 * @param http whether http may reach other machines, or this one only
 */
export function operatorUrl(text: string, http: "anywhere" | "this machine" = "this machine"): URL | undefined {
  const url = URL.parse(text)
  if (url === null || `${url.username}${url.password}` !== "" || /[?#]/.test(text)) return undefined
  if (url.protocol === "https:") return url
  return url.protocol === "http:" && (http === "anywhere" || LOOPBACK.test(url.hostname)) ? url : undefined
}

/** The same address with a slash at its end: what is resolved against it stands below it. */
export function asFolder(url: URL | undefined): URL | undefined {
  if (url !== undefined && !url.pathname.endsWith("/")) url.pathname += "/"
  return url
}
