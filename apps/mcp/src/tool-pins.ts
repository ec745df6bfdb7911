/**
 * Definitions of one server's tools, pinned on first sight in a JSON file: tool, SHA-256 of the definition's RFC 8785 text. The file has the
 * configured name of the server, which could change the name that it gives itself. To accept a change, remove the tool's line.
 */
import { join } from "node:path"
import * as v from "valibot"
import { readText, writeWhole } from "./whole-files.ts"

export const PIN_MODES = ["refuse", "mark", "off"] as const
export type PinMode = (typeof PIN_MODES)[number]

const fileSchema = v.record(v.string(), v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)))

/** Most tools of one server that are pinned. */
const TOOLS_MAX = 10_000

type Listed = { readonly tool: string; readonly hash: string }
export type ToolPins = {
  /** Pins what is new of the listed tools. For each tool: the hash that is pinned; undefined where the file has no place for another. */
  readonly pin: (tools: readonly Listed[]) => readonly (string | undefined)[]
}

/** @throws Error with a sentence for the user when the file is there and is no file of pins */
export function openToolPins(folder: string, server: string): ToolPins {
  const file = join(folder, `${server}.json`)
  const read = (): Map<string, string> => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), fileSchema), readText(file) ?? "{}")
    if (!parsed.success) throw new Error(`${file} is no file of pins`)
    return new Map(Object.entries(parsed.output))
  }
  read()
  return {
    pin: tools => {
      const pins = read()
      const size = pins.size
      const pinned = tools.map(({ tool, hash }) => {
        if (!pins.has(tool) && pins.size < TOOLS_MAX) pins.set(tool, hash)
        return pins.get(tool)
      })
      if (pins.size > size) writeWhole(file, `${JSON.stringify(Object.fromEntries(pins), null, 2)}\n`)
      return pinned
    },
  }
}
