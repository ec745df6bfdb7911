/** A small payment service that does nothing without a permit, and pays much only with two approvals. It keeps its transfers in memory. */
import type { ExpectedApprovals } from "@runseal/permit"
import { type PermitOptions, type PermitVariables, requirePermit } from "@runseal/permit/hono"
import { Hono } from "hono"
import { bodyLimit } from "hono/body-limit"

/** A transfer that was made, the permit that allowed it, and the subjects of those who approved it. */
export type Transfer = {
  readonly amount: string
  readonly to: string
  readonly permit_id: string
  readonly approved_by?: readonly string[]
}

const ORDER_MAX_BYTES = 4096
/** From this amount on two persons approve an order with their passkeys. */
const APPROVED_FROM = 10_000
/** A plain decimal number, so that an amount is large for everybody or for nobody. */
const AMOUNT = /^\d{1,12}\.\d{2}$/

/**
 * @param accepts whose permits count, and for which act; the payload is the body of the request
 * @param approverKeys passkeys of those who approve large orders; absent: no order needs an approval
 */
export function paymentService(
  accepts: PermitOptions,
  approverKeys?: ExpectedApprovals["keys"],
): Hono<{ Variables: PermitVariables }> {
  const transfers: Transfer[] = []
  /** Requests whose approval was used. In a service of your own: a unique index, in the transaction of the transfer. */
  const used = new Set<string>()
  const use_once = (request_hash: string): boolean =>
    !used.has(request_hash) && used.add(request_hash).has(request_hash)
  const permitted = requirePermit(accepts)
  const approved = approverKeys && requirePermit({ ...accepts, approvals: { count: 2, keys: approverKeys, use_once } })

  const service = new Hono<{ Variables: PermitVariables }>()
  service.post(
    "/transfers",
    bodyLimit({ maxSize: ORDER_MAX_BYTES }),
    async (context, next) => {
      const order = orderOf(await context.req.arrayBuffer())
      const isLarge = order !== undefined && Number(order.amount) >= APPROVED_FROM
      return await (isLarge && approved ? approved : permitted)(context, next)
    },
    async context => {
      const order = orderOf(await context.req.arrayBuffer())
      if (order === undefined)
        return context.json({ ok: false, error: "amount, such as 120.00, and to are needed, both as text." }, 400)
      const persons = context.get("approved")?.persons
      const transfer: Transfer = {
        ...order,
        permit_id: context.get("permit").jti,
        ...(persons && { approved_by: persons.map(({ subject }) => subject) }),
      }
      transfers.push(transfer)
      return context.json({ ok: true, ...transfer }, 201)
    },
  )
  service.get("/transfers", context => context.json({ ok: true, transfers }))
  return service
}

/** The order of a body, read from the bytes that are permitted; undefined for what is none. */
function orderOf(body: ArrayBuffer): { readonly amount: string; readonly to: string } | undefined {
  const order = jsonOf(new TextDecoder().decode(body))
  if (typeof order !== "object" || order === null || !("amount" in order && "to" in order)) return undefined
  const { amount, to } = order
  return typeof amount === "string" && AMOUNT.test(amount) && typeof to === "string" ? { amount, to } : undefined
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
