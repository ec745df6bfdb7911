/** Permits in Hono: `app.post("/transfers", requirePermit({ … }), handler)`. docs/executors.md. */
import { PERMIT_HEADER, type PermitClaims } from "./permit-claims.ts"
import { checkedOptions, type PermitOptions, permittedRequest } from "./permitted-request.ts"
import { APPROVALS_HEADER, type ProvenApprovals } from "./shown-approvals.ts"

export type { PermitOptions } from "./permitted-request.ts"

/**
 * `new Hono<{ Variables: PermitVariables }>()`: the handler's `context.get("permit")` has the claims, and `context.get("approved")` who approved,
 * where that is demanded.
 */
export type PermitVariables = { permit: PermitClaims; approved: ProvenApprovals | undefined }

/** What is used of Hono's context. */
type HonoContext = {
  readonly req: { header(name: string): string | undefined; arrayBuffer(): Promise<ArrayBuffer> }
  set(name: "permit", claims: PermitClaims): void
  set(name: "approved", approved: ProvenApprovals | undefined): void
}

/**
 * Lets a request through whose permit allows its body, and answers any other with 401, 403 or 503. Hono keeps the body that was read: the
 * handler reads it again. Bound it with Hono's `bodyLimit` before.
 * @throws RangeError for approvals that nobody can give, when the service starts
 */
export function requirePermit(
  given: PermitOptions,
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const options = checkedOptions(given)
  return async (context, next) => {
    const body = new Uint8Array(await context.req.arrayBuffer())
    const shown = { permit: context.req.header(PERMIT_HEADER), approvals: context.req.header(APPROVALS_HEADER) }
    const checked = await permittedRequest(shown, body, options)
    if ("status" in checked) return Response.json(checked.body, { status: checked.status })
    context.set("permit", checked.claims)
    context.set("approved", checked.approved)
    await next()
    return undefined
  }
}
