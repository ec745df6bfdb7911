/**
 * The one HTTP client of the service, for every request to a reviewer, a signer, a witness, a log or a timestamp authority. A request goes
 * to the address that the operator named; redirects are not followed. Size and time of an answer are bounded. The answer is not trusted:
 * the calling module checks it, and quotes none of its text.
 */
import { setTimeout } from "node:timers/promises"

export type Question = {
  /** Body of a POST; absent: a GET. */
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes of the answer that are read, after any content encoding is undone. */
  readonly maxBytes: number
  /** Deadline for the whole answer. */
  readonly signal: AbortSignal
}

export type HttpAnswer = {
  readonly status: number
  /** Undefined when there are more than `maxBytes`. */
  readonly bytes: Uint8Array | undefined
  readonly location: string | undefined
  readonly contentType: string | undefined
  /** Wait that the Retry-After header asks for, not negative, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

/**
 * Rejects when there is no complete answer before the signal aborts. The error quotes addresses, so it must not be logged or passed on.
 * @param nowMs milliseconds since the epoch, from which a Retry-After date is counted
 */
export async function ask(address: URL | string, question: Question, nowMs = Date.now): Promise<HttpAnswer> {
  const { body, headers = {}, maxBytes, signal } = question
  const sent = body === undefined ? {} : { method: "POST", body }
  const response = await fetch(address, { ...sent, headers, redirect: "manual", signal })
  return {
    status: response.status,
    bytes: await readBounded(response, maxBytes),
    location: response.headers.get("location") ?? undefined,
    contentType: response.headers.get("content-type") ?? undefined,
    retryAfterMs: retryAfterMs(response.headers.get("retry-after"), nowMs()),
  }
}

async function readBounded({ body }: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Reads a Retry-After (RFC 9110 §10.2.3): seconds, or a date. @param now milliseconds since the epoch */
function retryAfterMs(value: string | null, now: number): number | undefined {
  if (value === null) return undefined
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

type Retries = {
  /** Attempts after the first, and only after no answer, 429 or 5xx. */
  readonly most: number
  /** A retry waits for a random part of this time, doubled each time, in milliseconds. */
  readonly firstWaitMs: number
  /** A Retry-After replaces that wait; after one that asks for longer than this there is no further attempt, in milliseconds. */
  readonly longestWaitMs: number
  /** For each attempt, in milliseconds; absent: only the signal ends one. */
  readonly attemptMs?: number
}

/** Clock, timer and randomness for retries. */
export type RetryWorld = {
  /** Resolves after the time, or rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** The process's own clock and randomness. */
export const PROCESS_WORLD: RetryWorld = {
  sleep: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
  random: Math.random,
  nowMs: Date.now,
}

/**
 * Retries after no answer, 429 or 5xx. Gives the first answer that needs no retry, else the last one. Undefined when the last attempt had
 * no complete answer, or when the signal aborts before the next attempt.
 */
export async function askWithRetries(
  address: URL | string,
  question: Question,
  { most, firstWaitMs, longestWaitMs, attemptMs }: Retries,
  { sleep, random, nowMs }: RetryWorld = PROCESS_WORLD,
): Promise<HttpAnswer | undefined> {
  const { signal } = question
  for (let retry = 0; ; retry += 1) {
    const attempt = attemptMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(attemptMs)])
    const answer = await ask(address, { ...question, signal: attempt }, nowMs).catch(() => undefined)
    const mayPass = answer === undefined || answer.status === 429 || answer.status >= 500
    const wait = answer?.retryAfterMs ?? random() * firstWaitMs * 2 ** retry
    if (!mayPass || signal.aborted || retry === most || wait > longestWaitMs) return answer
    try {
      await sleep(wait, signal)
    } catch {
      return undefined
    }
  }
}
