/**
 * What one server is known by, pinned on first sight: the definition of each tool, and the instructions, under the empty name.
 * A file of JSON lines, one pin each, to which gateways append: of two lines for one name the first counts, so that gateways that start together
 * agree. It has the configured name of the server, which could change the name that it gives itself. A gateway holds the pins in memory,
 * too, since the server may be able to change the file. To accept a change, end the gateways of that server, and remove the line.
 */
import { appendFileSync, mkdirSync, readFileSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import * as v from "valibot"

export const PIN_MODES = ["refuse", "mark", "off"] as const
export type PinMode = (typeof PIN_MODES)[number]

const lineSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.strictObject({ tool: v.string(), sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) }),
)
type Pin = { readonly tool: string; readonly sha256: string }

/** Most names of one server that are pinned. */
const PINS_MAX = 10_000
const FILE_MAX_BYTES = 33_554_432

export type ToolPins = {
  /** The pinned hash; undefined for a name that is not pinned. */
  readonly of: (tool: string) => string | undefined
  /** Whether the line of a pin has gone, or says something else, since this gateway read it. */
  readonly isTouched: (tool: string) => boolean
  /** Whether there is no place for another name. */
  readonly isFull: () => boolean
  /** Pins each name that is not pinned yet, as far as there is place. */
  readonly add: (pins: readonly Pin[]) => void
}

/** @throws Error with a sentence for the user when the file is there and is no file of pins */
export function openToolPins(folder: string, server: string): ToolPins {
  const file = join(folder, `${server}.jsonl`)
  const linesNow = readerOf(file)
  const first = linesNow()
  if (first === undefined) throw new Error(`${file} is no file of pins`)
  const pins = new Map(first)
  return {
    of: tool => pins.get(tool),
    isTouched: tool => pins.has(tool) && linesNow()?.get(tool) !== pins.get(tool),
    isFull: () => pins.size >= PINS_MAX,
    add: found => {
      const lines = linesNow()
      const fresh = found.filter(({ tool }) => !pins.has(tool)).slice(0, PINS_MAX - pins.size)
      const text = fresh
        .filter(({ tool }) => lines?.has(tool) !== true)
        .map(({ tool, sha256 }) => `${JSON.stringify({ tool, sha256 })}\n`)
        .join("")
      if (text !== "") {
        mkdirSync(folder, { recursive: true, mode: 0o700 })
        appendFileSync(file, text, { mode: 0o600 })
      }
      // Another gateway may have been first.
      const after = linesNow()
      for (const { tool, sha256 } of fresh) pins.set(tool, after?.get(tool) ?? sha256)
    },
  }
}

/** Reads the pins of a file: again when it changed, and undefined for what is no file of pins. */
function readerOf(file: string): () => ReadonlyMap<string, string> | undefined {
  let state = ""
  let pins: ReadonlyMap<string, string> | undefined
  return () => {
    const found = statOf(file)
    const now = found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`
    if (now !== state) pins = found === undefined ? new Map() : readPins(file, found)
    state = now
    return pins
  }
}

const statOf = (file: string): Stats | undefined => statSync(file, { throwIfNoEntry: false })

function readPins(file: string, { size }: Stats): ReadonlyMap<string, string> | undefined {
  const pins = new Map<string, string>()
  if (size > FILE_MAX_BYTES) return undefined
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line.trim() === "") continue
    const parsed = v.safeParse(lineSchema, line)
    if (!parsed.success) return undefined
    const { tool, sha256 } = parsed.output
    if (!pins.has(tool)) pins.set(tool, sha256)
  }
  return pins
}
