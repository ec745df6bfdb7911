/** A small payment service that does nothing without a permit. It keeps its transfers in memory. */
import { type PermitOptions, type PermitVariables, requirePermit } from "@runseal/permit/hono"
import { Hono } from "hono"
import { bodyLimit } from "hono/body-limit"

/** A transfer that was made, and the permit that allowed it. */
export type Transfer = { readonly amount: string; readonly to: string; readonly permit_id: string }

const ORDER_MAX_BYTES = 4096

/** @param accepts whose permits count, and for which act; the payload is the body of the request */
export function paymentService(accepts: PermitOptions): Hono<{ Variables: PermitVariables }> {
  const transfers: Transfer[] = []
  const service = new Hono<{ Variables: PermitVariables }>()
  service.post("/transfers", bodyLimit({ maxSize: ORDER_MAX_BYTES }), requirePermit(accepts), async context => {
    const order: unknown = await context.req.json().catch(() => undefined)
    if (!isOrder(order)) return context.json({ ok: false, error: "amount and to are needed, both as text." }, 400)
    const transfer = { amount: order.amount, to: order.to, permit_id: context.get("permit").jti }
    transfers.push(transfer)
    return context.json({ ok: true, ...transfer }, 201)
  })
  service.get("/transfers", context => context.json({ ok: true, transfers }))
  return service
}

const isOrder = (order: unknown): order is { readonly amount: string; readonly to: string } =>
  typeof order === "object" &&
  order !== null &&
  "amount" in order &&
  typeof order.amount === "string" &&
  "to" in order &&
  typeof order.to === "string"
