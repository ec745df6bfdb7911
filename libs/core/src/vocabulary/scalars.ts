/**
 * Scalar shapes that recur in every sealed document, with their bounds. `v.metadata` says in JSON Schema what a check of
 * ours demands: documents made of these schemas cannot read code.
 */
import type { DeepReadonly } from "@runseal/canonical"
import * as v from "valibot"
import { digitsAt, utcMillis } from "./utc-time.ts"

/** What a schema accepts: the one way in which a document's shape gets its name. */
export type Shape<Schema extends v.GenericSchema> = DeepReadonly<v.InferOutput<Schema>>

/** SHA-256 in lowercase hex. To look for a wrong digit takes half as long as to count the right ones, and a record has hundreds. */
export const sha256Schema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(text => text.length === 64 && !/[^0-9a-f]/.test(text), "must be 64 lowercase hex digits"),
  v.metadata({ pattern: "^[0-9a-f]{64}$" }),
)

/** RFC 3339 UTC with milliseconds, the one spelling of every clock we write. */
const CLOCK_PATTERN: RegExp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
export const clockSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(text => clockMillis(text) !== undefined, "must be an RFC 3339 UTC timestamp with milliseconds"),
  v.metadata({ format: "date-time", pattern: CLOCK_PATTERN.source }),
)

/** As `CLOCK_PATTERN`, and the time is one of the day: neither 24:00 nor a leap second. */
const CLOCK = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Milliseconds since the epoch of a clock in our one spelling, else undefined (also for dates that do not exist). */
export function clockMillis(text: string): number | undefined {
  const whole = CLOCK.test(text) ? utcMillis(text) : undefined
  return whole === undefined ? undefined : whole + digitsAt(text, 20, 3)
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
export const ordinalSchema: v.GenericSchema<number> = v.pipe(
  v.number(),
  v.safeInteger("must be an integer that JSON carries exactly"),
  v.minValue(1, "must be positive"),
)
export const textSchema: v.GenericSchema<string> = v.string()
export const nonEmptySchema: v.GenericSchema<string> = v.pipe(v.string(), v.minLength(1, "must not be empty"))
/** One line of 1 to `maxLength` UTF-16 units, without control characters. */
export const lineSchema = (maxLength: number): v.GenericSchema<string> =>
  v.pipe(
    v.string(),
    v.minLength(1, "must not be empty"),
    v.maxLength(maxLength, `must have at most ${maxLength} characters`),
    v.check(text => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), "must be one line without control characters"),
    v.metadata({ description: "One line without control characters." }),
  )
/** What an actor is called where a person acted, whom issuer and subject name. */
export const PERSON_ACTOR = "person"
/** Who acted: an API key by its number, a command on the machine, anybody before the first key, or a person. */
const ACTOR = /^(api-key-[1-9]\d{0,15}|operator-command|open-mode|person)$/
export const actorSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(ACTOR))
/** Longest name of an actor, in UTF-16 units: longer than any name of a key. */
export const ACTOR_NAME_MAX_LENGTH = 256
/** Longest issuer, in UTF-16 units. */
export const ISSUER_MAX_LENGTH = 512
/** Longest subject, in UTF-16 units. OpenID Connect Core 1.0 section 2 */
export const SUBJECT_MAX_LENGTH = 255
/** Whose run it is: a key, by its number, or any caller of open mode. */
const TENANT_ID = /^(anonymous|api-key-[1-9]\d{0,15})$/
export const tenantIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(TENANT_ID))
/** Whose chain holds the admin events: the deployment itself, which makes no runs. */
export const DEPLOYMENT_TENANT = "deployment"
/** The region that an operator names. */
export const REGION_PATTERN: RegExp = /^[\w.-]{1,64}$/
export const regionSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(REGION_PATTERN))
/** Longest route id, in UTF-16 units: it is indexed. */
export const ROUTE_ID_MAX_LENGTH = 512
export const routeIdSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(ROUTE_ID_MAX_LENGTH, `must have at most ${ROUTE_ID_MAX_LENGTH} characters`),
)
/** Marks a run whose decisions were observed and not enforced; no other run has a mark. docs/concepts.md, "Observed run". */
export type Enforcement = "observe"
export const ENFORCEMENT: Enforcement = "observe"
export const enforcementSchema: v.GenericSchema<Enforcement> = v.literal(ENFORCEMENT)
/** A commit, or that none is known. */
export const revisionSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|unknown)$/))
export const envelopeIdSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(/^env-[0-9a-f]{16}$/, "must be env- and 16 lowercase hex digits"),
)
export const sequenceIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^seq-[0-9a-f]{16}$/))
export const chargeIdSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^chg-[0-9a-f]{32}$/))
export const permitIdSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(/^pmt-[0-9a-f]{32}$/, "must be pmt- and 32 lowercase hex digits"),
)
const DECIMAL = /^(0|[1-9]\d{0,15})$/
/** Unsigned decimal within 2^53 − 1, one spelling. */
export const decimalSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check(text => DECIMAL.test(text) && Number.isSafeInteger(Number(text)), "must be a decimal integer"),
  v.metadata({ pattern: DECIMAL.source, description: "Unsigned decimal of at most 2^53 − 1." }),
)

/** The predecessor of the first record of a tenant's chain. */
export const ZERO_HASH: string = "0".repeat(64)

/** Seconds between a record's own clock and its log entry that a verifier accepts (docs/formats.md section 16, check 10). */
export const LOG_TIME_TOLERANCE_SECONDS = 600

/**
 * Seconds by which clocks of different machines may differ, with what lies between reading a clock and using it: of a record and who
 * reads it, of a log and its witness or auditor.
 */
export const CLOCK_TOLERANCE_SECONDS = 300
