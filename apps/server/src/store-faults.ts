/** Requests that the record store failed, told to the operator: the caller of one learns only that it did. */
import type { Logger } from "pino"
import type { StoreError, StoreErrorCode } from "./store/errors.ts"

/** Of each kind of failure at most one line in so long a time, however many requests meet it, in milliseconds. */
export const FAULT_TOLD_EVERY_MS = 10_000

export type FaultParts = {
  readonly logger: Pick<Logger, "warn">
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/**
 * The function that is told of every such request. The first failure of a kind is written at once, with its SQLSTATE; those
 * that follow within the time are counted in the next line. Neither holds anything of the request or the statement.
 */
export function openStoreFaults({ logger, nowMs }: FaultParts): (error: StoreError) => void {
  const kinds = new Map<StoreErrorCode, { readonly at: number; untold: number }>()
  return ({ code, sqlstate }) => {
    const now = nowMs()
    const known = kinds.get(code)
    if (known !== undefined && Math.abs(now - known.at) < FAULT_TOLD_EVERY_MS) {
      known.untold++
      return
    }
    logger.warn({ code, sqlstate, requests: 1 + (known?.untold ?? 0) }, "the record store failed requests")
    kinds.set(code, { at: now, untold: 0 })
  }
}
