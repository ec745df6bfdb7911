/** What a server is known to be and to offer: its name and version, its tools and the hashes of their definitions, and which of them may be shown and called. */
import { digest, type JsonObject, type JsonValue, sha256Hex } from "@runseal/canonical"
import { createReviews, type DefinitionReviews, type ServerText } from "./definition-reviews.ts"
import type { Seen } from "./first-sight.ts"
import { isObject, objectAt, textAt } from "./json-rpc.ts"
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

// A tool as far as its caller must know it, without a word that its server wrote for the model: for a definition that is not reviewed yet.

/** A name is no sentence. */
const NAME = /^[\w.$-]{1,64}$/
/** Members of a JSON Schema that hold plain values: no schema and no text for people. */
const PLAIN = [
  ...["type", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"],
  ...["maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "nullable"],
  ...["required", "enum", "const"],
]
const SCHEMAS_BY_NAME = ["properties", "$defs", "definitions"]
const SCHEMAS = ["items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "not"]

const bareDefinition = (name: string, { inputSchema }: JsonObject): JsonObject => ({
  name,
  description: "Runseal: this description is not reviewed yet.",
  inputSchema: { ...Object(bareSchema(inputSchema)), type: "object" },
})

function bareSchema(schema: JsonValue | undefined): JsonValue {
  if (Array.isArray(schema)) return schema.map(bareSchema)
  if (!isObject(schema)) return schema === false ? false : {}
  const members = Object.entries(schema).flatMap(([name, value]): (readonly [string, JsonValue])[] => {
    if (PLAIN.includes(name)) return isPlain(value) ? [[name, value]] : []
    if (SCHEMAS.includes(name)) return [[name, bareSchema(value)]]
    if (name === "$ref") return typeof value === "string" && /^#[\w/$.-]{1,128}$/.test(value) ? [[name, value]] : []
    if (!SCHEMAS_BY_NAME.includes(name) || !isObject(value)) return []
    const schemas = Object.entries(value).filter(([key]) => NAME.test(key))
    return [[name, Object.fromEntries(schemas.map(([key, one]) => [key, bareSchema(one)]))]]
  })
  return Object.fromEntries(members)
}

/** A number, a truth value, a name, or a list of these. */
const isPlain = (value: JsonValue): boolean =>
  Array.isArray(value)
    ? value.every(item => !Array.isArray(item) && isPlain(item))
    : typeof value === "string"
      ? NAME.test(value)
      : typeof value !== "object"

// What is known of a text that a server says of itself or of a tool, by its pin and its review, and how the agent sees it.

type KnownTool = {
  /** SHA-256 of the definition's RFC 8785 text; of `null` for a tool that the server does not list. */
  readonly hash: string
  readonly state: "pinned" | "changed" | "unlisted" | "unpinned" | "refused" | "unreviewed"
  /** Why a call of it is refused where calls are; absent: it may be called. */
  readonly problem?: string
}

/** The name under which instructions are pinned: no tool is called so. */
const INSTRUCTIONS = ""
const PIN_META = "dev.runseal/pin"
/** Sentences that are reported once each. */
const REPORTED_MAX = 20_000

type KnownTexts = {
  readonly of: (tool: string, hash: string) => KnownTool
  readonly unlisted: KnownTool
  /** The text as the agent sees it, with a mark where it is another one than the pinned one; undefined where the agent does not see it. */
  readonly shown: (text: ServerText) => JsonObject | undefined
}

function createKnownTexts(
  name: string,
  pins: ToolPins,
  mode: PinMode,
  reviews: DefinitionReviews,
  sealing: Sealing,
): KnownTexts {
  const reported = new Set<string>()
  const of = (tool: string, hash: string): KnownTool => {
    const pinned = mode === "off" ? undefined : pins.of(tool)
    if (pinned !== undefined && pins.isTouched(tool))
      return { hash, state: "changed", problem: "its line in the file of pins has gone or was changed" }
    if (pinned === hash) return { hash, state: "pinned" }
    const isOther = mode !== "off" && (pinned !== undefined || pins.isFull())
    if (isOther && mode === "refuse")
      return { hash, state: "changed", problem: "the tool's definition is not the pinned one" }
    const verdict = reviews.verdictOf(hash)
    if (verdict?.kind === "refused")
      return { hash, state: "refused", problem: `the tool's definition was refused, ${verdict.reason}` }
    if (verdict?.kind === "clean") return { hash, state: isOther ? "changed" : "unpinned" }
    const waits = sealing.mode === "enforce" && sealing.fail === "closed"
    return { hash, state: "unreviewed", ...(waits ? { problem: "the tool's definition is not reviewed yet" } : {}) }
  }
  const unlisted = mode === "refuse" ? { problem: "the server does not list the tool" } : {}
  return {
    of,
    unlisted: { hash: sha256Hex("null"), state: "unlisted", ...unlisted },
    shown: ({ tool, text, hash }) => {
      const { state, problem } = of(tool, hash)
      if (state !== "changed" && state !== "refused") return text
      const hides = problem !== undefined && sealing.mode === "enforce" && (state === "refused" || mode === "refuse")
      const what = tool === INSTRUCTIONS ? "the text of instructions" : JSON.stringify(tool)
      const reason = problem ?? "it is not the pinned one"
      const full = pins.isFull() ? "; its file of pins has no place for another tool" : ""
      const sentence = `${what} of ${name} is ${hides ? "refused" : "marked"}: ${reason}${full}`
      if (!reported.has(`${sentence} ${hash}`) && reported.size < REPORTED_MAX) sealing.warn(sentence)
      reported.add(`${sentence} ${hash}`)
      if (hides) return undefined
      const pinned = pins.of(tool)
      const mark = { [state]: true, ...(pinned === undefined ? {} : { pinned }), hash }
      return { ...text, _meta: { ...objectAt(text, "_meta"), [PIN_META]: mark } }
    },
  }
}
