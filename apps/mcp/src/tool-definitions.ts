/** What a server is known to be and to offer: its name and version, its tools and the hashes of their definitions, and which of them changed. */
import { digest, type JsonObject, sha256Hex } from "@runseal/canonical"
import { isObject, objectAt, textAt } from "./json-rpc.ts"
import type { PinMode, ToolPins } from "./tool-pins.ts"

export type KnownTool = {
  /** SHA-256 of the definition's RFC 8785 text; of `null` for a tool that the server does not list. */
  readonly hash: string
  readonly state: "pinned" | "changed" | "unlisted" | "unpinned"
}

export type ServerFacts = {
  /** The configured name. */
  readonly name: string
  /** Whether a call of a tool that is changed or not listed is refused. */
  readonly refuses: boolean
  /** SHA-256 of `{door, server}`: of what the server says of itself, or of its configured name until it does. */
  readonly programId: () => string
  /** Reads who the server is from the result of `initialize` or `server/discover`. */
  readonly introduce: (result: JsonObject) => void
  /** Compares listed definitions with the pins. Gives the result as the agent may see it. */
  readonly listed: (result: JsonObject) => JsonObject
  /** The definitions may have changed: the next call asks for them. */
  readonly forget: () => void
  readonly tool: (name: string) => KnownTool
}

const PIN_META = "dev.runseal/pin"
const UNLISTED: KnownTool = { hash: sha256Hex("null"), state: "unlisted" }

export function createServerFacts(
  name: string,
  pins: ToolPins,
  mode: PinMode,
  warn: (sentence: string) => void,
): ServerFacts {
  let server: JsonObject = { name }
  const tools = new Map<string, KnownTool>()
  const reported = new Set<string>()
  return {
    name,
    refuses: mode === "refuse",
    programId: () => digest({ door: "mcp", server }),
    introduce: result => {
      const info = isObject(result.serverInfo)
        ? result.serverInfo
        : objectAt(result._meta, "io.modelcontextprotocol/serverInfo")
      const [serverName, version] = [textAt(info, "name"), textAt(info, "version")]
      if (serverName !== undefined) server = { name: serverName, ...(version === undefined ? {} : { version }) }
    },
    listed: result => {
      const listed = (Array.isArray(result.tools) ? result.tools : []).flatMap(definition => {
        const tool = textAt(definition, "name")
        return tool === undefined || !isObject(definition) ? [] : [{ tool, definition, hash: hashOf(definition) }]
      })
      const pinned = mode === "off" ? [] : pins.pin(listed)
      const shown = listed.flatMap(({ tool, definition, hash }, at): JsonObject[] => {
        const before = pinned[at]
        const isPinned = before === hash
        tools.set(tool, { hash, state: mode === "off" ? "unpinned" : isPinned ? "pinned" : "changed" })
        if (mode === "off" || isPinned) return [definition]
        const reason = before === undefined ? "has no place for another tool" : "has another definition"
        const sentence = `${JSON.stringify(tool)} of ${name} is ${mode === "refuse" ? "refused" : "marked"}: its file of pins ${reason}`
        if (!reported.has(`${sentence} ${hash}`)) warn(sentence)
        reported.add(`${sentence} ${hash}`)
        if (mode === "refuse") return []
        const mark = { [PIN_META]: { changed: true, ...(before === undefined ? {} : { pinned: before }), hash } }
        return [{ ...definition, _meta: { ...objectAt(definition, "_meta"), ...mark } }]
      })
      return { ...result, tools: shown }
    },
    forget: () => tools.clear(),
    tool: tool => tools.get(tool) ?? UNLISTED,
  }
}

/** Of the RFC 8785 text; of the text that the agent gets where there is none, as for a bound of 2^64 in a schema. */
function hashOf(definition: JsonObject): string {
  try {
    return digest(definition)
  } catch {
    return sha256Hex(JSON.stringify(definition))
  }
}
