/** Permits, call by call: opened before an act, closed after it. docs/api.md, "Permits". */

import { askedApprovalAnswerSchema } from "@runseal/core/wire/approval-answers"
import {
  type OpenPermitAnswer,
  openPermitAnswerSchema,
  type PermitRecord,
  type PermitSummary,
  type PermitsPage,
  permitsPageSchema,
  type RedeemPermitAnswer,
} from "@runseal/core/wire/permit-answers"
import type { PermitState } from "@runseal/core/wire/permit-requests"
import { type AskedApproval, approvalWaitOf, type Timed, type WaitOptions, waitForPeople } from "./approval-wait.ts"
import { type Fail, meansAway } from "./breaker.ts"
import { callTo } from "./calls.ts"
import { HttpStatusError, ProtocolError } from "./client-errors.ts"
import { methodOf, ROUTES } from "./endpoint-calls.ts"
import type { Call, Reply } from "./exchange.ts"
import { type ExecuteResult, type RefusedRun, readExecuteResult } from "./execute-result.ts"
import { lenient } from "./lenient.ts"
import { type List, listOf, type PageOptions } from "./list-pages.ts"
import type { PermitClosing, PermitRequest } from "./permit-arguments.ts"
import { ApprovalPending } from "./permit-errors.ts"
import { whileIdle } from "./platform.ts"
import { okAnswer } from "./read-reply.ts"
import { isTransient } from "./retry.ts"
import type { CallOptions, EndUserOption, OnceOptions, Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

/** A permit that was opened. */
export type OpenedPermit = { readonly outcome_kind: "opened" } & OpenPermitAnswer
export type OpenPermitResult = OpenedPermit | RefusedRun
/** What an act that is asked for comes to: the same, or people have to decide. */
type OpenedOrAsked = OpenPermitResult | AskedApproval
export type PermitList = List<PermitsPage, PermitSummary>

/** Options of a call that somebody waits for before an act. */
export type DecisionOptions = OnceOptions & {
  /**
   * What the caller does without a decision. With it the call takes `decisionMs` of the client at most, and not its own bounds; while the service is
   * away it is shorter (`closed`), or rejects at once with ServiceAwayError (`open`). An answer with `Retry-After` is not waited for.
   */
  readonly fail?: Fail | undefined
}

export type OpenOptions = DecisionOptions & EndUserOption & WaitOptions

export type CloseOptions = DecisionOptions & {
  /**
   * true: a close without an answer rejects all the same, and is sent again in the background until it has one, or the process ends. With
   * `fail: "open"` the first answer is waited for as long as a decision is.
   */
  readonly resend?: boolean | undefined
}

export type PermitCalls = {
  /**
   * Asks for a permit. A refused act is a result too: the run that the service recorded, with its receipt. Retried only under an
   * idempotency key, since each call opens a permit. Rejects with ApprovalPending where people have to decide and have not, after
   * `approvalWaitMs`: that is a decision, as a refusal is, and the act must not be done.
   */
  readonly open: (request: PermitRequest, options?: OpenOptions) => Promise<OpenPermitResult>
  /**
   * The permit of an act that people approved, or the run that was refused instead. A repetition gives the same one. Rejects with
   * ApprovalPending while they have not decided.
   */
  readonly collect: (approvalId: string, options?: CallOptions) => Promise<OpenPermitResult>
  /**
   * Seals what became of the act. Every outcome the service recorded is a result: the output may be released only when it is `ok`.
   * ConflictError with the code `permit_not_open` when it was closed before or is too late. Retried: the permit's id is the idempotency
   * key unless there is another one.
   */
  readonly close: (permitId: string, closing: PermitClosing, options?: CloseOptions) => Promise<ExecuteResult>
  /**
   * Uses the permit up, for the one who is about to act; sends no API key. ConflictError with the code `already_redeemed` the second time. Not
   * retried: after a NetworkError, TimeoutError or AbortedError it may be redeemed, and the act must not begin.
   */
  readonly redeem: (permitId: string, permit: string, options?: CallOptions) => Promise<RedeemPermitAnswer>
  /** A permit of the calling key, with its opening and its end. */
  readonly get: (permitId: string, options?: CallOptions) => Promise<PermitRecord>
  /** The calling key's permits, newest first, all or those in one state. Throws InvalidArgumentError at once. */
  readonly list: (options?: PageOptions & { readonly state?: PermitState | undefined }) => PermitList
}

const LISTING = { items: (page: PermitsPage) => page.permits, id: (permit: PermitSummary) => permit.permit_id }

/** As `permits.open`. */
export type OpenPermit = (request: PermitRequest, options?: OpenOptions) => Promise<Timed<OpenPermitResult>>

export function permitOpening(send: Send, settings: Settings): OpenPermit {
  const ask = async (
    request: PermitRequest,
    { fail, approvalWaitMs: _ms, onApprovalWait: _polls, ...options }: OpenOptions,
  ): Promise<OpenedOrAsked> => {
    const call = callTo(settings, ROUTES.open_permit, { body: request }, options)
    if (fail === undefined) return await send(call, readOpening, options)
    const { signal } = options
    return await settings.breaker.decision(fail, waitMs =>
      send({ ...call, awaited: true }, readOpening, { signal, timeoutMs: waitMs, deadlineMs: waitMs }),
    )
  }
  return async (request, options = {}) => {
    const wait = approvalWaitOf(options)
    const askedAt = settings.now()
    const result = await ask(request, options)
    if (result.outcome_kind !== "asked") return { result, askedAt }
    const call = collection(settings, result.asked.approval_id)
    const collect = (limits: CallOptions): Promise<OpenedOrAsked> =>
      send({ ...call, awaited: true }, readOpening, limits)
    return await waitForPeople(settings, result, wait, collect)
  }
}

const collection = (settings: Settings, approvalId: string): Call =>
  callTo(settings, ROUTES.collect_permit, { place: [approvalId] })

export function permitCalls(send: Send, settings: Settings, openPermit: OpenPermit): PermitCalls {
  const sendLater = lateCloses(send)
  const redeem = methodOf(send, settings, ROUTES.redeem_permit)
  return {
    open: async (request, options) => (await openPermit(request, options)).result,
    collect: async (approvalId, options) => {
      const found = await send(collection(settings, approvalId), readOpening, options)
      if (found.outcome_kind === "asked") throw new ApprovalPending(found.asked)
      return found
    },
    close: async (permitId, closing, { fail, resend = false, ...options } = {}) => {
      const once = { ...options, idempotencyKey: options.idempotencyKey ?? permitId }
      const call = callTo(settings, ROUTES.close_permit, { place: [permitId], body: closing }, once)
      const within = (waitMs: number): Promise<ExecuteResult> =>
        send({ ...call, awaited: true }, readExecuteResult, { ...options, timeoutMs: waitMs, deadlineMs: waitMs })
      const sending = fail === "open" ? settings.breaker.decision(fail, within) : send(call, readExecuteResult, options)
      return await sending.catch(error => {
        if (resend && isLate(error)) sendLater(call)
        throw error
      })
    },
    redeem: async (permitId, permit, options) => await redeem(permitId, { permit }, options),
    get: methodOf(send, settings, ROUTES.permit),
    list: ({ state, ...options } = {}) =>
      listOf({ send, settings }, ROUTES.permits, permitsPageSchema, LISTING, { ...options, filters: { state } }),
  }
}

/** @throws HttpStatusError when the reply reports no outcome, ProtocolError when an outcome has another shape than ours */
function readOpening(reply: Reply): OpenedOrAsked {
  if (reply.status === 202) {
    const asked = okAnswer(lenient(askedApprovalAnswerSchema), reply, 202)
    return { outcome_kind: "asked", asked, retryAfterSeconds: reply.retryAfterSeconds }
  }
  if (reply.status === 201) return { outcome_kind: "opened", ...okAnswer(lenient(openPermitAnswerSchema), reply, 201) }
  const result = readExecuteResult(reply)
  if (result.outcome_kind === "ok") throw new ProtocolError("it answers a request for a permit with a finished run")
  return result
}

// Closes that got no answer. They are sent again in the background, in their order, until the service answers them.

/** Most closes that wait, and most characters of their bodies. What has no room is not sent again: the service ends its permit. */
const CLOSES_MAX = 1_000
const CHARACTERS_MAX = 16_777_216
/** Milliseconds between two rounds, and for one close of them. */
const EVERY_MS = 5_000
const CLOSE_MS = 10_000

/** Whether a close that got this may be taken later. */
const isLate = (error: unknown): boolean =>
  meansAway(error) || (error instanceof HttpStatusError && (isTransient(error) || error.status >= 500))

/** Takes a close under its idempotency key. A process that ends before the service is back sends nothing more. */
type LateCloses = (call: Call) => void

function lateCloses(send: Send): LateCloses {
  const waiting = new Set<Call>()
  let characters = 0
  /** A round is to come, or under way: there is one at a time, which has the closes that come meanwhile as well. */
  let isRound = false
  const sizeOf = ({ body = "" }: Call): number => body.length
  const sendAll = async (): Promise<void> => {
    for (const call of waiting) {
      const failure = await send(call, readExecuteResult, { timeoutMs: CLOSE_MS, deadlineMs: CLOSE_MS }).catch(
        (error: unknown) => error,
      )
      if (isLate(failure)) break
      // Sealed, or refused for ever, as one that comes too late.
      waiting.delete(call)
      characters -= sizeOf(call)
    }
    isRound = false
    if (waiting.size > 0) wait()
  }
  const wait = (): void => {
    if (isRound) return
    isRound = true
    whileIdle(EVERY_MS, () => void sendAll())
  }
  return call => {
    if (waiting.size >= CLOSES_MAX || characters + sizeOf(call) > CHARACTERS_MAX) return
    waiting.add(call)
    characters += sizeOf(call)
    wait()
  }
}
