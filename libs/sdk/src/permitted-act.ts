/** An act under a permit, from its opening to its close, whatever happens in between. docs/sdk.md, "Act under a permit". */
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { ActFailureCode } from "@runseal/core/artifacts/permit-sections"
import { CLOSE_SECONDS_DEFAULT, VALID_SECONDS_DEFAULT } from "@runseal/core/wire/permit-requests"
import type { WaitOptions } from "./approval-wait.ts"
import type { Fail } from "./breaker.ts"
import { ConflictError, TimeoutError } from "./client-errors.ts"
import { withDeadline } from "./deadline.ts"
import type { Cost, Effect } from "./execute-arguments.ts"
import type { ExecuteResult } from "./execute-result.ts"
import type { PermitClosing, PermitRequest } from "./permit-arguments.ts"
import type { OpenedPermit, OpenPermit, PermitCalls } from "./permit-calls.ts"
import {
  ActFailedError,
  ActTimeoutError,
  OutputRefusedError,
  PermitNotClosedError,
  PermitRefusedError,
  PermitUsedError,
} from "./permit-errors.ts"
import { jsonText } from "./plain-json.ts"
import { randomKey } from "./platform.ts"
import { type CallOptions, type EndUserOption, integerWithin, type Settings } from "./settings.ts"

/** What an act works with. */
export type ActivePermit = {
  /** Sent to the one who acts, in the header `Runseal-Permit`. */
  readonly permit: string
  readonly permit_id: string
  /** The sealed opening, which verifies by itself. */
  readonly opening: Opening
  readonly expires_at: string
  readonly close_by: string
  /** Aborts when the act takes too long or the caller's signal aborts: pass it on. */
  readonly signal: AbortSignal
}

/** What an act gives back. */
export type Acted<Output> = {
  /** The result. A text is sealed as it is, anything else as its RFC 8785 text; undefined is no output. */
  readonly output: Output
  /** Effects outside of the agent. */
  readonly effects?: readonly Effect[] | undefined
  /** Tokens that the act used. */
  readonly cost?: Cost | undefined
}

/** A permitted act that is sealed. */
export type PermittedRun<Output> = {
  readonly output: Output
  readonly permit_id: string
  /** The run as `execute` gives it; where the service observes, perhaps one that it would have refused. */
  readonly run: Extract<ExecuteResult, { readonly ok: true }>
}

export type ActOptions = CallOptions &
  EndUserOption &
  WaitOptions & {
    /** Milliseconds for the act, at most until the permit expires, which is also the default. */
    readonly actTimeoutMs?: number | undefined
    /**
     * What the caller does without a decision: how long it is waited for, as `permits.open` has it. The call rejects in either case, and the
     * caller goes on, or not. Absent: the bounds of the call.
     */
    readonly fail?: Fail | undefined
    /**
     * true: the function is the one who acts. A permit that has to be redeemed, as every one that people approved, is redeemed before it starts; where
     * that fails, it is not started. false when absent: the permit is passed on, and who checks it redeems it.
     */
    readonly redeems?: boolean | undefined
    /** Idempotency key of the opening; a random one when absent. */
    readonly idempotencyKey?: string | undefined
    /**
     * false: the output is not sent. Its SHA-256 is declared, and the service searches and reviews nothing of it. true when absent: the
     * output is sent, searched and reviewed; the service stores its hash alone.
     */
    readonly captureContent?: boolean | undefined
  }

export type GuardOptions<Input> = Omit<ActOptions, "signal" | "idempotencyKey"> & {
  /** The act that an input asks for. */
  readonly request: (input: Input) => PermitRequest
}

export type PermittedActs = {
  /**
   * Asks for a permit, acts, and closes the permit, always. An act that throws is closed as failed, EXECUTOR_FAILED or the code of an
   * ActFailedError, and its error is thrown again; one that is aborted or takes too long is closed as TIMED_OUT and throws AbortedError or
   * ActTimeoutError. An act that is refused throws PermitRefusedError and is not started, and so does one that people have not decided on, with
   * ApprovalPending, and one whose permit another call used, with PermitUsedError. When the close is refused, or cannot be
   * made, the output is not returned: OutputRefusedError has the receipt, PermitNotClosedError the permit's id.
   */
  readonly permit: <Output>(
    request: PermitRequest,
    act: (permit: ActivePermit) => Promise<Acted<Output>>,
    options?: ActOptions,
  ) => Promise<PermittedRun<Output>>
  /** Wraps a function so that each call of it is such an act; the result is its output alone. */
  readonly guard: <Input, Output>(
    act: (input: Input, permit: ActivePermit) => Promise<Acted<Output>>,
    options: GuardOptions<Input>,
  ) => (input: Input, options?: Pick<ActOptions, "signal" | "idempotencyKey" | "endUserToken">) => Promise<Output>
}

/** Longest act and longest close, in milliseconds: those of the longest permit. */
const ACT_MAX_MS = 86_400_000
/** Milliseconds that a close leaves to the network before the permit's time to be closed is over. */
const CLOSE_MARGIN_MS = 5_000
/** Longest wait for a redemption, in milliseconds. */
const REDEEM_MS = 10_000

export function permittedActs(permits: PermitCalls, openPermit: OpenPermit, settings: Settings): PermittedActs {
  const permit = async <Output>(
    request: PermitRequest,
    act: (permit: ActivePermit) => Promise<Acted<Output>>,
    options: ActOptions = {},
  ): Promise<PermittedRun<Output>> => {
    const actTimeoutMs = integerWithin("actTimeoutMs", options.actTimeoutMs ?? ACT_MAX_MS, 1, ACT_MAX_MS)
    // The permit is admitted later than `askedAt`, so what is measured from there ends before it does, whatever this machine's clock says.
    const { askedAt, ...opened } = await open(openPermit, settings, request, options)
    const validMs = (request.valid_for_seconds ?? VALID_SECONDS_DEFAULT) * 1000
    const closeMs = validMs + (request.close_within_seconds ?? CLOSE_SECONDS_DEFAULT) * 1000 - CLOSE_MARGIN_MS
    const close = (closing: PermitClosing): Promise<ExecuteResult> => {
      const leftMs = Math.max(1, Math.floor(askedAt + closeMs - settings.now()))
      const deadlineMs = Math.min(leftMs, options.deadlineMs ?? settings.deadlineMs)
      const { timeoutMs, fail } = options
      return permits.close(opened.permit_id, closing, { timeoutMs, deadlineMs, fail, resend: true })
    }
    const leftMs = Math.floor(Math.min(actTimeoutMs, askedAt + validMs - settings.now()))
    let began = false
    const begin = async (active: ActivePermit): Promise<Acted<Output>> => {
      if (options.redeems === true && opened.opening.redeem_required === true) await redeem(permits, active)
      began = true
      return await act(active)
    }
    let used: Used = {}
    const done = async (): Promise<Done<Output>> => {
      const { output, ...rest } = await actWithin(settings, opened, leftMs, begin, options.signal)
      used = usedBy(rest)
      return { output, closing: closingOf(used, outputText(output), options.captureContent !== false) }
    }
    const { output, closing } = await done().catch(async error => {
      // Who redeemed the permit before closes it.
      if (isOfAnother(error)) throw error
      // The act's own error is thrown below, however the close went: a permit that could not be closed is ended by the service.
      const code = began ? failureCode(error, options.signal) : "NOT_EXECUTED"
      await close({ outcome: "failed", code, ...used }).catch(() => undefined)
      throw error
    })
    const run = await close(closing).catch(cause => {
      throw new PermitNotClosedError(opened.permit_id, cause)
    })
    // A close that was only observed keeps nothing back.
    if (!run.ok) throw new OutputRefusedError(opened.permit_id, run)
    return { output, permit_id: opened.permit_id, run }
  }
  return {
    permit,
    guard:
      (act, { request, ...options }) =>
      async (input, call = {}) =>
        (await permit(request(input), active => act(input, active), { ...options, ...call })).output,
  }
}

async function open(
  openPermit: OpenPermit,
  settings: Settings,
  request: PermitRequest,
  { actTimeoutMs: _act, captureContent: _content, redeems: _once, ...options }: ActOptions,
): Promise<OpenedPermit & { readonly permit: string; readonly askedAt: number }> {
  const idempotencyKey = options.idempotencyKey ?? settings.newIdempotencyKey?.() ?? randomKey()
  const { result, askedAt } = await openPermit(request, { ...options, idempotencyKey })
  if (result.outcome_kind !== "opened") throw new PermitRefusedError(result)
  if (result.permit === undefined) throw new PermitUsedError(result.permit_id)
  return { ...result, permit: result.permit, askedAt }
}

/** @throws PermitUsedError whatever went wrong: after an answer that was lost, the permit may be used up */
async function redeem(permits: PermitCalls, { permit_id, permit, signal }: ActivePermit): Promise<void> {
  try {
    await permits.redeem(permit_id, permit, { signal, timeoutMs: REDEEM_MS, deadlineMs: REDEEM_MS })
  } catch (error) {
    throw new PermitUsedError(permit_id, error)
  }
}

const isOfAnother = (error: unknown): boolean =>
  error instanceof PermitUsedError && error.cause instanceof ConflictError

/** Runs the act until it ends, its time is over or the caller aborts. */
async function actWithin<Output>(
  { sleep }: Settings,
  { permit, permit_id, opening, expires_at, close_by }: OpenedPermit & { readonly permit: string },
  leftMs: number,
  act: (permit: ActivePermit) => Promise<Acted<Output>>,
  signal: AbortSignal | undefined,
): Promise<Acted<Output>> {
  if (leftMs <= 0) throw new ActTimeoutError(0)
  const active = { permit, permit_id, opening, expires_at, close_by }
  try {
    return await withDeadline(sleep, leftMs, signal, inner => act({ ...active, signal: inner }))
  } catch (error) {
    throw error instanceof TimeoutError && error.limitMs === leftMs && error.url === undefined
      ? new ActTimeoutError(leftMs)
      : error
  }
}

/** The code of an act that began and ended with an error. */
function failureCode(error: unknown, signal: AbortSignal | undefined): ActFailureCode {
  if (error instanceof ActFailedError) return error.code
  return error instanceof ActTimeoutError || signal?.aborted ? "TIMED_OUT" : "EXECUTOR_FAILED"
}

/** An act that ended, with what is sealed of it. */
type Done<Output> = { readonly output: Output; readonly closing: PermitClosing }

/** @throws InvalidArgumentError for an output that is not JSON */
const outputText = (output: unknown): string | undefined =>
  output === undefined || typeof output === "string" ? output : jsonText(output)

/** @param isSent whether the text goes to the service, or its hash is declared */
function closingOf(used: Used, text: string | undefined, isSent: boolean): PermitClosing {
  const outcome = "completed"
  if (text === undefined) return { outcome, ...used }
  if (isSent) return { outcome, ...used, ai_output_text: text }
  const output = { hash: sha256Hex(utf8Encode(text)) }
  return { outcome, ...used, request_substance: { ...used.request_substance, output } }
}

/** What an act did and used, which is sealed also when its output cannot be. */
type Used = Pick<PermitClosing, "causal_graph" | "request_substance">

const usedBy = ({ effects, cost }: Omit<Acted<unknown>, "output">): Used => ({
  ...(effects === undefined ? {} : { causal_graph: { effect_log: effects } }),
  ...(cost === undefined ? {} : { request_substance: { cost } }),
})
