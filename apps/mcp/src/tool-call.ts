/** One `tools/call`, from its arrival to the answer that the agent gets. It is forwarded under a permit, and its result is released by the close. */
import { canonicalize, type JsonObject } from "@runseal/canonical"
import type { ExecuteResult, PermitClosing } from "@runseal/sdk"
import type { CallRequest } from "./call-request.ts"
import type { End } from "./counts.ts"
import {
  errorResponse,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  objectAt,
  textAt,
} from "./json-rpc.ts"
import { declaredOutput, reviewedText, sealedText } from "./reviewed-text.ts"
import {
  APPROVAL_META,
  closePermit,
  type Opening,
  openPermit,
  RECEIPT_META,
  receiptOf,
  redeemPermit,
  refusedBy,
  type Sealing,
  whereIs,
  withdraw,
} from "./sealing.ts"
import type { ServerFacts } from "./tool-definitions.ts"
import type { Failure } from "./upstream.ts"

/** How the forwarded call ended. */
type Ending = { readonly response: JsonObject; readonly isStrict: boolean } | Failure

export type ToolCall = {
  /** The text to send to the server, once it is permitted; undefined when it must not be sent. */
  readonly forwarded: Promise<string | undefined>
  /** JSON text of the agent's answer; undefined for a call that the agent cancelled. Never rejects. */
  readonly answer: Promise<string | undefined>
  /** Aborts when nobody waits for the server any more, by timeout or cancellation. */
  readonly signal: AbortSignal
  readonly receive: (response: JsonObject, isStrict: boolean) => void
  readonly fail: (failure: Failure) => void
  /** The agent does not want an answer any more. */
  readonly cancel: () => void
}

/** What a call needs to know. */
type CallParts = {
  readonly sealing: Sealing
  readonly facts: ServerFacts
  /** Of the person for whom the agent makes the call. */
  readonly endUserToken: string | undefined
  /** Sends the agent a notification; absent where nothing carries it. */
  readonly notify?: (message: JsonObject) => void
  /** Asks the server for its tools; fails when the server does. */
  readonly listTools: () => Promise<void>
}

const CANCELLED: Failure = { code: "TIMED_OUT", message: "the call was cancelled" }

export function startCall(request: CallRequest, parts: CallParts): ToolCall {
  const { counts, callSeconds, warn } = parts.sealing
  const stop = new AbortController()
  const forwarded = Promise.withResolvers<string | undefined>()
  const ending = Promise.withResolvers<Ending>()
  let cancelled = false
  let ended = false
  counts.arrived()
  const fail = (failure: Failure): void => {
    if (ended) return
    ended = true
    ending.resolve(failure)
    stop.abort()
  }
  const forward: Forward = async () => {
    if (stop.signal.aborted) return await ending.promise
    const late: Failure = { code: "TIMED_OUT", message: "the server did not answer in time" }
    const timer = setTimeout(() => fail(late), callSeconds * 1000)
    forwarded.resolve(request.text)
    return await ending.promise.finally(() => clearTimeout(timer))
  }
  const settle = async (): Promise<string | undefined> => {
    try {
      const { answer, end } = await decide(request, parts, stop.signal, forward)
      if (end !== undefined) counts.ended(end)
      return cancelled ? undefined : JSON.stringify(answer)
    } catch (error) {
      // Only a bug comes here: the agent gets no result that was not decided.
      warn(`a call could not be handled: ${error instanceof Error ? error.message : "unknown"}`)
      counts.ended("unconfirmed")
      return JSON.stringify(errorResponse(request.id, INTERNAL_ERROR, "the call could not be handled"))
    } finally {
      forwarded.resolve(undefined)
    }
  }
  return {
    forwarded: forwarded.promise,
    answer: settle(),
    signal: stop.signal,
    receive: (response, isStrict) => {
      ended = true
      ending.resolve({ response, isStrict })
    },
    fail,
    cancel: () => {
      cancelled = true
      fail(CANCELLED)
    },
  }
}

/** `end` is absent where the call is only observed: it is counted when it is sealed. */
type Decided = { readonly answer: JsonObject; readonly end?: End }
type Forward = () => Promise<Ending>

async function decide(request: CallRequest, parts: CallParts, signal: AbortSignal, forward: Forward): Promise<Decided> {
  const { sealing } = parts
  if (sealing.mode === "observe") return await observe(request, parts, forward)
  const answer = (sentence: string, receipt?: JsonObject): JsonObject => refusal(request, sentence, receipt)
  const { opened, route_id, problem } = await ask(request, parts, signal)
  if (opened.kind === "pending" && problem === undefined)
    return { end: "pending", answer: pendingAnswer(request, opened.pending) }
  if (opened.kind === "pending") {
    // Nobody is to decide on a call that is not made anyway. The withdrawal seals a refused run.
    await withdraw(sealing, opened.pending)
    return { end: "refused", answer: answer(`the call was not made: ${problem}`) }
  }
  if (opened.kind === "undecided" || opened.kind === "unfit") {
    if (signal.aborted || sealing.fail === "closed" || opened.kind === "unfit")
      return { end: "stopped", answer: answer(`the call was not made, since there is no decision: ${opened.reason}`) }
    sealing.warn(`${route_id} is called without a record: ${opened.reason}`)
    return { end: "unsealed", answer: plainAnswer(request, await forward()) }
  }
  if (opened.kind === "refused") {
    const sentence = `the call was refused before it was made, ${refusedBy(sealing, opened.run)}`
    return { end: "refused", answer: answer(sentence, receiptOf(sealing, undefined, opened.run)) }
  }
  const { permitId } = opened
  const mayBeMade = problem === undefined && !signal.aborted
  const used = mayBeMade ? await redeemPermit(sealing, opened) : undefined
  if (used?.isOfAnother) return { end: "stopped", answer: answer(`the call was not made: ${used.reason}`) }
  if (mayBeMade && used === undefined) return await release(request, sealing, permitId, await forward())
  const code = problem === undefined ? "NOT_EXECUTED" : "EXECUTOR_REFUSED"
  const { run } = await closePermit(sealing, permitId, { outcome: "failed", code })
  const where = run === undefined ? "" : ` ${whereIs(sealing, run)}`
  const sentence = `the call was not made: ${problem ?? used?.reason ?? CANCELLED.message}.${where}`
  return { end: "failed", answer: answer(sentence, receiptOf(sealing, permitId, run)) }
}

/** What people decide on is a tool error with their address, so that the agent's model can say where. */
function pendingAnswer(request: CallRequest, { message, approval_id, address, expires_at }: Pending): JsonObject {
  const sentence = `${message}\nIt was not made. Make the same call again once they have decided.`
  return refusal(request, sentence, { approval_id, address, expires_at }, APPROVAL_META)
}

type Pending = Extract<Opening, { kind: "pending" }>["pending"]

/** Asks for a permit, with what is known of the tool. @param signal ends a wait for people */
async function ask(request: CallRequest, parts: CallParts, signal?: AbortSignal) {
  const { sealing, facts, endUserToken } = parts
  await learnTool(request.tool, parts)
  const { hash, state, problem } = facts.tool(request.tool)
  const route_id = `mcp/${facts.name}/${request.tool}`
  const act = { program_id: facts.programId(), route_id, registry_record_hash: hash, payload: request.payload }
  const waits =
    signal === undefined || problem !== undefined
      ? {}
      : { signal, approvalWaitMs: sealing.approvalSeconds * 1000, onApprovalWait: progressOf(request, parts) }
  return { opened: await openPermit(sealing, act, state, { endUserToken, ...waits }), route_id, problem }
}

/** Tells an agent that asked for progress that people decide. What a server reports later under the same token is to be more: each is less than 1. */
function progressOf({ progressToken }: CallRequest, { notify }: CallParts): (pending: Pending) => void {
  if (progressToken === undefined || notify === undefined) return () => undefined
  let polls = 0
  return ({ message }) => {
    const params = { progressToken, progress: polls / (polls + 1), message: `Runseal: ${message}` }
    polls++
    notify({ jsonrpc: "2.0", method: "notifications/progress", params })
  }
}

/** Forwards a call at once and answers it at once. It is sealed beside the agent, so its answer has no receipt. */
async function observe(request: CallRequest, parts: CallParts, forward: Forward): Promise<Decided> {
  const { counts, observed, warn } = parts.sealing
  const ending = forward()
  void observed.beside(async admit => {
    const withoutRecord = (reason: string): End => {
      warn(`${request.tool} is called without a record: ${reason}`)
      return "unsealed"
    }
    try {
      admit(request.payload.length)
      counts.ended(await sealObserved(request, parts, ending, withoutRecord))
    } catch (error) {
      counts.ended(withoutRecord(error instanceof Error ? error.message : "unknown"))
    }
  })
  return { answer: plainAnswer(request, await ending) }
}

async function sealObserved(
  request: CallRequest,
  parts: CallParts,
  ending: Promise<Ending>,
  withoutRecord: (reason: string) => End,
): Promise<End> {
  const { opened } = await ask(request, parts)
  if (opened.kind === "refused") return "observed"
  if (opened.kind !== "permitted") return withoutRecord(opened.reason)
  const { closing } = closingOf(parts.sealing, await ending)
  const { run } = await closePermit(parts.sealing, opened.permitId, closing)
  return endOf(run, closing)
}

const endOf = (run: ExecuteResult | undefined, { outcome }: PermitClosing): End =>
  run === undefined ? "unconfirmed" : outcome === "completed" ? "sealed" : "failed"

/** Asks the server for its tools where this one is not known. A call waits for the review of the definition. */
async function learnTool(tool: string, { facts, listTools, sealing }: CallParts): Promise<void> {
  const isKnown = (): boolean => !["unlisted", "unreviewed"].includes(facts.tool(tool).state)
  if (isKnown()) return
  await facts.reviewed()
  if (isKnown()) return
  await listTools().catch(() => sealing.warn(`${facts.name} did not list its tools`))
  await facts.reviewed()
}

/** Closes the permit with what became of the call, and gives the agent what may be released. */
async function release(request: CallRequest, sealing: Sealing, permitId: string, ending: Ending): Promise<Decided> {
  const { closing, problem } = closingOf(sealing, ending)
  const { run, unfit } = await closePermit(sealing, permitId, closing)
  const receipt = receiptOf(sealing, permitId, run)
  const end = endOf(run, closing)
  const withhold = (sentence: string, how: End = end): Decided => ({
    end: how,
    answer: refusal(request, `the call was made, and its result is withheld, ${sentence}`, receipt),
  })
  if (run === undefined && (unfit || sealing.fail === "closed"))
    return withhold(`since the service did not confirm its record (permit ${permitId})`)
  if (run !== undefined && run.outcome_kind !== "ok") return withhold(refusedBy(sealing, run), "withheld")
  if (problem !== undefined) return withhold(`since it ${problem}`)
  return { end, answer: withReceipt(plainAnswer(request, ending), receipt) }
}

type Closing = { readonly closing: PermitClosing; readonly problem?: string }

/** What is sealed of an ending, and why a result must not be released without a review. */
function closingOf(sealing: Sealing, ending: Ending): Closing {
  if ("code" in ending) return { closing: { outcome: "failed", code: ending.code } }
  const { response, isStrict } = ending
  const value = response["result" in response ? "result" : "error"]
  const body = isObject(value) ? value : {}
  // A task ends out of the gateway's sight.
  const isTask = body.resultType === "task" || isObject(body.task)
  const succeeded = isObject(response.result) && body.isError !== true && !isTask
  const outcome = succeeded
    ? ({ outcome: "completed" } as const)
    : ({ outcome: "failed", code: failureCode(response) } as const)
  const text = isStrict && isObject(value) ? reviewedText(value) : undefined
  if (text !== undefined)
    return {
      closing: { ...outcome, ...sealedText(sealing, text) },
      ...(isTask ? { problem: "is a task, which the gateway does not follow" } : {}),
    }
  return {
    closing: {
      ...outcome,
      ...declaredOutput(isStrict ? canonicalize(value ?? null) : JSON.stringify(value)),
      reproducibility_context: { output_released: sealing.mode === "observe" },
    },
    problem: !isStrict ? "is not I-JSON (RFC 7493)" : isObject(value) ? "is too large to be reviewed" : "is no object",
  }
}

/** A server that knows no such tool, or refuses the arguments, has not started. */
function failureCode(response: JsonObject): Failure["code"] {
  const { code } = objectAt(response, "error")
  return code === METHOD_NOT_FOUND || code === INVALID_PARAMS ? "EXECUTOR_REFUSED" : "EXECUTOR_FAILED"
}

/** A tool error, which the agent's model reads. @param about for programs, under the name */
function refusal({ id, modern }: CallRequest, sentence: string, about?: JsonObject, name = RECEIPT_META): JsonObject {
  return {
    jsonrpc: "2.0",
    id,
    result: {
      content: [{ type: "text", text: `Runseal: ${sentence}` }],
      isError: true,
      ...(modern ? { resultType: "complete" } : {}),
      ...(about === undefined ? {} : { _meta: { [name]: about } }),
    },
  }
}

const plainAnswer = (request: CallRequest, ending: Ending): JsonObject =>
  "code" in ending ? refusal(request, `the call failed: ${ending.message}`) : ending.response

/** The server's answer with the receipt: in the result's `_meta`, or in the error's data where that is an object or absent. */
function withReceipt(answer: JsonObject, receipt: JsonObject): JsonObject {
  if (isObject(answer.result)) {
    const _meta = { ...objectAt(answer.result, "_meta"), [RECEIPT_META]: receipt }
    return { ...answer, result: { ...answer.result, _meta } }
  }
  const error = objectAt(answer, "error")
  if (textAt(error, "message") === undefined || (error.data !== undefined && !isObject(error.data))) return answer
  return { ...answer, error: { ...error, data: { ...objectAt(error, "data"), [RECEIPT_META]: receipt } } }
}
