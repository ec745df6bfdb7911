/**
 * One exchange with a reviewer's HTTP API: POST, bounded reply, few retries. The remote side is trusted with the text
 * it reviews and with nothing else: its words never leave this module, except for the body of a 2xx reply.
 */
import { utf8Decode } from "@runseal/canonical"
import { readBounded, retryAfterMs } from "../foreign-answer.ts"
import { ReviewFailure } from "./reviewer.ts"

/** What an exchange needs of the world. */
export interface ExchangeWorld {
  readonly fetch: typeof fetch
  /** Resolves after the time or rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number
  /** Milliseconds since the epoch; reads a `Retry-After` that is a date. */
  readonly now: () => number
}

export interface ExchangeRequest {
  readonly url: string
  /** Contains the API key. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Bytes of a reply, after decompression. A verdict is a few hundred. */
export const MAX_REPLY_BYTES: number = 64 * 1024
/** Attempts after the first, and only after no answer, 429 or 5xx. */
export const MAX_RETRIES = 2
/** A retry waits a random part of this, doubled each time, in milliseconds. */
const RETRY_WAIT_MS = 1000
/** A longer `Retry-After` is not waited for. */
const MAX_RETRY_AFTER_MS = 60_000

type Attempt = { readonly reply: string } | { readonly failure: ReviewFailure; readonly retryAfterMs?: number }

/** @throws ReviewFailure `too_large` as soon as the bound is passed, `bad_answer` when it is not UTF-8 */
async function readReply(response: Response): Promise<string> {
  const bytes = await readBounded(response, MAX_REPLY_BYTES)
  if (bytes === undefined) throw new ReviewFailure("too_large")
  const text = utf8Decode(bytes)
  if (text === undefined) throw new ReviewFailure("bad_answer")
  return text
}

async function attempt(request: ExchangeRequest, world: ExchangeWorld, signal: AbortSignal): Promise<Attempt> {
  const { url, headers, body } = request
  try {
    const response = await world.fetch(url, { method: "POST", redirect: "error", headers, body, signal })
    if (response.ok) return { reply: await readReply(response) }
    await response.body?.cancel()
    const failure = new ReviewFailure("bad_status", response.status)
    if (response.status !== 429 && response.status < 500) throw failure
    const asked = retryAfterMs(response, world.now())
    return { failure, ...(asked === undefined ? {} : { retryAfterMs: asked }) }
  } catch (cause) {
    if (cause instanceof ReviewFailure) throw cause
    // Network errors quote addresses, aborts carry the caller's reason: neither is passed on.
    return { failure: new ReviewFailure(signal.aborted ? "timeout" : "unreachable") }
  }
}

/** How long to wait before the next attempt: what the reviewer asks for, else a random part of a doubling time. */
const waitBefore = (retry: number, asked: number | undefined, random: number): number =>
  asked ?? random * RETRY_WAIT_MS * 2 ** (retry - 1)

/**
 * The body of the reviewer's 2xx reply. The signal is the deadline of the whole exchange, waits included.
 * @throws ReviewFailure
 */
export async function exchange(request: ExchangeRequest, world: ExchangeWorld, signal: AbortSignal): Promise<string> {
  for (let retry = 1; ; retry += 1) {
    const result = await attempt(request, world, signal)
    if ("reply" in result) return result.reply
    const { failure, retryAfterMs } = result
    const wait = waitBefore(retry, retryAfterMs, world.random())
    if (signal.aborted || retry > MAX_RETRIES || wait > MAX_RETRY_AFTER_MS) throw failure
    await world.sleep(wait, signal).catch(() => {
      throw new ReviewFailure("timeout")
    })
  }
}
