/**
 * Mints Moments. Within a process their time does not go back, so that its records are in order: after a small step back of the
 * clock, Moments repeat the last time. After a large step they follow the clock again: otherwise, if nothing was sealed before the
 * step, every later record would have a time too far from the log's to verify. If something was, sealing waits (log-clock.ts).
 */
import { randomBytes } from "node:crypto"
import type { Moment } from "@runseal/core/formulas/moment"

/** Furthest that a Moment may be ahead of the clock, in milliseconds. */
export const MAX_AHEAD_MS = 60_000
const NONCE_BYTES = 32
const SEED_BYTES = 32

type MomentSource = () => Moment

/** A source over a millisecond clock. */
export function createMomentSource(nowMs: () => number): MomentSource {
  let last = 0
  return () => {
    const now = nowMs()
    last = last - now > MAX_AHEAD_MS ? now : Math.max(last, now)
    const random = randomBytes(NONCE_BYTES + SEED_BYTES)
    return {
      at: new Date(last).toISOString(),
      nonce: random.toString("hex", 0, NONCE_BYTES),
      seed: random.toString("hex", NONCE_BYTES),
    }
  }
}
