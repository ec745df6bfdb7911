/** A `tools/call` as the agent sent it: what the permit is asked for, and the text that is forwarded, made of the same value. */
import { canonicalize, type JsonObject, type JsonValue } from "@runseal/canonical"
import {
  errorResponse,
  type Id,
  INVALID_PARAMS,
  isObject,
  objectAt,
  plainName,
  type Refused,
  textAt,
} from "./json-rpc.ts"

export type CallRequest = {
  readonly id: Id
  readonly tool: string
  /** RFC 8785 text of tool, arguments and whatever else the server gets besides `_meta`. */
  readonly payload: string
  /** The whole message, in RFC 8785. */
  readonly text: string
  /** Of the notifications of progress that the agent asked for; absent where it asked for none. */
  readonly progressToken?: Id
  /** Of MCP 2026-07-28 or later. */
  readonly modern: boolean
}

const TOOL_MAX_LENGTH = 256
const PARAMETERS = ["name", "arguments", "task"]
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
const TASKS = "io.modelcontextprotocol/tasks"

export function readCallRequest(message: JsonObject): CallRequest | Refused {
  const { id, params } = message
  const refuse = (sentence: string): Refused => ({ refused: errorResponse(id, INVALID_PARAMS, sentence) })
  if (typeof id !== "string" && typeof id !== "number") return refuse("a tools/call needs an id")
  if (!isObject(params)) return refuse("a tools/call needs parameters")
  const tool = textAt(params, "name")
  if (tool === undefined || tool === "" || tool.length > TOOL_MAX_LENGTH || /\p{Cc}/u.test(tool))
    return refuse(`a tool's name is 1 to ${TOOL_MAX_LENGTH} characters without control characters`)
  // A server that reads names less strictly would read other arguments.
  if (Object.keys(params).some(name => PARAMETERS.includes(plainName(name)) && !PARAMETERS.includes(name)))
    return refuse("a parameter is not written as MCP writes it")
  if (params.task !== undefined) return refuse("a call as a task is not supported: its result would not be reviewed")
  const { name: _, _meta, ...others } = params
  const forwarded = _meta === undefined ? params : { ...params, _meta: withoutTasks(_meta) }
  const progressToken = objectAt(params, "_meta").progressToken
  return {
    id,
    tool,
    ...(typeof progressToken === "string" || typeof progressToken === "number" ? { progressToken } : {}),
    payload: canonicalize({ tool, ...others }),
    text: canonicalize({ ...message, params: forwarded }),
    modern: textAt(_meta, "io.modelcontextprotocol/protocolVersion") !== undefined,
  }
}

/** A server answers with a task only where the client says that it follows tasks. */
function withoutTasks(meta: JsonValue): JsonValue {
  if (!isObject(meta) || !isObject(meta[CAPABILITIES])) return meta
  const { [TASKS]: tasks, ...extensions } = objectAt(meta[CAPABILITIES], "extensions")
  return tasks === undefined ? meta : { ...meta, [CAPABILITIES]: { ...meta[CAPABILITIES], extensions } }
}
