/** One request to a Rekor log or a timestamp authority, and what its status means where that is not the one of an entry. */
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import { type Answer, ask } from "../ask.ts"

/** Bytes of an answer, after any content encoding is undone. An entry of a log of 2^40 entries is some 6,000. */
export const MAX_ANSWER_BYTES = 65_536
/** A longer Retry-After is cut to this: a log that names a year must not be given up for a year. */
const MAX_RETRY_AFTER_MS = 900_000

/** Why there is no entry. */
export type Refusal = {
  readonly fault: OutsideFault
  /** Of the answer. */
  readonly status?: number
  /** Time for which to be left alone is asked, in milliseconds. */
  readonly retryAfterMs?: number
  /** What does not hold of what was shown. */
  readonly problem?: string
}

/** What came of an exchange: an entry that verifies, or why there is none. */
export type Entered = OutsideEntry | Refusal

const JSON_HEADERS = { accept: "application/json", "content-type": "application/json" }

/** Asks a log for something, or sends it JSON. Rejects when there is no whole answer before the signal aborts. */
export function askLog(url: URL, signal: AbortSignal, json?: string): Promise<Answer> {
  const sent = json === undefined ? {} : { body: json, headers: JSON_HEADERS }
  return ask(url, { ...sent, maxBytes: MAX_ANSWER_BYTES, signal })
}

/** What a status says that is not the one of an entry. */
export function refusalOf({ status, retryAfterMs: asked }: Answer): Refusal {
  return { ...faultOf(status), status, ...waitOf(asked) }
}

function faultOf(status: number): Pick<Refusal, "fault"> {
  if (status === 429) return { fault: "limited" }
  return { fault: status >= 500 ? "failed" : "refused" }
}

const waitOf = (asked: number | undefined): Pick<Refusal, "retryAfterMs"> =>
  asked === undefined ? {} : { retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, asked) }
