/** Permits in Hono: `app.post("/transfers", requirePermit({ … }), handler)`. docs/executors.md. */
import { PERMIT_HEADER, type PermitClaims } from "./permit-claims.ts"
import { type PermitOptions, permittedRequest } from "./permitted-request.ts"

export type { PermitOptions } from "./permitted-request.ts"

/** `new Hono<{ Variables: PermitVariables }>()`: the handler's `context.get("permit")` has the claims. */
export type PermitVariables = { permit: PermitClaims }

/** What is used of Hono's context. */
type HonoContext = {
  readonly req: { header(name: string): string | undefined; arrayBuffer(): Promise<ArrayBuffer> }
  set(name: "permit", claims: PermitClaims): void
}

/**
 * Lets a request through whose permit allows its body, and answers any other with 401, 403 or 503. Hono keeps the body that was read: the
 * handler reads it again. Bound it with Hono's `bodyLimit` before.
 */
export const requirePermit =
  (options: PermitOptions) =>
  async (context: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const body = new Uint8Array(await context.req.arrayBuffer())
    const checked = await permittedRequest(context.req.header(PERMIT_HEADER), body, options)
    if ("status" in checked) return Response.json(checked.body, { status: checked.status })
    context.set("permit", checked.claims)
    await next()
    return undefined
  }
