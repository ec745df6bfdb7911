/** What a server is known to be and to offer: its name and version, its tools and the hashes of their definitions, and which of them may be shown and called. */
import { digest, type JsonObject, sha256Hex } from "@runseal/canonical"
import { bareDefinition } from "./bare-definition.ts"
import { createReviews, type ServerText } from "./definition-reviews.ts"
import type { Seen } from "./first-sight.ts"
import { isObject, objectAt, textAt } from "./json-rpc.ts"
import { createKnownTexts, INSTRUCTIONS, type KnownTool } from "./known-texts.ts"
import type { Sealing } from "./sealing.ts"
import type { PinMode, ToolPins } from "./tool-pins.ts"

export type ServerFacts = {
  /** The configured name. */
  readonly name: string
  /** SHA-256 of `{door, server}`: of what the server says of itself, or of its configured name until it does. */
  readonly programId: () => string
  /** Reads who the server is from the result of `initialize` or `server/discover`. Gives the result as the agent may see it. */
  readonly introduce: (result: JsonObject) => Promise<JsonObject>
  /** Compares listed definitions with the pins, and has new ones reviewed. Gives the result as the agent may see it. */
  readonly listed: (result: JsonObject) => Promise<JsonObject>
  /** Resolves once nothing is under review. */
  readonly reviewed: () => Promise<unknown>
  /** Calls the listener when a review ended after the agent got its list. */
  readonly onReviewed: (listener: () => void) => void
  /** The definitions may have changed: the next call asks for them. */
  readonly forget: () => void
  readonly tool: (name: string) => KnownTool
}

export function createServerFacts(name: string, pins: ToolPins, mode: PinMode, sealing: Sealing): ServerFacts {
  let server: JsonObject = { name }
  /** The hashes of what is listed. */
  const tools = new Map<string, string>()
  const programId = (): string => digest({ door: "mcp", server })
  const reviews = createReviews(sealing, clean => {
    if (mode !== "off") pins.add(clean.map(({ tool, hash }) => ({ tool, sha256: hash })))
  })
  const known = createKnownTexts(name, pins, mode, reviews, sealing)
  const isHeld = ({ tool, hash }: ServerText): boolean => {
    const { state, problem } = known.of(tool, hash)
    return state === "unreviewed" && problem !== undefined
  }
  const review = (method: Seen["method"], texts: readonly ServerText[]): Promise<void> =>
    reviews.soon(
      { method, program_id: programId(), route_id: `mcp/${name}` },
      texts.filter(({ tool, hash }) => known.of(tool, hash).state === "unreviewed"),
    )
  return {
    name,
    programId,
    introduce: async result => {
      const info = isObject(result.serverInfo)
        ? result.serverInfo
        : objectAt(result._meta, "io.modelcontextprotocol/serverInfo")
      const [serverName, version] = [textAt(info, "name"), textAt(info, "version")]
      if (serverName !== undefined) server = { name: serverName, ...(version === undefined ? {} : { version }) }
      const { instructions, ...others } = result
      if (typeof instructions !== "string" || instructions === "") return result
      const introduction = { tool: INSTRUCTIONS, text: { instructions }, hash: hashOf({ instructions }) }
      await review("initialize", [introduction])
      const { _meta, ...shown } = known.shown(introduction) ?? {}
      if (isHeld(introduction)) return others
      return {
        ...others,
        ...shown,
        ...(_meta === undefined ? {} : { _meta: { ...objectAt(result, "_meta"), ...Object(_meta) } }),
      }
    },
    listed: async result => {
      const listed = textsIn(result)
      // Of two definitions under one name the second is another one, also where none is pinned.
      const firsts = new Map(listed.toReversed().map(({ tool, hash }) => [tool, hash]))
      const candidates = listed.filter(({ tool, hash }) => mode !== "refuse" || firsts.get(tool) === hash)
      await review("tools/list", candidates)
      const shown = candidates.map((one): JsonObject | undefined => {
        tools.set(one.tool, one.hash)
        return isHeld(one) ? bareDefinition(one.tool, one.text) : known.shown(one)
      })
      return { ...result, tools: shown.filter(one => one !== undefined) }
    },
    reviewed: reviews.all,
    onReviewed: reviews.onLate,
    forget: () => tools.clear(),
    tool: tool => {
      const hash = tools.get(tool)
      return hash === undefined ? known.unlisted : known.of(tool, hash)
    },
  }
}

/** The definitions of a list. */
const textsIn = ({ tools }: JsonObject): readonly ServerText[] =>
  (Array.isArray(tools) ? tools : []).flatMap(text => {
    const tool = textAt(text, "name")
    return tool === undefined || tool === INSTRUCTIONS || !isObject(text) ? [] : [{ tool, text, hash: hashOf(text) }]
  })

/** Of the RFC 8785 text; of the text that the agent gets where there is none, as for a bound of 2^64 in a schema. */
function hashOf(definition: JsonObject): string {
  try {
    return digest(definition)
  } catch {
    return sha256Hex(JSON.stringify(definition))
  }
}
