/**
 * Addresses of this service in answers: under `--base-url`, else under the address that the request was sent to. That address is the
 * caller's word, so it goes into answers for this caller only, never into what is signed, stored or passed on.
 */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"

/** Address of the service, without a final slash. */
export const serviceUrl = (c: Context, { baseUrl }: Pick<Deps, "baseUrl">): string =>
  baseUrl ?? new URL(c.req.url).origin

/** Path of a published run's bundle. */
export const publicBundlePath = (token: string): string => `/public/runs/${token}/bundle.json`

/** Public address of a published run's bundle. */
export const publicBundleUrl = (c: Context, deps: Pick<Deps, "baseUrl">, token: string): string =>
  `${serviceUrl(c, deps)}${publicBundlePath(token)}`
