/**
 * How long a caller waits for a decision, and when the service counts as away. One breaker belongs to one client, so a program makes
 * one client and shares it. docs/doors/README.md, "When the service is away".
 */
import { HttpStatusError, NetworkError, RunsealError, TimeoutError } from "./client-errors.ts"
import type { Platform } from "./platform.ts"
import { isTransient } from "./retry.ts"

/** What becomes of an act without a decision: `open`, it is done all the same; `closed`, it is not done. */
export type Fail = "open" | "closed"

/** Milliseconds that a caller waits for a decision, unless the client's `decisionMs` says otherwise. */
const DECISION_DEFAULT_MS: Readonly<Record<Fail, number>> = { open: 2_000, closed: 10_000 }
/** Milliseconds that it waits under `closed` while the service is away. */
const AWAY_WAIT_MS = 1_000
/** Failures in a row after which the service counts as away. */
const FAILURES_MAX = 3
/** Milliseconds between two calls that find out whether it is back. */
const PROBE_EVERY_MS = 5_000
/** Longest time that the service can ask for with `Retry-After`, in milliseconds. */
const PAUSE_MAX_MS = 60_000

/** The service is away, and under `open` it was not asked. Nothing was sent. */
export class ServiceAwayError extends RunsealError {
  override readonly name = "ServiceAwayError"

  constructor() {
    super("The service is away and was not asked.")
  }
}

export type Breaker = {
  /**
   * Asks for a decision, within a time.
   * @param ask sends the request; its caller gets what it throws
   * @throws ServiceAwayError under `open` while the service is away, but for one call in PROBE_EVERY_MS
   */
  readonly decision: <T>(fail: Fail, ask: (waitMs: number) => Promise<T>) => Promise<T>
}

/** @param decisionMs what a caller waits while the service is not away; undefined: the defaults */
export function breakerWith({ now }: Pick<Platform, "now">, decisionMs: number | undefined): Breaker {
  let failures = 0
  let probeAt = 0
  let isProbing = false
  const isAway = (): boolean => failures >= FAILURES_MAX
  const notBefore = (ms: number): void => {
    probeAt = Math.max(probeAt, now() + ms)
  }
  const failed = (error: unknown): void => {
    const pause = error instanceof HttpStatusError ? error.retryAfterSeconds : undefined
    if (pause !== undefined) notBefore(Math.min(pause * 1000, PAUSE_MAX_MS))
    failures = pause === undefined ? failures + 1 : Math.max(failures + 1, FAILURES_MAX)
    if (failures === FAILURES_MAX) notBefore(PROBE_EVERY_MS)
  }
  return {
    decision: async (fail, ask) => {
      const waitMs = decisionMs ?? DECISION_DEFAULT_MS[fail]
      const isProbe = isAway() && !isProbing && now() >= probeAt
      const isShort = isAway() && !isProbe
      if (isShort && fail === "open") throw new ServiceAwayError()
      isProbing ||= isProbe
      try {
        const answer = await ask(isShort ? Math.min(waitMs, AWAY_WAIT_MS) : waitMs)
        failures = 0
        return answer
      } catch (error) {
        if (meansAway(error)) failed(error)
        else if (error instanceof HttpStatusError) failures = 0
        throw error
      } finally {
        if (isProbe) {
          isProbing = false
          notBefore(PROBE_EVERY_MS)
        }
      }
    },
  }
}

/** Whether an error says that the service cannot answer for the moment, or was not asked. */
export const meansAway = (error: unknown): boolean =>
  error instanceof ServiceAwayError ||
  error instanceof NetworkError ||
  error instanceof TimeoutError ||
  (error instanceof HttpStatusError && (isTransient(error) || error.status >= 500))
