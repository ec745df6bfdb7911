/**
 * How long a caller waits for a decision, and when a service counts as away. All clients of a process that send in the same way to one address
 * share what is known of it. docs/doors/README.md, "When the service is away".
 */
import { HttpStatusError, NetworkError, RunsealError, TimeoutError } from "./client-errors.ts"
import type { Fetch, Platform } from "./platform.ts"

/** What becomes of an act without a decision: `open`, it is done all the same; `closed`, it is not done. */
export type Fail = "open" | "closed"
/** Whether a refusal stops a call, or is sealed and stops nothing. */
export type Mode = "enforce" | "observe"

/** What becomes of a call without a decision: one that is only observed goes on, as one does that fails open. */
export const failOf = ({ mode, fail }: { readonly mode?: Mode | undefined; readonly fail?: Fail | undefined }): Fail =>
  mode === "observe" ? "open" : (fail ?? "closed")

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
/** Most services that a process knows; one that is forgotten counts as there. */
const SERVICES_MAX = 64
/**
 * Statuses by which a service, or a proxy before it, says that it is busy or away. Not 500: that is the answer to one request, whose sender
 * could otherwise let the calls of all others pass undecided.
 */
const AWAY: readonly number[] = [429, 502, 503, 504]

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

/** What is known of a service. */
type Known = { failures: number; probeAt: number; isProbing: boolean }
const services = new WeakMap<Fetch, Map<string, Known>>()

function knownOf(fetch: Fetch, address: string): Known {
  const known = services.get(fetch) ?? new Map<string, Known>()
  services.set(fetch, known)
  const found = known.get(address) ?? { failures: 0, probeAt: 0, isProbing: false }
  known.set(address, found)
  for (const oldest of known.keys()) {
    if (known.size <= SERVICES_MAX) break
    known.delete(oldest)
  }
  return found
}

/** @param decisionMs what a caller waits while the service is not away; undefined: the defaults */
export function breakerOf(
  { fetch, now }: Pick<Platform, "fetch" | "now">,
  address: string,
  decisionMs: number | undefined,
): Breaker {
  const known = knownOf(fetch, address)
  const isAway = (): boolean => known.failures >= FAILURES_MAX
  const notBefore = (ms: number): void => {
    known.probeAt = Math.max(known.probeAt, now() + ms)
  }
  const failed = (error: unknown): void => {
    const pause = error instanceof HttpStatusError ? error.retryAfterSeconds : undefined
    if (pause !== undefined) notBefore(Math.min(pause * 1000, PAUSE_MAX_MS))
    known.failures = pause === undefined ? known.failures + 1 : Math.max(known.failures + 1, FAILURES_MAX)
    if (known.failures === FAILURES_MAX) notBefore(PROBE_EVERY_MS)
  }
  return {
    decision: async (fail, ask) => {
      const waitMs = decisionMs ?? DECISION_DEFAULT_MS[fail]
      const isProbe = isAway() && !known.isProbing && now() >= known.probeAt
      const isShort = isAway() && !isProbe
      if (isShort && fail === "open") throw new ServiceAwayError()
      known.isProbing ||= isProbe
      try {
        const answer = await ask(isShort ? Math.min(waitMs, AWAY_WAIT_MS) : waitMs)
        known.failures = 0
        return answer
      } catch (error) {
        if (meansAway(error) && !isOfRequest(error)) failed(error)
        else if (error instanceof HttpStatusError) known.failures = 0
        throw error
      } finally {
        if (isProbe) {
          known.isProbing = false
          notBefore(PROBE_EVERY_MS)
        }
      }
    },
  }
}

/**
 * Whether the identity provider is away and not the service, or as many acts wait for people as may. Who sends a token of an unknown key, or
 * acts that need an approval, gets this answer, and must not let the calls of all others pass undecided.
 */
const isOfRequest = (error: unknown): boolean =>
  error instanceof HttpStatusError && (error.code === "end_user_unavailable" || error.code === "too_many_approvals")

/** Whether an error says that the service cannot answer for the moment, or was not asked. */
export const meansAway = (error: unknown): boolean =>
  error instanceof ServiceAwayError ||
  error instanceof NetworkError ||
  error instanceof TimeoutError ||
  (error instanceof HttpStatusError && AWAY.includes(error.status))
