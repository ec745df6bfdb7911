/** What agents report to `POST /hooks/…`, and the settings of the endpoint. docs/doors/claude-code.md. */
import * as v from "valibot"
import { type Shape, sha256Schema } from "../vocabulary/scalars.ts"

const opt = v.exactOptional

/** Query parameters of every hook. */
export const hookQuerySchema = v.object({
  mode: opt(
    v.pipe(
      v.picklist(["enforce", "observe"], "must be enforce or observe"),
      v.description("observe: a refusal is sealed and marked, and stops nothing. enforce when absent."),
    ),
  ),
  fail: opt(
    v.pipe(
      v.picklist(["closed", "open"], "must be closed or open"),
      v.description(
        "What becomes of a call while the service is away or busy: it is denied, or it goes ahead. closed when absent. A call that the service does not take is denied with both.",
      ),
    ),
  ),
  capture_content: opt(
    v.pipe(
      v.picklist(["true", "false"], "must be true or false"),
      v.description("true: the text of a result is reviewed. Otherwise the service gets its hash alone."),
    ),
  ),
  permitted: opt(
    v.pipe(
      v.picklist(["ask", "allow"], "must be ask or allow"),
      v.description("What a permitted call gets: the agent's own permission rules, or allow. ask when absent."),
    ),
  ),
  program_id: opt(
    v.pipe(sha256Schema, v.description("Of the program that acts; absent: the hash of the agent's name.")),
  ),
  registry_record_hash: opt(
    v.pipe(sha256Schema, v.description("Of the approved entry; absent: the hash of what the hook says of the tool.")),
  ),
})
export type HookSettings = Shape<typeof hookQuerySchema>

/** Longest name or id, in UTF-16 units: a route of it is one that runs may have. */
const NAME_MAX_LENGTH = 256
const name = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(NAME_MAX_LENGTH, `must have at most ${NAME_MAX_LENGTH} characters`),
)
const text = v.string()

const toolCall = {
  /** Of the conversation. */
  session_id: name,
  tool_name: name,
  /** Of the call: the same before and after it. */
  tool_use_id: name,
  tool_input: opt(v.unknown()),
  /** Present where a subagent calls. */
  agent_id: opt(name),
  agent_type: opt(name),
  /** Present for a tool of an MCP server. */
  mcp_server: opt(v.looseObject({})),
}
/** Milliseconds that the tool took. */
const duration_ms = opt(v.pipe(v.number(), v.minValue(0, "must not be negative")))

/** The events of Claude Code about one call of a tool. Other members are ignored. */
export const claudeCodeToolHookSchema = v.variant("hook_event_name", [
  v.looseObject({ hook_event_name: v.literal("PreToolUse"), ...toolCall }),
  v.looseObject({
    hook_event_name: v.literal("PostToolUse"),
    ...toolCall,
    tool_response: opt(v.unknown()),
    duration_ms,
  }),
  v.looseObject({
    hook_event_name: v.literal("PostToolUseFailure"),
    ...toolCall,
    error: text,
    is_interrupt: opt(v.boolean()),
    duration_ms,
  }),
  v.looseObject({ hook_event_name: v.literal("PermissionDenied"), ...toolCall, reason: opt(text) }),
])
export type ClaudeCodeToolHook = v.InferOutput<typeof claudeCodeToolHookSchema>

/** The names of these events. Of any other nothing is sealed. */
export const CLAUDE_CODE_TOOL_EVENTS: readonly string[] = claudeCodeToolHookSchema.options.map(
  ({ entries }) => entries.hook_event_name.literal,
)
const otherEvent = v.pipe(
  text,
  v.check(event => !CLAUDE_CODE_TOOL_EVENTS.includes(event)),
  v.metadata({ not: { enum: CLAUDE_CODE_TOOL_EVENTS } }),
)

/** Every event of Claude Code, as a hook reports it. */
export const claudeCodeHookSchema = v.union([claudeCodeToolHookSchema, v.looseObject({ hook_event_name: otherEvent })])

/** What the hook answers, in Claude Code's words. Without members nothing is decided. */
export const claudeCodeHookAnswerSchema = v.strictObject({
  hookSpecificOutput: opt(
    v.variant("hookEventName", [
      v.strictObject({
        hookEventName: v.literal("PreToolUse"),
        permissionDecision: v.picklist(["allow", "deny"]),
        permissionDecisionReason: text,
      }),
      v.strictObject({ hookEventName: v.literal("PostToolUse"), updatedToolOutput: v.unknown() }),
    ]),
  ),
  decision: opt(v.literal("block")),
  reason: opt(text),
})
export type ClaudeCodeHookAnswer = v.InferOutput<typeof claudeCodeHookAnswerSchema>
