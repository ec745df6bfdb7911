/** A small payment service that does nothing without a permit, and pays much only with two approvals. It keeps its transfers in memory. */
import type { ExpectedApprovals } from "@runseal/permit"
import { type PermitOptions, type PermitVariables } from "@runseal/permit/hono"
import { Hono } from "hono"
/** A transfer that was made, the permit that allowed it, and the subjects of those who approved it. */
export type Transfer = {
  readonly amount: string
  readonly to: string
  readonly permit_id: string
  readonly approved_by?: readonly string[]
}
/**
 * @param accepts whose permits count, and for which act; the payload is the body of the request
 * @param approverKeys passkeys of those who approve large orders; absent: no order needs an approval
 */
export declare function paymentService(
  accepts: PermitOptions,
  approverKeys?: ExpectedApprovals["keys"],
): Hono<{
  Variables: PermitVariables
}>
