/** The check of a request that asks for an act, as the middlewares make it. */
import type { Fetch } from "./clock-and-network.ts"
import type { PermitClaims } from "./permit-claims.ts"
import { type PermitRefusal, type RefusedPermit, refused } from "./permit-refusals.ts"
import { redeemPermit } from "./redeem-permit.ts"
import { type ExpectedApprovals, type ProvenApprovals, readExpectedApprovals } from "./shown-approvals.ts"
import { type ExpectedAct, type ExpectedKeys, verifyPermit } from "./verify-permit.ts"

/** Which permits a route of an HTTP service accepts: their payload is the body of the request, byte by byte. */
export type PermitOptions = ExpectedKeys &
  ExpectedAct & {
    /** Address of the service, which is asked to redeem each permit before the act. Absent: a permit that must be redeemed is refused. */
    readonly redeem?: string | URL | undefined
    /** Sends the redemption; the platform's `fetch` when absent. */
    readonly fetch?: Fetch | undefined
    /** Approvals that each act needs besides its permit. Absent: none. */
    readonly approvals?: RequiredApprovals | undefined
  }

/** Whose approvals are needed, and how an approval is used up: without that, an operator could open two permits with one approval. */
type RequiredApprovals = ExpectedApprovals & {
  /**
   * Stores the hash of the approved request under a unique index, and says whether it was new. Asked after the redemption and before the act. The
   * entry can be deleted after `until`.
   */
  readonly use_once: (request_hash: string, until: Date) => boolean | Promise<boolean>
}

/** What a request shows besides its body: the values of its headers. */
type ShownHeaders = { readonly permit: string | undefined; readonly approvals: string | undefined }

/** A request whose act is permitted. */
type PermittedRequest = { readonly claims: PermitClaims; readonly approved?: ProvenApprovals }

/** Statuses of refusals: who has no valid permit, who has one for another act, and who cannot be judged now. */
const FORBIDDEN: ReadonlySet<PermitRefusal> = new Set([
  "wrong_audience",
  "wrong_tenant",
  "wrong_payload",
  "wrong_route",
  "wrong_program",
  "observed",
  "approvals_missing",
  "approvals_insufficient",
  "approvals_used",
  "redeem_required",
  "already_redeemed",
  "redeem_refused",
])
const UNAVAILABLE: ReadonlySet<PermitRefusal> = new Set(["keys_unavailable", "redeem_unavailable"])

/** The answer to a refused request. */
type RefusedRequest = {
  readonly status: 401 | 403 | 503
  readonly body: { readonly ok: false; readonly error: string; readonly code: PermitRefusal }
}

const answerTo = ({ reason: code, message: error }: RefusedPermit): RefusedRequest => ({
  status: UNAVAILABLE.has(code) ? 503 : FORBIDDEN.has(code) ? 403 : 401,
  body: { ok: false, error, code },
})

/**
 * Options whose demands of approvals can be met, with the keys as they are read: a mistake in them shows when the service starts.
 * @throws RangeError
 */
export function checkedOptions(options: PermitOptions): PermitOptions {
  const { approvals } = options
  if (approvals === undefined) return options
  const expected = readExpectedApprovals(approvals)
  if (typeof approvals.use_once !== "function")
    throw new RangeError("approvals.use_once is a function that stores each request once, under a unique index")
  return { ...options, approvals: { ...approvals, ...expected } }
}

/** The claims of a permitted request and who approved it, or the answer to a refused one. */
export async function permittedRequest(
  { permit = "", approvals: shown_approvals }: ShownHeaders,
  body: Uint8Array,
  { redeem, fetch: send, approvals, ...expected }: PermitOptions,
): Promise<PermittedRequest | RefusedRequest> {
  const redeems = redeem !== undefined
  const verdict = await verifyPermit(permit, { ...expected, payload: body, redeems, approvals, shown_approvals })
  if (!verdict.ok) return answerTo(verdict)
  const { ok: _, ...permitted } = verdict
  const redemption = redeem === undefined ? verdict : await redeemPermit(permit, verdict.claims.jti, redeem, send)
  if (!redemption.ok) return answerTo(redemption)
  const { approved } = permitted
  const isUsed = approvals && approved && !(await approvals.use_once(approved.request_hash, approved.until))
  return isUsed ? answerTo(refused("approvals_used")) : permitted
}
