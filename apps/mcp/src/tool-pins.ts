/**
 * Definitions of tools, pinned on first sight in one JSON file: server, tool, SHA-256 of the definition's RFC 8785 text. The server's name in it
 * is the configured one, since a server could change the name that it gives itself. To accept a change, remove the tool's line.
 */
import * as v from "valibot"
import { readText, writeWhole } from "./whole-files.ts"

export const PIN_MODES = ["refuse", "mark", "off"] as const
export type PinMode = (typeof PIN_MODES)[number]

const fileSchema = v.record(v.string(), v.record(v.string(), v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))))

/** Most tools of one server that are pinned. */
const TOOLS_MAX = 10_000

type Listed = { readonly tool: string; readonly hash: string }
export type ToolPins = {
  /** Pins what is new of a server's tools. For each tool: the hash that is pinned where it is another one. */
  readonly compare: (server: string, tools: readonly Listed[]) => readonly (string | undefined)[]
}

/** @throws Error with a sentence for the user when the file is there and is no file of pins */
export function openToolPins(file: string): ToolPins {
  const read = (): v.InferOutput<typeof fileSchema> => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), fileSchema), readText(file) ?? "{}")
    if (!parsed.success) throw new Error(`${file} is no file of pins`)
    return parsed.output
  }
  read()
  return {
    compare: (server, tools) => {
      const pins = read()
      const known = new Map(Object.entries(pins[server] ?? {}))
      const size = known.size
      const changed = tools.map(({ tool, hash }) => {
        const pinned = known.get(tool)
        if (pinned === undefined && known.size < TOOLS_MAX) known.set(tool, hash)
        return pinned === hash ? undefined : pinned
      })
      const fresh = { ...pins, [server]: Object.fromEntries(known) }
      if (known.size > size) writeWhole(file, `${JSON.stringify(fresh, null, 2)}\n`)
      return changed
    },
  }
}
