/**
 * Scalar shapes that recur in every sealed document, with their bounds. `v.metadata` says in JSON Schema what a check of
 * ours demands: documents made of these schemas cannot read code.
 */
import * as v from "valibot"

/** SHA-256 in lowercase hex. */
export const sha256Schema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{64}$/, "must be 64 lowercase hex digits"),
)

/** RFC 3339 UTC with milliseconds, the one spelling of every clock we write. */
export const CLOCK_PATTERN: RegExp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
export const clockSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(text => clockMillis(text) !== undefined, "must be an RFC 3339 UTC timestamp with milliseconds"),
  v.metadata({ format: "date-time", pattern: CLOCK_PATTERN.source }),
)

/** Milliseconds since the epoch of a clock in our one spelling, else undefined (also for dates that do not exist). */
export function clockMillis(text: string): number | undefined {
  if (!CLOCK_PATTERN.test(text)) return undefined
  const millis = Date.parse(text)
  return Number.isNaN(millis) || new Date(millis).toISOString() !== text ? undefined : millis
}

/** Whole seconds since the epoch, rounded down: the precision at which log time and record clocks are compared. */
export function clockSeconds(text: string): number | undefined {
  const millis = clockMillis(text)
  return millis === undefined ? undefined : Math.floor(millis / 1000)
}

/** Non-negative integer that JSON carries exactly (0 … 2^53 − 1). */
export const countSchema: v.GenericSchema<number> = v.pipe(
  v.number(),
  v.safeInteger("must be an integer that JSON carries exactly"),
  v.minValue(0, "must not be negative"),
)
/** Positive integer that JSON carries exactly. */
export const ordinalSchema: v.GenericSchema<number> = v.pipe(v.number(), v.safeInteger(), v.minValue(1))
export const textSchema: v.GenericSchema<string> = v.string()
export const nonEmptySchema: v.GenericSchema<string> = v.pipe(v.string(), v.minLength(1, "must not be empty"))
export const envelopeIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^env-[0-9a-f]{16}$/))
export const sequenceIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^seq-[0-9a-f]{16}$/))
export const chargeIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^chg-[0-9a-f]{32}$/))
const DECIMAL = /^(0|[1-9]\d{0,15})$/
/** Unsigned decimal within 2^53 − 1, one spelling. */
export const decimalSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(text => DECIMAL.test(text) && Number.isSafeInteger(Number(text)), "must be a decimal integer"),
  v.metadata({ pattern: DECIMAL.source, description: "Unsigned decimal of at most 2^53 − 1." }),
)

/** The predecessor of the first record of a tenant's chain. */
export const ZERO_HASH: string = "0".repeat(64)

/** Seconds between a record's own clock and its log entry that a verifier accepts (specification, "Limits"). */
export const LOG_TIME_TOLERANCE_SECONDS = 600
