/** Cursor, by the documented format of its hooks: commands of the shell and tools of MCP servers. They do not name the call: the command adds `call_id`. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import * as v from "valibot"
import { type Agent, type AgentEvent, hookName, type ParseHook } from "./agent-events.ts"

const AGENT = "cursor"
const EVENTS = ["beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution"] as const
type CursorEvent = (typeof EVENTS)[number]

const duration = v.exactOptional(v.pipe(v.number(), v.minValue(0)))
const common = { conversation_id: hookName, call_id: hookName, duration }
const shellSchema = v.looseObject({ ...common, command: v.string() })
const toolSchema = v.looseObject({ ...common, tool_name: hookName })

export const cursor = (parse: ParseHook): Agent<object> => ({
  name: AGENT,
  read: (body): AgentEvent => {
    const event = EVENTS.find(name => name === body.hook_event_name)
    return event === undefined ? { kind: "other" } : eventOf(event, body, parse)
  },
  isBefore: ({ hook_event_name }) =>
    hook_event_name === "beforeShellExecution" || hook_event_name === "beforeMCPExecution",
  nothing: {},
  permitted: () => ({ permission: "allow" }),
  denied: reason => ({ permission: "deny", user_message: reason, agent_message: reason }),
  // What was done is only reported: Cursor takes no answer.
  withheld: () => ({}),
})

function eventOf(event: CursorEvent, body: JsonObject, parse: ParseHook): AgentEvent {
  const isShell = event.includes("Shell")
  const seen = isShell ? { ...parse(shellSchema, body), tool_name: "shell" } : parse(toolSchema, body)
  const { conversation_id, call_id, tool_name, duration: took } = seen
  const { command = null, cwd = null, tool_input = null, output = null, result_json = null } = body
  const call = {
    session_id: conversation_id,
    call_id,
    tool: tool_name,
    arguments: isShell ? { command, cwd } : jsonIn(tool_input),
    definition: isShell ? {} : { mcp: true },
    actor_role: AGENT,
    context: {},
  }
  if (event.startsWith("before")) return { kind: "before", call }
  const ending = {
    reported_by: event,
    ...(took === undefined ? {} : { duration_ms: took }),
    outcome: "completed" as const,
    result: isShell ? output : jsonIn(result_json),
  }
  return { kind: "after", call, ending }
}

/** Cursor writes arguments and results of MCP tools as texts of JSON. */
function jsonIn(value: JsonValue): JsonValue {
  if (typeof value !== "string") return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
