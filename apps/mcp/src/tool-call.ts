/** One `tools/call`, from its arrival to the answer that the agent gets. It is forwarded under a permit, and its result is released by the close. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import type { ExecuteResult, PermitClosing } from "@runseal/sdk"
import type { CallRequest } from "./call-request.ts"
import type { End } from "./counts.ts"
import { errorResponse, INVALID_PARAMS, isObject, isStrict, METHOD_NOT_FOUND, objectAt, textAt } from "./json-rpc.ts"
import { reviewedText } from "./reviewed-text.ts"
import {
  type Act,
  closePermit,
  openPermit,
  outputOf,
  RECEIPT_META,
  receiptOf,
  ruleOf,
  type Sealing,
} from "./sealing.ts"
import type { KnownTool, ServerFacts } from "./tool-definitions.ts"

type FailureCode = NonNullable<PermitClosing["code"]>
type Failure = { readonly code: FailureCode; readonly sentence: string }
/** How the forwarded call ended. */
type Ending = { readonly response: JsonObject; readonly strict: boolean } | Failure

export type ToolCall = {
  /** The text to send to the server, once it is permitted; undefined when it must not be sent. */
  readonly forwarded: Promise<string | undefined>
  /** The agent's answer; undefined for a call that the agent cancelled. */
  readonly settled: Promise<JsonObject | undefined>
  /** Aborts when nobody waits for the server any more, by timeout or cancellation. */
  readonly signal: AbortSignal
  readonly receive: (response: JsonObject, text: string) => void
  readonly fail: (failure: Failure) => void
  /** The agent does not want an answer any more. */
  readonly cancel: () => void
}

/** What a call needs to know. */
export type CallParts = {
  readonly sealing: Sealing
  readonly facts: ServerFacts
  /** Lists the server's tools where they are not known; fails when the server does. */
  readonly learnTools: () => Promise<void>
  readonly refuseChanged: boolean
}

const TIMED_OUT: Failure = { code: "TIMED_OUT", sentence: "the server did not answer in time" }
const CANCELLED: Failure = { code: "TIMED_OUT", sentence: "the call was cancelled" }

export function startCall(request: CallRequest, parts: CallParts): ToolCall {
  const { sealing } = parts
  const stop = new AbortController()
  const forwarded = Promise.withResolvers<string | undefined>()
  const ending = Promise.withResolvers<Ending>()
  let cancelled = false
  sealing.counts.arrived()
  let ended = false
  const fail = (failure: Failure): void => {
    if (ended) return
    ended = true
    ending.resolve(failure)
    stop.abort()
  }
  const forward = async (): Promise<Ending> => {
    if (stop.signal.aborted) return await ending.promise
    const timer = setTimeout(() => fail(TIMED_OUT), sealing.callSeconds * 1000)
    forwarded.resolve(request.text)
    try {
      return await ending.promise
    } finally {
      clearTimeout(timer)
    }
  }
  const settled = decide(request, parts, stop.signal, forward).then(
    ({ answer, end }) => {
      sealing.counts.ended(end)
      return cancelled ? undefined : answer
    },
    (error: unknown) => {
      // Only a bug comes here: the agent gets no result that was not decided.
      sealing.warn(`a call could not be handled: ${error instanceof Error ? error.message : "unknown"}`)
      sealing.counts.ended("unconfirmed")
      return errorResponse(request.id, INVALID_PARAMS, "the call could not be handled")
    },
  )
  settled.finally(() => forwarded.resolve(undefined)).catch(() => undefined)
  return {
    forwarded: forwarded.promise,
    settled,
    signal: stop.signal,
    receive: (response, text) => {
      ended = true
      ending.resolve({ response, strict: isStrict(text) })
    },
    fail,
    cancel: () => {
      cancelled = true
      fail(CANCELLED)
    },
  }
}

type Decided = { readonly answer: JsonObject; readonly end: End }
type Forward = () => Promise<Ending>

async function decide(request: CallRequest, parts: CallParts, signal: AbortSignal, forward: Forward): Promise<Decided> {
  const { sealing, facts } = parts
  const { mode, fail, warn } = sealing
  await parts.learnTools().catch(() => warn(`${facts.name} did not list its tools`))
  const tool = facts.tool(request.tool)
  const act = actOf(request, facts, tool)
  const opened = await openPermit(sealing, act)
  if (opened.kind === "undecided") {
    if (mode === "enforce" && fail === "closed")
      return {
        end: "stopped",
        answer: refusal(request, `the call was not made, since there is no decision: ${opened.reason}`),
      }
    warn(`${act.routeId} is called without a record: ${opened.reason}`)
    return { end: "unsealed", answer: plainAnswer(request, await forward()) }
  }
  if (opened.kind === "refused") {
    const receipt = receiptOf(sealing, undefined, opened.run)
    if (mode === "enforce") {
      const sentence = `the call was refused before it was made, by ${ruleOf(opened.run)}. ${whereIs(sealing, opened.run)}`
      return { end: "refused", answer: refusal(request, sentence, receipt) }
    }
    return { end: "observed", answer: withReceipt(plainAnswer(request, await forward()), receipt) }
  }
  const { permitId } = opened
  const problem = mode === "enforce" ? pinProblem(parts, request.tool, tool) : undefined
  if (problem !== undefined || signal.aborted) {
    const code = problem === undefined ? "NOT_EXECUTED" : "EXECUTOR_REFUSED"
    const run = await closePermit(sealing, permitId, { outcome: "failed", code })
    const sentence = `the call was not made: ${problem ?? CANCELLED.sentence}.${run === undefined ? "" : ` ${whereIs(sealing, run)}`}`
    return { end: "failed", answer: refusal(request, sentence, receiptOf(sealing, permitId, run)) }
  }
  return await release(request, sealing, permitId, await forward())
}

/** Closes the permit with what became of the call, and gives the agent what may be released. */
async function release(request: CallRequest, sealing: Sealing, permitId: string, ending: Ending): Promise<Decided> {
  const open = sealing.mode === "observe" || sealing.fail === "open"
  const { closing, problem } = closingOf(sealing, ending, open)
  const run = await closePermit(sealing, permitId, closing)
  const receipt = receiptOf(sealing, permitId, run)
  const withhold = (end: End, sentence: string): Decided => ({
    end,
    answer: refusal(request, `the call was made, and its result is withheld, ${sentence}`, receipt),
  })
  if (run === undefined && !open)
    return withhold("unconfirmed", `since the service did not confirm its record (permit ${permitId})`)
  if (run !== undefined && run.outcome_kind !== "ok" && sealing.mode === "enforce")
    return withhold("withheld", `by ${ruleOf(run)}. ${whereIs(sealing, run)}`)
  if (problem !== undefined && !open) return withhold(endOf(run, closing), `since it ${problem}`)
  return { end: endOf(run, closing), answer: withReceipt(plainAnswer(request, ending), receipt) }
}

const whereIs = ({ address }: Sealing, { run_id }: ExecuteResult): string =>
  `Receipt: run ${run_id}, ${address}/runs/${run_id}`

function endOf(run: ExecuteResult | undefined, closing: PermitClosing): End {
  if (run === undefined) return "unconfirmed"
  return closing.outcome === "completed" ? "sealed" : "failed"
}

type Closing = { readonly closing: PermitClosing; readonly problem?: string }

/** What is sealed of an ending, and why a result must not be released without a review. */
function closingOf(sealing: Sealing, ending: Ending, open: boolean): Closing {
  if ("code" in ending) return { closing: { outcome: "failed", code: ending.code } }
  const { response, strict } = ending
  const body = isObject(response.result) ? response.result : objectAt(response, "error")
  const succeeded = isObject(response.result) && response.result.isError !== true && !isTask(body)
  const outcome = succeeded
    ? ({ outcome: "completed" } as const)
    : ({ outcome: "failed", code: failureCode(response) } as const)
  const text = strict ? reviewedText(body) : undefined
  if (text !== undefined)
    return {
      closing: { ...outcome, ai_output_text: outputOf(sealing, text) },
      ...(isTask(body) ? { problem: "is a task, which the gateway does not follow" } : {}),
    }
  const unreviewed = { output_sha256: sha256Hex(JSON.stringify(body)), output_reviewed: false, output_released: open }
  return {
    closing: { ...outcome, reproducibility_context: unreviewed },
    problem: strict ? "is too large to be reviewed" : "is not strict I-JSON (RFC 7493)",
  }
}

/** A task ends out of the gateway's sight. */
const isTask = (result: JsonObject): boolean => result.resultType === "task" || isObject(result.task)

/** A server that knows no such tool, or refuses the arguments, has not started. */
function failureCode(response: JsonObject): FailureCode {
  const { code } = objectAt(response, "error")
  return code === METHOD_NOT_FOUND || code === INVALID_PARAMS ? "EXECUTOR_REFUSED" : "EXECUTOR_FAILED"
}

function actOf(request: CallRequest, facts: ServerFacts, tool: KnownTool): Act {
  return {
    programId: facts.programId(),
    routeId: `mcp/${facts.name}/${request.tool}`,
    definitionHash: tool.hash,
    definition: tool.state,
    payload: request.payload,
  }
}

function pinProblem({ refuseChanged }: CallParts, name: string, { state }: KnownTool): string | undefined {
  if (!refuseChanged) return undefined
  if (state === "changed") return `the definition of ${JSON.stringify(name)} is not the pinned one`
  return state === "unlisted" ? `the server does not list ${JSON.stringify(name)}` : undefined
}

/** A tool error, which the agent's model reads. */
function refusal({ id, modern }: CallRequest, sentence: string, receipt?: JsonObject): JsonObject {
  return {
    jsonrpc: "2.0",
    id,
    result: {
      content: [{ type: "text", text: `Runseal: ${sentence}` }],
      isError: true,
      ...(modern ? { resultType: "complete" } : {}),
      ...(receipt === undefined ? {} : { _meta: { [RECEIPT_META]: receipt } }),
    },
  }
}

function plainAnswer(request: CallRequest, ending: Ending): JsonObject {
  return "code" in ending
    ? refusal(request, `the call failed: ${ending.sentence}`)
    : { ...ending.response, id: request.id }
}

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
