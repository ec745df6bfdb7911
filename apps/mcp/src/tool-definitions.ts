/** What a server is known to be and to offer: its name and version, its tools and the hashes of their definitions, and which of them may be shown and called. */
import { setTimeout as sleep } from "node:timers/promises"
import { canonicalize, digest, type JsonObject, type JsonValue, sha256Hex } from "@runseal/canonical"
import { endUserOf } from "./end-user-context.ts"
import { isObject, objectAt, textAt } from "./json-rpc.ts"
import { fitsRequest, reviewedText, sealedText } from "./reviewed-text.ts"
import { closePermit, openPermit, refusedBy, type Sealing } from "./sealing.ts"
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

// Reviews of what a server says of itself and of its tools: each text once, many at a time, and no agent waits long for them.

/** Milliseconds that an agent waits for the review of what it asked for: agents end a server that starts slowly. */
const REVIEW_WAIT_MS = 2_000
/** Texts whose verdict is remembered; the oldest is forgotten first. */
const VERDICTS_MAX = 20_000

/** A definition of a tool, or instructions. @param hash of its RFC 8785 text */
type ServerText = { readonly tool: string; readonly text: JsonObject; readonly hash: string }

type DefinitionReviews = {
  /** Undefined for a text that is not reviewed, or not yet. */
  readonly verdictOf: (hash: string) => Verdict | undefined
  /** Reviews what was not. Resolves when nothing is under review, or the agent waits no longer; at once where calls are only observed. */
  readonly soon: (seen: Seen, texts: readonly ServerText[]) => Promise<void>
  /** Resolves once nothing is under review. */
  readonly all: () => Promise<unknown>
  /** Calls the listener when a review ended for which the agent did not wait. */
  readonly onLate: (listener: () => void) => void
}

/** @param pin is called with the texts that were found clean */
function createReviews(sealing: Sealing, pin: (clean: readonly ServerText[]) => void): DefinitionReviews {
  const { warn } = sealing
  /** By hash: undefined while a text is under review. */
  const verdicts = new Map<string, Verdict | undefined>()
  const underReview = new Set<Promise<void>>()
  const listeners: (() => void)[] = []

  const reviewNew = async (seen: Seen, texts: readonly ServerText[]): Promise<void> => {
    const fresh = texts.filter(({ hash }) => !verdicts.has(hash))
    if (fresh.length === 0) return
    for (const { hash } of fresh) verdicts.set(hash, undefined)
    const texted = fresh.map(({ text }) => text)
    const found = await verdictsOn(sealing, seen, texted)
    for (const [at, { hash }] of fresh.entries()) {
      const verdict = found[at]
      // Without a decision the next list starts another review.
      if (verdict === undefined || verdict.kind === "undecided") verdicts.delete(hash)
      else verdicts.set(hash, verdict)
      for (const oldest of verdicts.keys()) if (verdicts.size > VERDICTS_MAX) verdicts.delete(oldest)
    }
    for (const reason of new Set(found.map(verdict => (verdict.kind === "undecided" ? verdict.reason : undefined))))
      if (reason !== undefined) warn(`what ${seen.route_id} says of itself is not reviewed: ${reason}`)
    pin(fresh.filter((_, at) => found[at]?.kind === "clean"))
  }
  return {
    verdictOf: hash => verdicts.get(hash),
    soon: async (seen, texts) => {
      let isLate = false
      const work = reviewNew(seen, texts)
        .catch((error: unknown) => warn(`a review failed: ${error instanceof Error ? error.message : "unknown"}`))
        .finally(() => {
          underReview.delete(work)
          if (isLate) for (const listener of listeners) listener()
        })
      underReview.add(work)
      if (sealing.mode === "observe") return
      await Promise.race([Promise.all(underReview), sleep(REVIEW_WAIT_MS, undefined, { ref: false })])
      isLate = underReview.has(work)
    },
    all: () => Promise.all(underReview),
    onLate: listener => void listeners.push(listener),
  }
}

// What a server says is read by a model, as results are: the service searches and reviews it when it is first seen, as the result of the
// request that it answered, and there is a record of it.

type Verdict =
  | { readonly kind: "clean" }
  | { readonly kind: "refused"; readonly reason: string }
  /** The service gave no answer. */
  | { readonly kind: "undecided"; readonly reason: string }

type Seen = {
  /** The request that it answers: what was done. */
  readonly method: "initialize" | "tools/list"
  readonly program_id: string
  /** `mcp/<server>`. */
  readonly route_id: string
}

/** A verdict for each text, in order. What is refused together is reviewed in halves, until it is known which of them was meant. */
async function verdictsOn(sealing: Sealing, seen: Seen, texts: readonly JsonObject[]): Promise<readonly Verdict[]> {
  const text = textOf({ [seen.method]: [...texts] })
  const verdict: Verdict =
    text === undefined ? { kind: "refused", reason: "it is too large to be reviewed" } : await seal(sealing, seen, text)
  if (verdict.kind !== "refused" || texts.length === 1) return texts.map(() => verdict)
  const half = texts.length >> 1
  return [
    ...(await verdictsOn(sealing, seen, texts.slice(0, half))),
    ...(await verdictsOn(sealing, seen, texts.slice(half))),
  ]
}

/** RFC 8785, or what the agent gets where there is none, as for a bound of 2^64 in a schema. Undefined for what is too large. */
function textOf(value: JsonObject): string | undefined {
  try {
    return reviewedText(value)
  } catch {
    const text = JSON.stringify(value)
    return fitsRequest(text) ? text : undefined
  }
}

async function seal(sealing: Sealing, { method, program_id, route_id }: Seen, text: string): Promise<Verdict> {
  const act = { program_id, route_id, registry_record_hash: sha256Hex(text), payload: canonicalize({ method }) }
  const opened = await openPermit(sealing, act, "unpinned", { endUserToken: endUserOf.getStore() })
  if (opened.kind === "refused") return { kind: "refused", reason: refusedBy(sealing, opened.run) }
  if (opened.kind !== "permitted") return { kind: "undecided", reason: opened.reason }
  const { run } = await closePermit(sealing, opened.permitId, { outcome: "completed", ...sealedText(sealing, text) })
  if (run === undefined) return { kind: "undecided", reason: `its review (permit ${opened.permitId}) is not confirmed` }
  return run.outcome_kind === "ok" ? { kind: "clean" } : { kind: "refused", reason: refusedBy(sealing, run) }
}
