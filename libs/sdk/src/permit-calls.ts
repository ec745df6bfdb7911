/** Permits, call by call: opened before an act, closed after it. docs/api.md, "Permits". */

import {
  type OpenPermitAnswer,
  openPermitAnswerSchema,
  type PermitRecord,
  type PermitSummary,
  type PermitsPage,
  permitRecordSchema,
  permitsPageSchema,
  type RedeemPermitAnswer,
  redeemPermitAnswerSchema,
} from "@runseal/core/wire/permit-answers"
import { PERMIT_STATES, type PermitState } from "@runseal/core/wire/permit-requests"
import { as, onceCall, permitPath, query } from "./calls.ts"
import { InvalidArgumentError, ProtocolError } from "./client-errors.ts"
import type { Reply } from "./exchange.ts"
import { type ExecuteResult, readExecuteResult } from "./execute-result.ts"
import { lenient } from "./lenient.ts"
import { type List, listItems, type PageOptions } from "./list-pages.ts"
import type { PermitClosing, PermitRequest } from "./permit-arguments.ts"
import { jsonText } from "./plain-json.ts"
import { okAnswer } from "./read-reply.ts"
import type { CallOptions, OnceOptions, Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

/** A permit that was opened. */
export type OpenedPermit = { readonly outcome_kind: "opened" } & OpenPermitAnswer
/** The service recorded a run that did not end ok; `outcome_kind` decides which receipt there is. */
export type RefusedRun = Exclude<ExecuteResult, { readonly outcome_kind: "ok" }>
export type OpenPermitResult = OpenedPermit | RefusedRun
export type PermitList = List<PermitsPage, PermitSummary>

export type PermitCalls = {
  /**
   * Asks for a permit. A refused act is a result too: the run that the service recorded, with its receipt. Retried only under an
   * idempotency key, since each call opens a permit.
   */
  readonly open: (request: PermitRequest, options?: OnceOptions) => Promise<OpenPermitResult>
  /**
   * Seals what became of the act. Every outcome the service recorded is a result: the output may be released only when it is `ok`.
   * ConflictError with the code `permit_not_open` when it was closed before or is too late. Retried: the permit's id is the idempotency
   * key unless there is another one.
   */
  readonly close: (permitId: string, closing: PermitClosing, options?: OnceOptions) => Promise<ExecuteResult>
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

export const permitCalls = (send: Send, settings: Settings): PermitCalls => ({
  open: async (request, options) =>
    await send(onceCall(settings, "/permits", jsonText(request), options), readOpening, options),
  close: async (permitId, closing, options = {}) => {
    const once = { ...options, idempotencyKey: options.idempotencyKey ?? permitId }
    return await send(
      onceCall(settings, `${permitPath(permitId)}/close`, jsonText(closing), once),
      readExecuteResult,
      options,
    )
  },
  redeem: async (permitId, permit, options) => {
    const call = { path: `${permitPath(permitId)}/redeem`, body: jsonText({ permit }), repeatable: false }
    return await send({ ...call, public: true }, as(redeemPermitAnswerSchema), options)
  },
  get: async (permitId, options) =>
    await send({ path: permitPath(permitId), repeatable: true }, as(permitRecordSchema), options),
  list: ({ state, ...options } = {}) => {
    if (state !== undefined && !PERMIT_STATES.includes(state))
      throw new InvalidArgumentError(`A permit's state is one of ${PERMIT_STATES.join(", ")}.`)
    const page = (limit: number, offset: number): Promise<PermitsPage> =>
      send({ path: `/permits${query({ state, limit, offset })}`, repeatable: true }, as(permitsPageSchema), options)
    return listItems(LISTING, page, options)
  },
})

/** @throws HttpStatusError when the reply reports no outcome, ProtocolError when an outcome has another shape than ours */
function readOpening(reply: Reply): OpenPermitResult {
  if (reply.status === 201) return { outcome_kind: "opened", ...okAnswer(lenient(openPermitAnswerSchema), reply, 201) }
  const result = readExecuteResult(reply)
  if (result.outcome_kind === "ok") throw new ProtocolError("it answers a request for a permit with a finished run")
  return result
}
