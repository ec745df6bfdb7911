/** What is known of a text that a server says of itself or of a tool, by its pin and its review, and how the agent sees it. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import type { DefinitionReviews, ServerText } from "./definition-reviews.ts"
import { objectAt } from "./json-rpc.ts"
import type { Sealing } from "./sealing.ts"
import type { PinMode, ToolPins } from "./tool-pins.ts"

export type KnownTool = {
  /** SHA-256 of the definition's RFC 8785 text; of `null` for a tool that the server does not list. */
  readonly hash: string
  readonly state: "pinned" | "changed" | "unlisted" | "unpinned" | "refused" | "unreviewed"
  /** Why a call of it is refused where calls are; absent: it may be called. */
  readonly problem?: string
}

/** The name under which instructions are pinned: no tool is called so. */
export const INSTRUCTIONS = ""
const PIN_META = "dev.runseal/pin"
/** Sentences that are reported once each. */
const REPORTED_MAX = 20_000

export type KnownTexts = {
  readonly of: (tool: string, hash: string) => KnownTool
  readonly unlisted: KnownTool
  /** The text as the agent sees it, with a mark where it is another one than the pinned one; undefined where the agent does not see it. */
  readonly shown: (text: ServerText) => JsonObject | undefined
}

export function createKnownTexts(
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
