/**
 * One exchange with a reviewer's HTTP API: POST, bounded reply, few retries. The remote side is trusted with the text it reviews and with
 * nothing else: its words never leave this module, except for the body of a 2xx reply.
 */
import { utf8Decode } from "@runseal/canonical"
import { askWithRetries, type RetryWorld } from "../outbound/ask.ts"
import { ReviewFailure } from "./reviewer.ts"

interface ExchangeRequest {
  readonly url: string
  /** Contains the API key. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Bytes of a reply, after decompression. A verdict is a few hundred. */
export const MAX_REPLY_BYTES: number = 64 * 1024
/** Attempts after the first, and only after no answer, 429 or 5xx. */
export const MODEL_RETRIES_MAX = 2
const RETRIES = { most: MODEL_RETRIES_MAX, firstWaitMs: 1000, longestWaitMs: 60_000 }

/**
 * The body of the reviewer's 2xx reply. The signal is the deadline of the whole exchange, waits included.
 * @throws ReviewFailure
 */
export async function exchange(request: ExchangeRequest, world: RetryWorld, signal: AbortSignal): Promise<string> {
  const { url, headers, body } = request
  const answer = await askWithRetries(url, { body, headers, maxBytes: MAX_REPLY_BYTES, signal }, RETRIES, world)
  if (answer === undefined) throw new ReviewFailure(signal.aborted ? "timeout" : "unreachable")
  const { status, bytes } = answer
  if (status < 200 || status > 299) throw new ReviewFailure("bad_status", status)
  if (bytes === undefined) throw new ReviewFailure("too_large")
  const text = utf8Decode(bytes)
  if (text === undefined) throw new ReviewFailure("bad_answer")
  return text
}
