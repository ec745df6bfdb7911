/**
 * Permits for calls of tools. Nothing is stored between the two events of a call: a permit is found again by opening it once more under the
 * same idempotency key, so that the events may reach different processes of the service.
 */
import type { JsonObject } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { STEP_LABELS, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import type { Ending, ToolCall } from "./agent-events.ts"
import { callKey, closeBody, type Late, openBody } from "./permit-bodies.ts"
import type { Reply, Send } from "./service-calls.ts"

/** What a decision came to. */
export type Decision =
  /** `is_valid` is false where the permit is over, closed or expired: nothing may start under it any more. */
  | { readonly kind: "permitted"; readonly permit_id: string; readonly is_valid: boolean }
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

export function sealedCalls(agent: string, send: Send, settings: HookSettings): Calls {
  const open = async (call: ToolCall, key: string, late?: Late): Promise<Decision> =>
    decisionOf(await send("/permits", key, openBody(agent, call, settings, late)))
  const close = async (permit_id: string, ending: Ending): Promise<Decision> =>
    decisionOf(await send(`/permits/${permit_id}/close`, permit_id, closeBody(ending, settings)), permit_id)
  /** The decision that came too late: observed, since nothing can be stopped any more. */
  const settleLate = async (call: ToolCall, ending: Ending, late: Late, key: string): Promise<Decision> => {
    const opened = await open(call, key, late)
    return opened.kind === "permitted" ? close(opened.permit_id, ending) : opened
  }
  const decide: Calls["decide"] = call => open(call, callKey(agent, call))
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
      const decided = await decide(call)
      if (isReused(decided)) {
        const approved = permitOf(decided)
        // Nobody does it any more: its answer changes nothing of what became of this call.
        if (approved !== undefined) await close(approved, { ...NOT_DONE, reported_by: ending.reported_by })
        return late("another call was decided")
      }
      if (decided.kind === "refused" && wasDone) return late("it was refused")
      if (decided.kind !== "permitted") return decided
      const closed = await close(decided.permit_id, ending)
      if (isReused(closed)) return late("another end was reported")
      return isOver(closed) ? late("the permit was over") : closed
    },
  }
}

const refusedWith =
  (code: string) =>
  (decision: Decision): boolean =>
    decision.kind === "unsealed" && decision.reply.body.code === code
/** Another call was decided under the same id. */
export const isReused = refusedWith("idempotency_key_reused")
/** The permit that was opened under the id instead. */
const permitOf = (decision: Decision): string | undefined =>
  decision.kind === "unsealed"
    ? PERMIT_PATH.exec(decision.reply.response.headers.get("location") ?? "")?.[1]
    : undefined
const PERMIT_PATH = /^\/permits\/(pmt-[0-9a-f]{32})$/
const NOT_DONE = { outcome: "failed", code: "NOT_EXECUTED", error: "" } as const
const isOver = refusedWith("permit_not_open")

/** @param permitId of the permit that was closed; absent at an opening */
function decisionOf(reply: Reply, permitId?: string): Decision {
  const { status, body } = reply
  const permit_id = permitId ?? textMember(body, "permit_id")
  if (status === 201 && permit_id !== undefined)
    return { kind: "permitted", permit_id, is_valid: textMember(body, "permit") !== undefined }
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
