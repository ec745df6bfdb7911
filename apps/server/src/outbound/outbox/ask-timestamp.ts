/** One request to a timestamp authority: an RFC 3161 timestamp over some bytes, verified. */
import { randomBytes } from "node:crypto"
import { encodeBase64 } from "@runseal/canonical"
import { storedTimestamp, timestampRequest, verifyTimestamp } from "@runseal/log/timestamps/timestamp"
import type { TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import { ask, type HttpAnswer } from "../ask.ts"
import { LOG_ANSWER_MAX_BYTES, type LogRefusal, refusalOf } from "./ask-log.ts"

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
