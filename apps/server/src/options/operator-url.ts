/** Addresses from the operator's options. The service sends requests to no others. */

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/

/** Whether only this machine reaches a host. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/**
 * Reads an http or https address. Undefined for another scheme, and for an address with credentials, a query or a fragment.
 * @param http whether http may reach other machines, or this one only
 */
export function operatorUrl(text: string, http: "anywhere" | "this machine" = "this machine"): URL | undefined {
  const url = URL.parse(text)
  if (url === null || `${url.username}${url.password}` !== "" || /[?#]/.test(text)) return undefined
  if (url.protocol === "https:") return url
  return url.protocol === "http:" && (http === "anywhere" || isLoopback(url.hostname)) ? url : undefined
}

/** The same address with a slash at its end, so that relative paths are resolved below it. */
export function asFolder(url: URL | undefined): URL | undefined {
  if (url !== undefined && !url.pathname.endsWith("/")) url.pathname += "/"
  return url
}
