/** An act that people decide on: how long its caller waits for them, and how often it polls. docs/sdk.md, "Acts that people approve". */
import type { AskedApprovalAnswer } from "@runseal/core/wire/approval-answers"
import { meansAway } from "./breaker.ts"
import { AbortedError, ConflictError, HttpStatusError } from "./client-errors.ts"
import { ApprovalPending } from "./permit-errors.ts"
import type { Platform } from "./platform.ts"
import { type CallOptions, integerWithin } from "./settings.ts"

/** Longest wait for people, in milliseconds: a day. */
const WAIT_MAX_MS = 86_400_000
/** Seconds between two polls where the service names no time, and the fewest. */
const POLL_SECONDS = 5
const POLL_MIN_SECONDS = 1
/** Milliseconds for one poll. */
const POLL_MS = 10_000

export type WaitOptions = {
  /**
   * Milliseconds for which the call waits until people have decided on the act, at most a day; it polls the service as often as its
   * `Retry-After` says. 0 when absent: ApprovalPending at once.
   */
  readonly approvalWaitMs?: number | undefined
  /** Called while it waits, before each poll. */
  readonly onApprovalWait?: ((pending: ApprovalPending) => void) | undefined
}

/** What the service answers while people have not decided, or nobody has collected. */
export type AskedApproval = {
  readonly outcome_kind: "asked"
  readonly asked: AskedApprovalAnswer
  /** After how long to poll; undefined when the service names no time. */
  readonly retryAfterSeconds: number | undefined
}

/** What a request came to, and when the one was sent that it came of: on the clock of the client, in milliseconds. */
export type Timed<Result> = { readonly result: Result; readonly askedAt: number }

type Wait = Pick<WaitOptions, "onApprovalWait"> & Pick<CallOptions, "signal"> & { readonly approvalWaitMs: number }

/** @throws InvalidArgumentError */
export const approvalWaitOf = ({ approvalWaitMs = 0, onApprovalWait, signal }: WaitOptions & CallOptions): Wait => ({
  approvalWaitMs: integerWithin("approvalWaitMs", approvalWaitMs, 0, WAIT_MAX_MS),
  onApprovalWait,
  signal,
})

/**
 * Collects what people decided. One that is decided already is collected without a wait.
 * @param collect polls the service once
 * @throws ApprovalPending at the end of the wait, and for any failure of a poll but a passing one: an outage after people were asked is no reason
 *   to act; AbortedError
 */
export async function waitForPeople<Result extends { readonly outcome_kind: string }>(
  { now, sleep }: Pick<Platform, "now" | "sleep">,
  first: AskedApproval,
  { approvalWaitMs, onApprovalWait, signal }: Wait,
  collect: (limits: CallOptions) => Promise<Result | AskedApproval>,
): Promise<Timed<Result>> {
  const until = now() + approvalWaitMs
  let pending = new ApprovalPending(first.asked)
  let seconds = first.asked.state === "waiting" ? (first.retryAfterSeconds ?? POLL_SECONDS) : undefined
  for (;;) {
    if (seconds !== undefined) {
      const leftMs = until - now()
      if (leftMs <= 0) throw pending
      onApprovalWait?.(pending)
      await sleep(Math.min(Math.max(seconds, POLL_MIN_SECONDS) * 1000, leftMs), signal ?? NEVER)
      if (signal?.aborted) throw new AbortedError(signal.reason)
    }
    const askedAt = now()
    try {
      const result = await collect({ signal, timeoutMs: POLL_MS, deadlineMs: POLL_MS })
      if (!isAsked(result)) return { result, askedAt }
      pending = new ApprovalPending(result.asked)
      seconds = result.retryAfterSeconds ?? POLL_SECONDS
    } catch (cause) {
      if (cause instanceof AbortedError) throw cause
      pending = new ApprovalPending(first.asked, { cause })
      if (!mayPass(cause)) throw pending
      seconds = (cause instanceof HttpStatusError ? cause.retryAfterSeconds : undefined) ?? POLL_SECONDS
    }
  }
}

const isAsked = <Result extends { readonly outcome_kind: string }>(
  result: Result | AskedApproval,
): result is AskedApproval => result.outcome_kind === "asked"

const NEVER = new AbortController().signal

/** Whether the same poll may be answered a moment later: the service is away, or a decision came in between. */
const mayPass = (error: unknown): boolean => meansAway(error) || error instanceof ConflictError
