/** The check of a request that asks for an act, as the middlewares make it. */
import type { Fetch } from "./clock-and-network.ts"
import type { PermitClaims } from "./permit-claims.ts"
import type { PermitRefusal, RefusedPermit } from "./permit-refusals.ts"
import { redeemPermit } from "./redeem-permit.ts"
import { type ExpectedAct, type ExpectedKeys, verifyPermit } from "./verify-permit.ts"

/** Which permits a route of an HTTP service accepts: their payload is the body of the request, byte by byte. */
export type PermitOptions = ExpectedKeys &
  ExpectedAct & {
    /** Address of the service, which is asked to redeem each permit before the act. Absent: a permit that must be redeemed is refused. */
    readonly redeem?: string | URL | undefined
    /** Sends the redemption; the platform's `fetch` when absent. */
    readonly fetch?: Fetch | undefined
  }

/** Statuses of refusals: who has no valid permit, who has one for another act, and who cannot be judged now. */
const FORBIDDEN: ReadonlySet<PermitRefusal> = new Set([
  "wrong_audience",
  "wrong_tenant",
  "wrong_payload",
  "wrong_route",
  "wrong_program",
  "observed",
  "redeem_required",
  "already_redeemed",
  "redeem_refused",
])
const UNAVAILABLE: ReadonlySet<PermitRefusal> = new Set(["keys_unavailable", "redeem_unavailable"])

/** The answer to a refused request. */
export type RefusedRequest = {
  readonly status: 401 | 403 | 503
  readonly body: { readonly ok: false; readonly error: string; readonly code: PermitRefusal }
}

const answerTo = ({ reason: code, message: error }: RefusedPermit): RefusedRequest => ({
  status: UNAVAILABLE.has(code) ? 503 : FORBIDDEN.has(code) ? 403 : 401,
  body: { ok: false, error, code },
})

/** The claims of a permitted request, or the answer to a refused one. @param permit the header's value */
export async function permittedRequest(
  permit: string | undefined,
  body: Uint8Array,
  { redeem, fetch: send, ...expected }: PermitOptions,
): Promise<{ readonly claims: PermitClaims } | RefusedRequest> {
  const verdict = await verifyPermit(permit ?? "", { ...expected, payload: body, redeems: redeem !== undefined })
  if (!verdict.ok) return answerTo(verdict)
  const redemption = redeem === undefined ? verdict : await redeemPermit(permit ?? "", verdict.claims.jti, redeem, send)
  return redemption.ok ? { claims: verdict.claims } : answerTo(redemption)
}
