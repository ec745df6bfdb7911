/**
 * Definitions of tools, pinned on first sight in one JSON file: server, tool, SHA-256 of the definition's RFC 8785 text. The server's name in it
 * is the configured one, since a server could change the name that it gives itself. To accept a change, remove the tool's line.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import * as v from "valibot"

export const PIN_MODES = ["refuse", "mark", "off"] as const
export type PinMode = (typeof PIN_MODES)[number]

const fileSchema = v.record(v.string(), v.record(v.string(), v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))))
type Pins = v.InferOutput<typeof fileSchema>

/** Most tools of one server that are pinned. */
const TOOLS_MAX = 10_000

export type ToolPins = {
  /** Pins what is new of a server's tools; gives those that are pinned with another hash, and that hash. */
  readonly compare: (server: string, tools: ReadonlyMap<string, string>) => ReadonlyMap<string, string>
}

/** @throws Error with a sentence for the user when the file is there and is no file of pins */
export function openToolPins(file: string): ToolPins {
  const read = (): Pins => {
    let text: string
    try {
      text = readFileSync(file, "utf8")
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return {}
      throw error
    }
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), fileSchema), text)
    if (!parsed.success) throw new Error(`${file} is no file of pins`)
    return parsed.output
  }
  read()
  return {
    compare: (server, tools) => {
      const pins = read()
      const known = new Map(Object.entries(pins[server] ?? {}))
      const changed = new Map<string, string>()
      const size = known.size
      for (const [tool, hash] of tools) {
        const pinned = known.get(tool)
        if (pinned === undefined && known.size < TOOLS_MAX) known.set(tool, hash)
        else if (pinned !== undefined && pinned !== hash) changed.set(tool, pinned)
      }
      if (known.size > size) write(file, { ...pins, [server]: Object.fromEntries(known) })
      return changed
    },
  }
}

/** Replaces the file in one step: a reader sees the old or the new one. */
function write(file: string, pins: Pins): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(pins, null, 2)}\n`, { mode: 0o600 })
  renameSync(fresh, file)
}
