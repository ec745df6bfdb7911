/** What every agent's hooks report, whatever they call it. A further agent is one more `Agent`. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import type { ActFailureCode } from "@runseal/core/artifacts/permit-sections"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import * as v from "valibot"

/** Validates a body. Throws the service's refusal of one that does not fit. */
export type ParseHook = <Schema extends v.GenericSchema>(schema: Schema, body: JsonObject) => v.InferOutput<Schema>

/** Longest name or id in what agents report, in UTF-16 units: a route of it is one that runs may have. */
const NAME_MAX_LENGTH = 256
export const hookName = v.pipe(v.string(), v.minLength(1), v.maxLength(NAME_MAX_LENGTH))

/** One call of a tool, reported alike before and after it: both give the same permit. */
export type ToolCall = {
  /** Of the conversation: the actor of the run. */
  readonly session_id: string
  /** Of the call, in that conversation. */
  readonly call_id: string
  readonly tool: string
  readonly arguments: JsonValue
  /** What the agent says of the tool beside its name. */
  readonly definition: JsonObject
  /** Who calls, in that conversation: the agent itself, or a kind of subagent. */
  readonly actor_role: string
  /** Sealed as declared. */
  readonly context: JsonObject
}

/** How a call ended. */
export type Ending = {
  /** Name of the event that reported it. */
  readonly reported_by: string
  readonly duration_ms?: number
} & (
  | { readonly outcome: "completed"; readonly result: JsonValue }
  | { readonly outcome: "failed"; readonly code: ActFailureCode; readonly error: string }
)

export type AgentEvent =
  | { readonly kind: "before"; readonly call: ToolCall }
  | { readonly kind: "after"; readonly call: ToolCall; readonly ending: Ending }
  /** Nothing is done: nothing is sealed. */
  | { readonly kind: "other" }

/** An agent: how its hooks are read, and how they are answered. */
export type Agent<Answer extends object> = {
  /** Name in the path, in routes and as the audience of permits. */
  readonly name: string
  /** The event of a body. */
  readonly read: (body: JsonObject) => AgentEvent
  /** Whether a body, also one that does not fit, reports a call that is about to be done. */
  readonly isBefore: (body: JsonObject) => boolean
  /** Goes on as if there were no hook. */
  readonly nothing: Answer
  /** A permitted call. */
  readonly permitted: (reason: string, settings: HookSettings) => Answer
  /** A call that must not be done. */
  readonly denied: (reason: string) => Answer
  /** A result that must not be released. */
  readonly withheld: (reason: string, ending: Ending) => Answer
}
