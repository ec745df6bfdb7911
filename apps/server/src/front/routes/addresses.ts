/** Addresses of ours that answers name: under the operator's address, else under the one the caller reached us by. */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"

/** Address of the service, without a final slash. */
export const serviceUrl = (c: Context, { baseUrl }: Pick<Deps, "baseUrl">): string =>
  baseUrl ?? new URL(c.req.url).origin

/** Where anybody reads the bundle of a published run. */
export const publicBundleUrl = (c: Context, deps: Pick<Deps, "baseUrl">, token: string): string =>
  `${serviceUrl(c, deps)}/public/runs/${token}/bundle.json`
