/** The options of the clock: how far it may be from what it should show. */
import * as v from "valibot"
import { option } from "./option-row.ts"
import { integer } from "./values.ts"

/** Far below the 600 s within which a record must be logged. */
const MAX_CLOCK_STEP_SECONDS = 300
/** Ten years. */
const MAX_CLOCK_GAP_SECONDS = 315_360_000

export const CLOCK_OPTIONS = {
  maxClockStep: option(
    "--max-clock-step <seconds>",
    "how far [the clock](#the-clock) may be from what the machine's uptime says since the last batch, and behind the log, in seconds, at most 300",
    v.optional(integer(1, MAX_CLOCK_STEP_SECONDS), "60"),
  ),
  maxClockGap: option(
    "--max-clock-gap <seconds>",
    "how far [the clock](#the-clock) may be ahead of the log at a start, in seconds, at most 315,360,000",
    v.optional(integer(60, MAX_CLOCK_GAP_SECONDS), "2592000"),
  ),
} as const
