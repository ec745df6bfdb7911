/** When a call is retried, and after how long. Only calls that are safe to retry come here. */
import { HttpStatusError, NetworkError, TimeoutError } from "./client-errors.ts"

/** Longest wait before the first retry, in milliseconds; it doubles with each. */
const BACKOFF_BASE_MS = 500

/** Statuses that mean "retry": the request did not arrive in time (decision 0275), too many requests, and what proxies answer for a service that is down or slow. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

/** Also a 409 with `Retry-After`: the first call under the idempotency key is still running. */
export const isTransient = ({ status, retryAfterSeconds }: HttpStatusError): boolean =>
  TRANSIENT.has(status) || (status === 409 && retryAfterSeconds !== undefined)

/**
 * Milliseconds to wait after a failed attempt, undefined when a retry would not help. Exponential backoff with full jitter,
 * unless the service named a time.
 * @param attempt 0 for the first
 */
export function retryDelayMs(error: unknown, attempt: number, random: () => number): number | undefined {
  const backoff = random() * BACKOFF_BASE_MS * 2 ** attempt
  if (error instanceof NetworkError || error instanceof TimeoutError) return backoff
  if (!(error instanceof HttpStatusError) || !isTransient(error)) return undefined
  return error.retryAfterSeconds === undefined ? backoff : error.retryAfterSeconds * 1000
}

const SECONDS = /^\d{1,9}$/
/** IMF-fixdate. The two obsolete forms of RFC 9110 §5.6.7 count as absent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Seconds from now that a `Retry-After` field asks for (RFC 9110 §10.2.3), rounded up; undefined when it says nothing. */
export function parseRetryAfter(field: string | null, nowMs: number): number | undefined {
  if (field === null) return undefined
  if (SECONDS.test(field)) return Number(field)
  const at = HTTP_DATE.test(field) ? Date.parse(field) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}
