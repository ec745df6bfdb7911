/** A call of a tool as the bodies of `POST /permits` and of its close. docs/doors/claude-code.md has the mapping. */
import { canonicalize, digest, type JsonObject, sha256Hex, utf8Encode } from "@runseal/canonical"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import type { Ending, ToolCall } from "./agent-events.ts"

/**
 * Seconds for which a permit stays valid, and then open: a prompt may wait for its user, and a subagent works long. A call that ends
 * later is sealed as one that was decided too late.
 */
const VALID_SECONDS = 3_600
const CLOSE_SECONDS = 3_600
/** Bytes of a close that are sent: the service takes 1,048,576, and a header may come on top. Of a longer result only the hash is declared. */
const CLOSE_MAX_BYTES = 1_000_000

/** Why a decision came after the act, which it could not stop. Sealed as `reproducibility_context.decided_after`. */
export type Late =
  | "no decision was asked for"
  | "another call was decided"
  | "another end was reported"
  | "it was refused"
  | "the permit was over"

/** The idempotency key of a call: the same in every process of the service, before and after the act. */
export const callKey = (agent: string, { session_id, call_id }: ToolCall): string =>
  `${agent}:${digest([session_id, call_id])}`

/** @param late absent before the act */
export function openBody(agent: string, call: ToolCall, settings: HookSettings, late?: Late): JsonObject {
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
export function closeBody(ending: Ending, { capture_content }: HookSettings): JsonObject {
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
