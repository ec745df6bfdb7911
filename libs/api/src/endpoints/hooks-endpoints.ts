/** Hooks of agents. docs/doors/README.md. */
import { claudeCodeHookAnswerSchema, claudeCodeHookSchema, hookQuerySchema } from "@runseal/core/wire/hook-requests"
import { DOCUMENT_MAX_BYTES, described, type Routes, shape } from "../endpoint.ts"

export const HOOK_ROUTES = {
  hook_claude_code: {
    method: "post",
    path: "/hooks/claude-code",
    access: "key",
    limit: "permits",
    end_user: "passed_on",
    query: shape(hookQuerySchema),
    body: shape(claudeCodeHookSchema),
    max_bytes: DOCUMENT_MAX_BYTES,
    answers: { 200: shape(claudeCodeHookAnswerSchema) },
  },
} as const satisfies Routes

const CALL = {
  session_id: "6a0f2b6e-1d7c-4a55-9a53-0d6f3c2b8f10",
  tool_name: "Bash",
  tool_use_id: "toolu_01A09q90qw90lq917835lq9",
  tool_input: { command: "ls" },
}

export const HOOK_ENDPOINTS = /* @__PURE__ */ described("Hooks", HOOK_ROUTES, () => ({
  hook_claude_code: {
    summary: "Hooks of Claude Code: a permit before each call of a tool, its close after it",
    description:
      "Takes every event of Claude Code. PreToolUse asks for a permit; PostToolUse, PostToolUseFailure and PermissionDenied close it. Other events are accepted, and nothing is sealed of them. The requests for permits count against the key's own limits. A refusal is 200 with the decision in Claude Code's words; what could not be sealed is the service's own refusal. With fail=open, a body that cannot be read is 200 with a denial.",
    body: {
      examples: {
        before: { summary: "before a call", value: { hook_event_name: "PreToolUse", ...CALL } },
        after: {
          summary: "after it",
          value: { hook_event_name: "PostToolUse", ...CALL, tool_response: { stdout: "README.md" } },
        },
      },
    },
    refusals: [403, 409],
    answers: { 200: "What Claude Code is to do; without members, what it would do anyway." },
  },
}))
