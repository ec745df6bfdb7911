/** For the thread that makes the template: two makings give the same bytes, so that two machines make the same package. */
import { syncBuiltinESMExports } from "node:module"

/** 2026-01-01T00:00:00Z in milliseconds: the time of every row of the write-ahead log. */
const MADE_AT_MS = 1_767_225_600_000

/**
 * Stops the clock and the randomness that a database reads in this thread. What initdb draws is the system identifier, which each database
 * gets anew (own-identifier.ts), and a nonce for passwords, of which an embedded database has none.
 */
export function stopClockAndRandomness(): void {
  Date.now = () => MADE_AT_MS
  const randomFillSync = (bytes: Uint8Array): Uint8Array => bytes.fill(7)
  Object.assign(process.getBuiltinModule("node:crypto"), { randomFillSync })
  syncBuiltinESMExports()
}
