/** One request to a Rekor log or a timestamp authority, and what an error status of it means. */
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import { ask, type HttpAnswer } from "../ask.ts"

/** Bytes of an answer, after any content encoding is undone. An entry of a log of 2^40 entries is some 6,000. */
export const LOG_ANSWER_MAX_BYTES = 65_536
/** A longer Retry-After is cut to this, in milliseconds, so that no answer stops the delivery for a year. */
const MAX_RETRY_AFTER_MS = 900_000

/** Why there is no entry. */
export type LogRefusal = {
  readonly fault: OutsideFault
  /** Of the answer. */
  readonly status?: number
  /** Wait that Retry-After asks for, in milliseconds. */
  readonly retryAfterMs?: number
  /** What is wrong with the entry or the timestamp of the answer. */
  readonly problem?: string
}

/** The result of a delivery: an entry that verifies, or why there is none. */
export type Entered = OutsideEntry | LogRefusal

const JSON_HEADERS = { accept: "application/json", "content-type": "application/json" }

/** Asks a log for something, or sends it JSON. Rejects when there is no whole answer before the signal aborts. */
export function askLog(url: URL, signal: AbortSignal, json?: string): Promise<HttpAnswer> {
  const sent = json === undefined ? {} : { body: json, headers: JSON_HEADERS }
  return ask(url, { ...sent, maxBytes: LOG_ANSWER_MAX_BYTES, signal })
}

/** What a status says that is not the one of an entry. */
export function refusalOf({ status, retryAfterMs: asked }: HttpAnswer): LogRefusal {
  return { ...faultOf(status), status, ...waitOf(asked) }
}

function faultOf(status: number): Pick<LogRefusal, "fault"> {
  if (status === 429) return { fault: "limited" }
  return { fault: status >= 500 ? "failed" : "refused" }
}

const waitOf = (asked: number | undefined): Pick<LogRefusal, "retryAfterMs"> =>
  asked === undefined ? {} : { retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, asked) }
