/** Permits in Express: `app.post(path, express.raw(…), requirePermit(…), handler)`. docs/executors.md. */
import { PERMIT_HEADER } from "./permit-claims.ts"
import { checkedOptions, type PermitOptions, permittedRequest } from "./permitted-request.ts"
import { APPROVALS_HEADER } from "./shown-approvals.ts"

export type { PermitOptions } from "./permitted-request.ts"

/** What is used of Express's request and response. */
type ExpressRequest = { get(name: string): string | undefined; readonly body?: unknown }
type ExpressResponse = {
  readonly locals: { [name: string]: unknown }
  status(code: number): { json(body: unknown): unknown }
}

/**
 * Lets a request through whose permit allows its body, and answers any other with 401, 403 or 503; the claims are `response.locals.permit`,
 * and who approved, where that is demanded, `response.locals.approved`.
 * The body must be the raw bytes, as `express.raw` leaves them: a body that was parsed is not what was permitted.
 * @throws RangeError for approvals that nobody can give, when the service starts
 */
export function requirePermit(
  given: PermitOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  const options = checkedOptions(given)
  return async (request, response, next) => {
    try {
      const { body } = request
      if (!(body instanceof Uint8Array))
        throw new TypeError("requirePermit needs the raw body: use express.raw before it")
      const shown = { permit: request.get(PERMIT_HEADER), approvals: request.get(APPROVALS_HEADER) }
      const checked = await permittedRequest(shown, body, options)
      if ("status" in checked) {
        response.status(checked.status).json(checked.body)
        return
      }
      response.locals.permit = checked.claims
      response.locals.approved = checked.approved
    } catch (error) {
      next(error)
      return
    }
    next()
  }
}
