/**
 * One exchange with a Rekor log, API v1: an entry is entered, or found there. Bounded in time and in bytes, and only with the
 * address that the operator gave: no redirect is followed.
 */
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { entryPlaceProblem } from "@runseal/core/transparency-log/check-entry"
import type { TransparencyLogEntry } from "@runseal/core/transparency-log/log-entry"
import { isRekorUuid, parseRekorAnswer, REKOR_V1_ENTRIES } from "@runseal/core/transparency-log/rekor-v1"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import { readBounded, retryAfterMs } from "../foreign-answer.ts"
import type { OutsideLog } from "./outside-log.ts"

/** For one entry, both requests and their whole answers included. */
export const EXCHANGE_DEADLINE_MS = 20_000
/** Bytes of an answer, after any content encoding is undone. An entry of a log of 2^40 entries is some 6,000. */
export const MAX_ANSWER_BYTES = 65_536
/** A longer Retry-After is cut to this: a log that names a year must not be given up for a year. */
export const MAX_RETRY_AFTER_MS = 900_000

/** Why there is no entry. */
export type Refusal = {
  readonly fault: OutsideFault
  /** Of the log's answer. */
  readonly status?: number
  /** Time that the log asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number
  /** What does not hold of the entry that was shown. */
  readonly problem?: string
}
export type Entered = { readonly entry: TransparencyLogEntry } | Refusal

/**
 * Enters a body, or finds it where it was entered before (409): the same entry either way, and never a second one. What is
 * given back is the entry of this very body, and its proof verifies. Never rejects.
 * @param body canonical body text
 */
export async function enterEntry(log: OutsideLog, body: string, stop: AbortSignal): Promise<Entered> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(EXCHANGE_DEADLINE_MS)])
  const entries = new URL(REKOR_V1_ENTRIES, log.url)
  try {
    const made = await ask(entries, signal, body)
    if (made.status !== 409) return judge(made, 201, log, body)
    const uuid = made.location?.split("/").at(-1)
    if (uuid === undefined || !isRekorUuid(uuid)) return { fault: "invalid", status: 409 }
    return judge(await ask(new URL(`${REKOR_V1_ENTRIES}/${uuid}`, log.url), signal), 200, log, body)
  } catch {
    return { fault: "unreachable" }
  }
}

type Answer = {
  readonly status: number
  /** Absent when it is longer than is read. */
  readonly bytes: Uint8Array | undefined
  readonly location: string | undefined
  readonly retryAfterMs: number | undefined
}

async function ask(url: URL, signal: AbortSignal, body?: string): Promise<Answer> {
  const headers = { accept: "application/json", "content-type": "application/json" }
  const sent = body === undefined ? { headers } : { method: "POST", headers, body }
  const response = await fetch(url, { ...sent, redirect: "manual", signal })
  return {
    status: response.status,
    bytes: await readBounded(response, MAX_ANSWER_BYTES),
    location: response.headers.get("location") ?? undefined,
    retryAfterMs: retryAfterMs(response, Date.now()),
  }
}

function judge(
  { status, bytes, retryAfterMs: asked }: Answer,
  expected: number,
  log: OutsideLog,
  body: string,
): Entered {
  if (status !== expected) return { ...faultOf(status), status, ...waitOf(asked) }
  const entry = bytes && parseRekorAnswer(bytes)
  if (entry === undefined) return { fault: "invalid", status }
  const problem = entryPlaceProblem(entry, encodeBase64(utf8Encode(body)), log.trust)
  return problem === undefined ? { entry } : { fault: "invalid", status, problem }
}

function faultOf(status: number): Pick<Refusal, "fault"> {
  if (status === 429) return { fault: "limited" }
  return { fault: status >= 500 ? "failed" : "refused" }
}

const waitOf = (asked: number | undefined): Pick<Refusal, "retryAfterMs"> =>
  asked === undefined ? {} : { retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, asked) }
