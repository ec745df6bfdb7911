/** Mints Moments. The clock never goes back within a process, so that records of one process are in order. */
import { randomBytes } from "node:crypto"
import type { Moment } from "@runseal/core/formulas/moment"

export type MomentSource = () => Moment

/** A source over a millisecond clock. */
export function momentSource(nowMs: () => number): MomentSource {
  let last = 0
  return () => {
    last = Math.max(last, nowMs())
    return {
      at: new Date(last).toISOString(),
      nonce: randomBytes(32).toString("hex"),
      seed: randomBytes(32).toString("hex"),
    }
  }
}
