/** The order in which the requests are sealed that a door sends for one of its own, such as the spans of a request of OTLP. */
import type { Context } from "hono"

/** Sends a request to the service. */
type Send = (request: Request, env?: unknown) => Promise<Response>

/** Resolves when all requests before it are in the sealer's queue, or answered. The request itself goes into it right then. */
type Slot = () => Promise<void>

/** A mark in the environment of a request, which no caller can send. */
const SLOT = Symbol("slot of a request of a door")

/**
 * What is sent by the function that this gives is sealed in the order in which it is sent. Without it, a run that is denied, and so charges no
 * window, would be sealed before earlier ones whose charge is being made. Only the last step waits: all steps before it are taken beside each other.
 */
export function inOrder(send: Send): Send {
  let allBefore: Promise<unknown> = Promise.resolve()
  return (request, env) => {
    const before = allBefore
    let passOn = (): void => undefined
    const own = new Promise<void>(resolve => {
      passOn = resolve
    })
    allBefore = Promise.all([before, own])
    const slot: Slot = async () => {
      await before
      passOn()
    }
    const marked = { ...(typeof env === "object" ? env : {}), [SLOT]: slot }
    return send(request, marked).finally(passOn)
  }
}

/** Resolves at once for a request that no door sent in an order. */
export const slotOf = (c: Context<{ Bindings: { readonly [SLOT]?: Slot } }>): Slot => c.env?.[SLOT] ?? (async () => {})
