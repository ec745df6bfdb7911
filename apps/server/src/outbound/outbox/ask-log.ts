/** One request to a Rekor log or a timestamp authority, and what an error status of it means. */

import { randomBytes } from "node:crypto"
import { encodeBase64 } from "@runseal/canonical"
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import { storedTimestamp, timestampRequest, verifyTimestamp } from "@runseal/log/timestamps/timestamp"
import type { TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
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

// One request to a timestamp authority: an RFC 3161 timestamp over some bytes, verified.

/** For one timestamp, the whole answer included. */
export const TIMESTAMP_DEADLINE_MS = 10_000
const NONCE_BYTES = 16

export type TimestampSource = {
  readonly url: URL
  /** The authority whose certificates must verify each timestamp. They come from the operator's options, never from an answer. */
  readonly authority: TimestampAuthority
}

type Stamped = {
  /** Base64 of the stored TimeStampResp. */
  readonly timestamp: string
  /** Unix seconds. */
  readonly time: number
}

/** Requests a timestamp over these bytes. A timestamp that is returned verifies and repeats the request's nonce. Never rejects. */
export async function askTimestamp(
  { url, authority }: TimestampSource,
  bytes: Uint8Array,
  stop: AbortSignal,
): Promise<Stamped | LogRefusal> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMESTAMP_DEADLINE_MS)])
  const nonce = newNonce()
  const answer = await ask(url, {
    body: new Uint8Array(timestampRequest(bytes, nonce)),
    headers: { accept: "application/timestamp-reply", "content-type": "application/timestamp-query" },
    maxBytes: LOG_ANSWER_MAX_BYTES,
    signal,
  }).catch(() => undefined)
  return answer === undefined
    ? { fault: "untimed", problem: "The timestamp authority did not answer in time." }
    : judge(answer, authority, bytes, nonce)
}

const OTHER_CHAIN = "The timestamp authority signs under another certificate than the first of --tsa-chain."

/** RFC 3161 names no status; authorities answer 200, Sigstore's 201. */
function judge(
  answer: HttpAnswer,
  authority: TimestampAuthority,
  bytes: Uint8Array,
  nonce: Uint8Array,
): Stamped | LogRefusal {
  const { status } = answer
  if (status !== 200 && status !== 201)
    return { ...refusalOf(answer), fault: "untimed", problem: "The timestamp authority refused or failed." }
  const stored = answer.bytes && storedTimestamp(answer.bytes, authority)
  if (stored === undefined)
    return { fault: "untimed", status, problem: "The timestamp authority granted no timestamp of RFC 3161." }
  const found = verifyTimestamp(stored, bytes, [authority], nonce)
  if (!("problem" in found)) return { timestamp: encodeBase64(stored), time: found.time }
  return { fault: "untimed", status, problem: found.ofNobody ? OTHER_CHAIN : found.problem }
}

/** A positive INTEGER of this length in its shortest form: the first bit is clear, and the first byte is not 0. */
function newNonce(): Uint8Array {
  const nonce = new Uint8Array(randomBytes(NONCE_BYTES))
  nonce[0] = ((nonce[0] ?? 0) & 0x7f) | 0x40
  return nonce
}
