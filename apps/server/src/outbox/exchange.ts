/**
 * One request to a log or a timestamp authority. Bounded in time and in bytes, and only to the address that the operator gave: no
 * redirect is followed.
 */
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import { readBounded, retryAfterMs } from "../foreign-answer.ts"

/** Bytes of an answer, after any content encoding is undone. An entry of a log of 2^40 entries is some 6,000. */
export const MAX_ANSWER_BYTES = 65_536
/** A longer Retry-After is cut to this: a log that names a year must not be given up for a year. */
export const MAX_RETRY_AFTER_MS = 900_000

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

export type Answer = {
  readonly status: number
  /** Absent when it is longer than is read. */
  readonly bytes: Uint8Array | undefined
  readonly location: string | undefined
  readonly retryAfterMs: number | undefined
}

/** What is sent; nothing for a GET. */
export type Sent = { readonly type: string; readonly accept: string; readonly body: string | Uint8Array<ArrayBuffer> }

const JSON_TYPE = "application/json"

/** Sends JSON, or asks for it. */
export const askJson = (url: URL, signal: AbortSignal, body?: string): Promise<Answer> =>
  ask(url, signal, body === undefined ? undefined : { type: JSON_TYPE, accept: JSON_TYPE, body })

/** Rejects when there is no whole answer before the signal aborts. */
export async function ask(url: URL, signal: AbortSignal, sent?: Sent): Promise<Answer> {
  const asked =
    sent === undefined
      ? {}
      : { method: "POST", headers: { accept: sent.accept, "content-type": sent.type }, body: sent.body }
  const response = await fetch(url, { ...asked, redirect: "manual", signal })
  return {
    status: response.status,
    bytes: await readBounded(response, MAX_ANSWER_BYTES),
    location: response.headers.get("location") ?? undefined,
    retryAfterMs: retryAfterMs(response, Date.now()),
  }
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
