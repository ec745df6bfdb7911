/**
 * Mints Moments. Within a process the clock does not go back, so that its records are in order: a small step back is waited
 * for. After a large one it goes by the clock again. What was sealed before that keeps the log waiting (log-clock.ts); what was
 * not must not give every later record a time so far from the log's that none of them would verify.
 */
import { randomBytes } from "node:crypto"
import type { Moment } from "@runseal/core/formulas/moment"
import { MAX_LOG_CLOCK_SKEW_SECONDS } from "./log-clock.ts"

const NONCE_BYTES = 32
const SEED_BYTES = 32

type MomentSource = () => Moment

/** A source over a millisecond clock. */
export function momentSource(nowMs: () => number): MomentSource {
  let last = 0
  return () => {
    const now = nowMs()
    last = last - now > MAX_LOG_CLOCK_SKEW_SECONDS * 1000 ? now : Math.max(last, now)
    const random = randomBytes(NONCE_BYTES + SEED_BYTES)
    return {
      at: new Date(last).toISOString(),
      nonce: random.toString("hex", 0, NONCE_BYTES),
      seed: random.toString("hex", NONCE_BYTES),
    }
  }
}
