/** Gemini CLI: `BeforeTool` and `AfterTool`. They do not name the call: the command adds `call_id`. */
import { isObject } from "@runseal/core/vocabulary/json-members"
import * as v from "valibot"
import { type Agent, type AgentEvent, hookName, type ParseHook } from "./agent-events.ts"

const AGENT = "gemini-cli"

const toolSchema = v.looseObject({
  hook_event_name: v.picklist(["BeforeTool", "AfterTool"]),
  session_id: hookName,
  tool_name: hookName,
  call_id: hookName,
})

export const geminiCli = (parse: ParseHook): Agent<object> => ({
  name: AGENT,
  read: (body): AgentEvent => {
    if (body.hook_event_name !== "BeforeTool" && body.hook_event_name !== "AfterTool") return { kind: "other" }
    const { hook_event_name: reported_by, session_id, tool_name, call_id } = parse(toolSchema, body)
    const { tool_input = null, tool_response = null, mcp_context } = body
    const call = {
      ...{ session_id, call_id, tool: tool_name, arguments: tool_input, actor_role: AGENT, context: {} },
      definition: mcp_context === undefined ? {} : { mcp_context },
    }
    if (reported_by === "BeforeTool") return { kind: "before", call }
    const error = isObject(tool_response) ? tool_response.error : undefined
    return error === undefined || error === null
      ? { kind: "after", call, ending: { reported_by, outcome: "completed", result: tool_response } }
      : {
          kind: "after",
          call,
          ending: { reported_by, outcome: "failed", code: "EXECUTOR_FAILED", error: JSON.stringify(error) },
        }
  },
  isBefore: ({ hook_event_name }) => hook_event_name === "BeforeTool",
  nothing: {},
  permitted: () => ({}),
  denied: reason => ({ decision: "deny", reason }),
  withheld: reason => ({ decision: "deny", reason }),
})
