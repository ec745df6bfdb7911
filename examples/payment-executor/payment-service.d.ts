/** A small payment service that does nothing without a permit. It keeps its transfers in memory. */
import { type PermitOptions, type PermitVariables } from "@runseal/permit/hono"
import { Hono } from "hono"
/** A transfer that was made, and the permit that allowed it. */
export type Transfer = {
  readonly amount: string
  readonly to: string
  readonly permit_id: string
}
/** @param accepts whose permits count, and for which act; the payload is the body of the request */
export declare function paymentService(accepts: PermitOptions): Hono<{
  Variables: PermitVariables
}>
