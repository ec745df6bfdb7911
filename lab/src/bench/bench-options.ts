/** Options of the bench. */
import { parseArgs } from "node:util"

export type Options = {
  readonly quick: boolean
  readonly write: boolean
  readonly help: boolean
  /** Whether others' programs are measured too. */
  readonly peers: boolean
  /** A commit to measure in turn with this checkout. */
  readonly against?: string
  /** Minutes of the part `memory`. */
  readonly minutes: number
  /** Names of parts; empty: all but those that run only by name. */
  readonly parts: readonly string[]
}

const USUAL_MINUTES = "10"
/** A longer run shows nothing more, and its database grows by some 20 MB a minute. */
const MAX_MINUTES = 240

/** @param known names of all parts. @returns one sentence when the command line is wrong */
export function readOptions(argv: readonly string[], known: readonly string[]): Options | { readonly misuse: string } {
  try {
    const { values, positionals: parts } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        peers: { type: "boolean", default: false },
        against: { type: "string" },
        minutes: { type: "string", default: USUAL_MINUTES },
      },
    })
    const unknown = parts.find(name => !known.includes(name))
    if (unknown !== undefined) return { misuse: `There is no part "${unknown}" (see --help).` }
    const minutes = Number(values.minutes)
    if (!Number.isSafeInteger(minutes) || minutes < 1 || minutes > MAX_MINUTES)
      return { misuse: `--minutes is a whole number from 1 to ${MAX_MINUTES}.` }
    const { against, ...flags } = values
    if (against !== undefined && values.write)
      return { misuse: "--write stores what is measured of this checkout alone: leave --against out." }
    return { ...flags, ...(against === undefined ? {} : { against }), minutes, parts }
  } catch (error) {
    return { misuse: error instanceof Error ? error.message : "The options were not understood (see --help)." }
  }
}
