/** What a server is known to be and to offer: its name and version, its tools and their hashes, and which of them changed. */
import { digest, type JsonObject, type JsonValue, sha256Hex } from "@runseal/canonical"
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
  /** SHA-256 of `{door, server}`: of what the server says of itself, or of its configured name until it does. */
  readonly programId: () => string
  /** Reads who the server is from the result of `initialize` or `server/discover`. */
  readonly introduce: (result: JsonObject) => void
  /** Compares listed definitions with the pins. Gives the result as the agent may see it. */
  readonly listed: (result: JsonObject) => JsonObject
  /** The definitions may have changed: the next call asks for them. */
  readonly forget: () => void
  /** Whether the tool was listed, or all tools were. */
  readonly isKnown: (tool: string) => boolean
  readonly wasListed: () => void
  readonly tool: (name: string) => KnownTool
}

export const PIN_META = "dev.runseal/pin"
const UNLISTED: KnownTool = { hash: sha256Hex("null"), state: "unlisted" }

export function createServerFacts(
  name: string,
  pins: ToolPins,
  mode: PinMode,
  warn: (sentence: string) => void,
): ServerFacts {
  let server: JsonObject = { name }
  let complete = false
  const tools = new Map<string, KnownTool>()
  const reported = new Set<string>()

  const stateOf = (changed: ReadonlyMap<string, string>, tool: string, hash: string): KnownTool => {
    if (mode === "off") return { hash, state: "unpinned" }
    return { hash, state: changed.has(tool) ? "changed" : "pinned" }
  }
  const tell = (tool: string, hash: string): void => {
    if (reported.has(`${tool} ${hash}`)) return
    reported.add(`${tool} ${hash}`)
    warn(
      `the definition of ${JSON.stringify(tool)} of ${name} is not the pinned one: ${mode === "refuse" ? "refused" : "marked"}`,
    )
  }
  return {
    name,
    programId: () => digest({ door: "mcp", server }),
    introduce: result => {
      const info = isObject(result.serverInfo)
        ? result.serverInfo
        : objectAt(result._meta, "io.modelcontextprotocol/serverInfo")
      const [serverName, version] = [textAt(info, "name"), textAt(info, "version")]
      if (serverName !== undefined) server = { name: serverName, ...(version === undefined ? {} : { version }) }
    },
    listed: result => {
      const listed = (Array.isArray(result.tools) ? result.tools : []).flatMap(definition => named(definition))
      const hashes = new Map(listed.map(({ tool, definition }) => [tool, definitionHash(definition)]))
      const changed = mode === "off" ? new Map<string, string>() : pins.compare(name, hashes)
      const shown = listed.flatMap(({ tool, definition }): JsonObject[] => {
        const hash = hashes.get(tool) ?? ""
        tools.set(tool, stateOf(changed, tool, hash))
        const pinned = changed.get(tool)
        if (pinned === undefined) return [definition]
        tell(tool, hash)
        if (mode === "refuse") return []
        return [
          { ...definition, _meta: { ...objectAt(definition, "_meta"), [PIN_META]: { changed: true, pinned, hash } } },
        ]
      })
      return { ...result, tools: shown }
    },
    forget: () => {
      complete = false
      tools.clear()
    },
    isKnown: tool => complete || tools.has(tool),
    wasListed: () => {
      complete = true
    },
    tool: tool => tools.get(tool) ?? UNLISTED,
  }
}

function named(definition: JsonValue): readonly { readonly tool: string; readonly definition: JsonObject }[] {
  const tool = textAt(definition, "name")
  return tool === undefined || !isObject(definition) ? [] : [{ tool, definition }]
}

/** Of the RFC 8785 text; of the text that the agent gets where there is none, as for a bound of 2^64 in a schema. */
function definitionHash(definition: JsonObject): string {
  try {
    return digest(definition)
  } catch {
    return sha256Hex(JSON.stringify(definition))
  }
}
