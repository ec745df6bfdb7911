/** When a call is repeated, and after how long. Only calls that are safe to repeat come here. */
import { HttpStatusError, NetworkError, TimeoutError } from "./client-errors.ts"

/** Bound of the wait before the first repeat, in milliseconds; it doubles with each. */
const BACKOFF_BASE_MS = 500

/** Answers that say "later": too many requests, and what proxies say of a service that is down or slow. */
const TRANSIENT: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Also a 409 that says when to come again: the first call under the idempotency key is still under way. */
const isTransient = ({ status, retryAfterSeconds }: HttpStatusError): boolean =>
  TRANSIENT.has(status) || (status === 409 && retryAfterSeconds !== undefined)

/**
 * Milliseconds to wait after the failure of an attempt, undefined when a repeat would not help. Exponential backoff with
 * full jitter, unless the service said how long.
 * @param attempt 0 for the first
 */
export function retryDelayMs(error: unknown, attempt: number, random: () => number): number | undefined {
  const backoff = random() * BACKOFF_BASE_MS * 2 ** attempt
  if (error instanceof NetworkError || error instanceof TimeoutError) return backoff
  if (!(error instanceof HttpStatusError) || !isTransient(error)) return undefined
  return error.retryAfterSeconds === undefined ? backoff : error.retryAfterSeconds * 1000
}

const SECONDS = /^\d{1,9}$/
/** IMF-fixdate. The two obsolete forms of RFC 9110 §5.6.7 are read as if nothing was said. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Seconds from now that a `Retry-After` field asks for (RFC 9110 §10.2.3), rounded up; undefined when it says nothing. */
export function parseRetryAfter(field: string | null, nowMs: number): number | undefined {
  if (field === null) return undefined
  if (SECONDS.test(field)) return Number(field)
  const at = HTTP_DATE.test(field) ? Date.parse(field) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}
