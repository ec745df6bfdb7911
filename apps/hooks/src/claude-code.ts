/** Claude Code, and agents made with its SDK: its hooks as events of ours, and our decisions in its words. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import {
  CLAUDE_CODE_TOOL_EVENTS,
  type ClaudeCodeHookAnswer,
  type ClaudeCodeToolHook,
  claudeCodeToolHookSchema,
} from "@runseal/core/wire/hook-requests"
import type { Agent, AgentEvent, ParseHook, ToolCall } from "./agent-events.ts"

const AGENT = "claude-code"

export const claudeCode = (parse: ParseHook): Agent<ClaudeCodeHookAnswer> => ({
  name: AGENT,
  read: body => {
    const { hook_event_name } = body
    if (typeof hook_event_name === "string" && !CLAUDE_CODE_TOOL_EVENTS.includes(hook_event_name))
      return { kind: "other" }
    return eventOf(AGENT, parse(claudeCodeToolHookSchema, body), body)
  },
  isBefore: ({ hook_event_name }) => hook_event_name === "PreToolUse",
  nothing: {},
  permitted: (reason, { permitted }) =>
    permitted === "allow"
      ? {
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "allow",
            permissionDecisionReason: reason,
          },
        }
      : {},
  denied: reason => ({
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason },
  }),
  withheld: (reason, ending) => ({
    decision: "block",
    reason,
    ...(ending.outcome === "completed"
      ? { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: withoutTexts(ending.result, reason) } }
      : {}),
  }),
})

/** @param agent Codex reports its calls in the same form */
export function eventOf(agent: string, hook: ClaudeCodeToolHook, body: JsonObject): AgentEvent {
  const call = callOf(agent, hook, body)
  const reported_by = hook.hook_event_name
  switch (reported_by) {
    case "PreToolUse":
      return { kind: "before", call }
    case "PostToolUse": {
      const result = body.tool_response ?? null
      return { kind: "after", call, ending: { reported_by, ...tookOf(hook), outcome: "completed", result } }
    }
    case "PostToolUseFailure": {
      // A call that was interrupted may have had its effect.
      const code = hook.is_interrupt === true ? "TIMED_OUT" : "EXECUTOR_FAILED"
      const { error } = hook
      return { kind: "after", call, ending: { reported_by, ...tookOf(hook), outcome: "failed", code, error } }
    }
    case "PermissionDenied": {
      const ending = { reported_by, outcome: "failed", code: "NOT_EXECUTED", error: hook.reason ?? "" } as const
      return { kind: "after", call, ending }
    }
  }
}

function callOf(agent: string, hook: ClaudeCodeToolHook, { tool_input, mcp_server }: JsonObject): ToolCall {
  const { session_id, tool_use_id, tool_name, agent_id, agent_type } = hook
  return {
    session_id,
    call_id: tool_use_id,
    tool: tool_name,
    arguments: tool_input ?? null,
    definition: mcp_server === undefined ? {} : { mcp_server },
    actor_role: agent_type ?? agent,
    context: { ...(agent_id === undefined ? {} : { agent_id }), ...(agent_type === undefined ? {} : { agent_type }) },
  }
}

const tookOf = ({ duration_ms }: { readonly duration_ms?: number }): { readonly duration_ms?: number } =>
  duration_ms === undefined ? {} : { duration_ms }

/** A name that the makers of a tool choose: words in camel case or snake case. Any other may be a secret, or a sentence. */
const PLAIN_NAME = /^[a-z]+(?:[A-Z][a-z]+|_[0-9]?[a-z]+)*$/
/** UTF-16 units of such a name. */
const PLAIN_NAME_MAX_LENGTH = 40
const isPlainName = (name: string): boolean => name.length <= PLAIN_NAME_MAX_LENGTH && PLAIN_NAME.test(name)

/**
 * A value of the same form, since Claude Code refuses an output of another form, with a notice in place of every text and 0 in place of
 * every number, without the members whose names may tell something.
 */
function withoutTexts(value: JsonValue, notice: string): JsonValue {
  if (typeof value === "string") return notice
  if (typeof value === "number") return 0
  if (Array.isArray(value)) return value.map(item => withoutTexts(item, notice))
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).filter(([name]) => isPlainName(name))
  return Object.fromEntries(members.map(([name, item]) => [name, withoutTexts(item, notice)]))
}
