/**
 * Permits for calls of tools. `sealedCall` of the SDK cannot make them: start and end of a call are two events, which may reach different
 * processes of the service. Nothing is stored between them: a permit is found again by opening it once more under the same idempotency key.
 */
import { canonicalize, digest, type JsonObject, sha256Hex, utf8Encode } from "@runseal/canonical"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { STEP_LABELS, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { ASKING_REFUSED, pendingSentence } from "@runseal/core/wire/approval-answers"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import type { Ending, ToolCall } from "./agent-events.ts"
import { NoAnswer, type Reply, type ServiceCalls } from "./service-calls.ts"

/** What a decision came to. */
export type Decision =
  /** `is_valid` is false where the permit is over, closed or expired: nothing may start under it any more. */
  | {
      readonly kind: "permitted"
      readonly permit_id: string
      readonly is_valid: boolean
      /** The token of one that has to be redeemed before the call. */
      readonly redeems?: string
    }
  /** Not to be done: people decide on it and have not, or its permit could not be redeemed. */
  | { readonly kind: "denied"; readonly reason: string }
  /** Stopped, and sealed as a run with a receipt. */
  | { readonly kind: "refused"; readonly run_id: number; readonly reason: string }
  /** Sealed as a run that would have been stopped, and was only observed. */
  | { readonly kind: "observed"; readonly run_id: number }
  /** Sealed, and all is well. */
  | { readonly kind: "sealed"; readonly run_id: number; readonly permit_id: string }
  /** Nothing was sealed: the service's refusal. */
  | { readonly kind: "unsealed"; readonly reply: Reply }

export type Calls = {
  /** Decides on a call before it is done. */
  readonly decide: (call: ToolCall) => Promise<Decision>
  /** Seals what became of it. */
  readonly settle: (call: ToolCall, ending: Ending) => Promise<Decision>
}

export function sealedCalls(agent: string, service: ServiceCalls, settings: HookSettings): Calls {
  const { send, read } = service
  const ask = (call: ToolCall, key: string, late?: Late): Promise<Reply> =>
    send("/permits", key, openBody(agent, call, settings, late))
  const open = async (call: ToolCall, key: string, late: Late): Promise<Decision> =>
    decisionOf(await ask(call, key, late))
  const close = async (permit_id: string, ending: Ending): Promise<Decision> =>
    decisionOf(await send(`/permits/${permit_id}/close`, permit_id, closeBody(ending, settings)), permit_id)
  /** The decision that came too late: observed, since nothing can be stopped any more. */
  const settleLate = async (call: ToolCall, ending: Ending, late: Late, key: string): Promise<Decision> => {
    const opened = await open(call, key, late)
    return opened.kind === "permitted" ? close(opened.permit_id, ending) : opened
  }
  /**
   * Decides on a call that people were asked for. What they approved is opened under a key of this call, since another call, with the same
   * arguments, may have been made under it meanwhile: then people are asked anew. Without an answer the call is denied, also where hooks fail open.
   */
  const decideAsked = async (call: ToolCall, asked: JsonObject, requests = REQUESTS_MAX): Promise<Decision> => {
    if (!mayBePermitted(asked) || requests === 0) return unpermitted(service, asked)
    const reply = await ask(call, approvedKey(callKey(agent, call), asked)).catch(unlessSilent)
    if (reply?.status === 202) return decideAsked(call, reply.body, requests - 1)
    const decision = reply && decisionOf(reply)
    return decision === undefined || decision.kind === "unsealed"
      ? unpermitted(service, asked)
      : redeemed(service, decision)
  }
  const decide = async (call: ToolCall): Promise<Decision> => {
    const reply = await ask(call, callKey(agent, call))
    return reply.status === 202 ? decideAsked(call, reply.body) : redeemed(service, decisionOf(reply))
  }
  const waitedFor = async (call: ToolCall, asked: JsonObject): Promise<Decision> =>
    (await ownPermit(service, callKey(agent, call), asked)) ?? unpermitted(service, asked)
  /** What was decided before the call. For an end user it is found by its address: the token that it was decided with is not here. */
  const decided = async (call: ToolCall): Promise<Decision> => {
    const reply = await ask(call, callKey(agent, call))
    if (reply.status === 202) return waitedFor(call, reply.body)
    const found = decisionOf(reply)
    const path = isReused(found) ? madeUnder(found) : undefined
    if (path === undefined) return found
    const { body } = await read(path)
    const { program_id = null, route_id = null, payload } = openBody(agent, call, settings)
    const asked = { program_id, route_id, payload_hash: sha256Hex(utf8Encode(`${payload}`)) }
    if (canonicalize(requestIn(body)) !== canonicalize(asked)) return found
    if (body.approval_id !== undefined) return waitedFor(call, body)
    const { id: run_id, enforcement } = body
    if (typeof run_id === "number")
      return enforcement === undefined ? { kind: "refused", run_id, reason: "" } : { kind: "observed", run_id }
    const permit_id = textMember(body, "permit_id")
    return permit_id === undefined ? found : { kind: "permitted", permit_id, is_valid: true }
  }
  return {
    decide,
    settle: async (call, ending) => {
      const key = callKey(agent, call)
      const late = (why: Late): Promise<Decision> => settleLate(call, ending, why, `${key}:late`)
      const wasDone = ending.outcome === "completed" || ending.code !== "NOT_EXECUTED"
      if (wasDone) {
        // Opens a permit only where the call has none: under a key that was used, another body is refused.
        const unasked = await settleLate(call, ending, "no decision was asked for", key)
        if (!isReused(unasked)) return unasked
      }
      const before = await decided(call)
      if (isReused(before)) {
        const approved = permitOf(before)
        // Nobody does it any more: its answer changes nothing of what became of this call.
        if (approved !== undefined) await close(approved, { ...NOT_DONE, reported_by: ending.reported_by })
        return late("another call was decided")
      }
      if ((before.kind === "refused" || before.kind === "denied") && wasDone) return late("it was refused")
      if (before.kind !== "permitted") return before
      const closed = await close(before.permit_id, ending)
      if (isReused(closed)) return late("another end was reported")
      return isOver(closed) ? late("the permit was over") : closed
    },
  }
}

/** The permit that a call has, where people approved it. Nobody is asked, and nothing is opened: a body without a payload is refused. */
async function ownPermit({ send }: ServiceCalls, key: string, asked: JsonObject): Promise<Decision | undefined> {
  let used: string | undefined = approvedKey(key, asked)
  for (let requests = 1; used !== undefined && requests <= REQUESTS_MAX; requests += 1) {
    const made = decisionOf(await send("/permits", used, {}))
    const permit_id = permitOf(made)
    if (permit_id !== undefined) return { kind: "permitted", permit_id, is_valid: true }
    const approval_id = APPROVAL_PATH.exec(madeUnder(made) ?? "")?.[1]
    used = approval_id === undefined ? undefined : approvedKey(key, { approval_id })
  }
  return undefined
}

/**
 * What became of a request for an approval that no permit of this call was opened for: its refused run where it is over without a permit. In
 * all other cases the call is denied.
 */
async function unpermitted({ post }: ServiceCalls, asked: JsonObject): Promise<Decision> {
  const [approval_id = "", address = "", expires_at = ""] = ["approval_id", "address", "expires_at"].map(name =>
    textMember(asked, name),
  )
  const sentence = pendingSentence({ address, expires_at })
  const reason = `Runseal: ${sentence} The call was not made. Make the same call again once they have decided.`
  if (asked.state === "waiting" || mayBePermitted(asked)) return { kind: "denied", reason }
  const reply = await post(`/approvals/${approval_id}/permit`).catch(unlessSilent)
  const decision = reply === undefined ? undefined : decisionOf(reply)
  return decision?.kind === "refused" ? decision : { kind: "denied", reason }
}

/**
 * Uses a permit up that has to be redeemed: one that was opened under a key of this call, so who redeemed it already was the same call,
 * whose event comes twice where it has two hooks.
 */
async function redeemed({ post }: ServiceCalls, decision: Decision): Promise<Decision> {
  if (decision.kind !== "permitted" || decision.redeems === undefined) return decision
  const { permit_id, redeems: permit } = decision
  const reply = await post(`/permits/${permit_id}/redeem`, { permit }).catch(unlessSilent)
  if (reply?.status === 200 || reply?.body.code === "already_redeemed") return decision
  return { kind: "denied", reason: `Runseal: the permit ${permit_id} could not be redeemed, so the call is denied.` }
}

function unlessSilent(error: unknown): undefined {
  if (!(error instanceof NoAnswer)) throw error
  return undefined
}

const refusedWith =
  (code: string) =>
  (decision: Decision): boolean =>
    decision.kind === "unsealed" && decision.reply.body.code === code
/** Another call was decided under the same id. */
export const isReused = refusedWith("idempotency_key_reused")
const isTokenRefused = refusedWith("end_user_token_invalid")
const isTokenMissing = refusedWith("end_user_required")
/** People would have to approve the call, and cannot be asked. */
export const cannotAsk = (decision: Decision): boolean => ASKING_REFUSED.some(code => refusedWith(code)(decision))
/** The end user of the call is not accepted, or is required and absent. */
export const namesNobody = (decision: Decision): boolean => isTokenRefused(decision) || isTokenMissing(decision)
/** The address of what was made under the id. */
const madeUnder = (decision: Decision): string | undefined =>
  decision.kind === "unsealed" ? (decision.reply.response.headers.get("location") ?? undefined) : undefined
/** The permit that was opened under the id instead. */
const permitOf = (decision: Decision): string | undefined => PERMIT_PATH.exec(madeUnder(decision) ?? "")?.[1]
/** Of a record of a run, of a permit or of a request for an approval: what was asked. */
function requestIn(record: JsonObject): JsonObject {
  const { program_id = null, route_id = null } = record
  const opened = member(member(record.opening ?? record.request, "sections"), "payload")
  return { program_id, route_id, payload_hash: record.payload_hash ?? member(opened, "payload_hash") ?? null }
}
const APPROVAL_PATH = /^\/approvals\/(apr-[0-9a-f]{32})$/
const PERMIT_PATH = /^\/permits\/(pmt-[0-9a-f]{32})$/
const NOT_DONE = { outcome: "failed", code: "NOT_EXECUTED", error: "" } as const
const isOver = refusedWith("permit_not_open")
/** People approved a request: there is a permit for it, of this call or of another one, or one can be opened. */
const mayBePermitted = ({ state }: JsonObject): boolean => state === "approved" || state === "collected"

/** @param permitId of the permit that was closed; absent at an opening */
function decisionOf(reply: Reply, permitId?: string): Decision {
  const { status, body } = reply
  const permit_id = permitId ?? textMember(body, "permit_id")
  if (status === 201 && permit_id !== undefined) {
    const permit = textMember(body, "permit")
    const redeems = member(body.opening, "redeem_required") === true && permit !== undefined ? { redeems: permit } : {}
    return { kind: "permitted", permit_id, is_valid: permit !== undefined, ...redeems }
  }
  const { run_id } = body
  if (typeof run_id !== "number") return { kind: "unsealed", reply }
  if (status === 200 && permitId !== undefined && body.manifest !== undefined)
    return { kind: "sealed", run_id, permit_id: permitId }
  if (status === 200) return { kind: "observed", run_id }
  return { kind: "refused", run_id, reason: reasonOf(body, run_id) }
}

/** What refused, why, and where the receipt is. */
const reasonOf = (body: JsonObject, runId: number): string =>
  `Refused by Runseal, ${refuserOf(body)}: ${textMember(body, "error")} The receipt is that of run ${runId}.`

/** The rule; where none decided, the gate or stage that ended the run, and its code. */
function refuserOf({ explanation, error_stage }: JsonObject): string {
  const rule = textMember(explanation, "rule_id")
  if (rule !== undefined) return `rule ${rule}`
  const step = WHOLE_PATH.find(each => each === error_stage)
  const gate = step && STEP_LABELS[step].toLowerCase()
  return [gate, textMember(explanation, "reason")].filter(part => part !== undefined).join(", ")
}

// A call of a tool as the bodies of `POST /permits` and of its close. docs/doors/claude-code.md has the mapping.

/**
 * Seconds for which a permit stays valid, and then open: a prompt may wait for its user, and a subagent works long. A call that ends
 * later is sealed as one that was decided too late.
 */
const VALID_SECONDS = 3_600
const CLOSE_SECONDS = 3_600
/** Bytes of a close that are sent: the service takes 1,048,576, and a header may come on top. Of a longer result only the hash is declared. */
const CLOSE_MAX_BYTES = 1_000_000

/** Most requests for an approval that are followed for one call: each of the former permitted another call. */
const REQUESTS_MAX = 4

/** Why a decision came after the act, which it could not stop. Sealed as `reproducibility_context.decided_after`. */
type Late =
  | "no decision was asked for"
  | "another call was decided"
  | "another end was reported"
  | "it was refused"
  | "the permit was over"

/** The idempotency key of a call: the same in every process of the service, before and after the act. */
const callKey = (agent: string, { session_id, call_id }: ToolCall): string =>
  `${agent}:${digest([session_id, call_id])}`
/** Under which a call has the permit of a request for an approval, or the next request where another call took that permit. */
const approvedKey = (key: string, asked: JsonObject): string => `${key}:${textMember(asked, "approval_id")}`

/** @param late absent before the act */
function openBody(agent: string, call: ToolCall, settings: HookSettings, late?: Late): JsonObject {
  const { session_id, call_id, tool, definition, actor_role, context } = call
  const { program_id, registry_record_hash, mode } = settings
  const observes = mode === "observe" || late !== undefined
  return {
    program_id: program_id ?? digest({ door: agent, agent }),
    route_id: `${agent}/${tool}`,
    registry_record_hash: registry_record_hash ?? digest({ door: agent, tool, ...definition }),
    payload: canonicalize({ tool, arguments: call.arguments }),
    audience: agent,
    reserve_tokens: 0,
    valid_for_seconds: VALID_SECONDS,
    close_within_seconds: CLOSE_SECONDS,
    attested_context: { actor_id: session_id, actor_role },
    reproducibility_context: {
      door: agent,
      session_id,
      call_id,
      ...context,
      ...(late === undefined ? {} : { decided_after: late }),
    },
    ...(observes ? { enforcement: "observe" } : {}),
  }
}

/** Declares the hash of the result, and sends the result itself where it may be captured: only then it is searched and reviewed. */
function closeBody(ending: Ending, { capture_content }: HookSettings): JsonObject {
  const { outcome, reported_by, duration_ms } = ending
  const text = canonicalize(outcome === "completed" ? ending.result : ending.error)
  const hash = sha256Hex(utf8Encode(text))
  const declared: JsonObject = {
    outcome,
    ...(outcome === "failed" ? { code: ending.code } : {}),
    request_substance: { output: { hash }, ...(duration_ms === undefined ? {} : { latency: { duration_ms } }) },
    reproducibility_context: { reported_by },
  }
  const whole = { ...declared, ai_output_text: text }
  const isSent = capture_content === "true" && utf8Encode(canonicalize(whole)).length <= CLOSE_MAX_BYTES
  return isSent ? whole : declared
}
