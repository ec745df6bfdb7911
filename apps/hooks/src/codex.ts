/** Codex CLI: its hooks have the form of those of Claude Code, with fewer events and answers. */
import { claudeCodeToolHookSchema } from "@runseal/core/wire/hook-requests"
import type { Agent, ParseHook } from "./agent-events.ts"
import { eventOf } from "./claude-code.ts"

const AGENT = "codex"
const EVENTS: readonly unknown[] = ["PreToolUse", "PostToolUse"]

export const codex = (parse: ParseHook): Agent<object> => ({
  name: AGENT,
  read: body =>
    EVENTS.includes(body.hook_event_name)
      ? eventOf(AGENT, parse(claudeCodeToolHookSchema, body), body)
      : { kind: "other" },
  isBefore: ({ hook_event_name }) => hook_event_name === "PreToolUse",
  nothing: {},
  permitted: () => ({}),
  denied: reason => ({
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason },
  }),
  withheld: reason => ({ decision: "block", reason }),
})
