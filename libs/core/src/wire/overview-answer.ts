/** What happened in the deployment lately, in figures. docs/api.md, "The deployment". */
import * as v from "valibot"
import { clockSchema, countSchema, nonEmptySchema, ordinalSchema, type Shape } from "../vocabulary/scalars.ts"
import { outcomeCountsSchema } from "./admin-answers.ts"

/** How far back an overview goes, with the seconds of one step and how many steps it has. The last step has the present moment in it. */
export const OVERVIEW_RANGES = {
  "24h": { step_seconds: 3600, steps: 24 },
  "7d": { step_seconds: 21_600, steps: 28 },
  "30d": { step_seconds: 86_400, steps: 30 },
  "90d": { step_seconds: 86_400, steps: 90 },
} as const
export type OverviewRange = keyof typeof OVERVIEW_RANGES
export const OVERVIEW_RANGE_NAMES = ["24h", "7d", "30d", "90d"] as const satisfies readonly OverviewRange[]
export const OVERVIEW_RANGE_DEFAULT: OverviewRange = "7d"
/** Most rules of one answer: those with the most refusals. */
export const OVERVIEW_MAX_RULES = 20

export const overviewAnswerSchema = v.strictObject({
  ok: v.literal(true),
  at: clockSchema,
  range: v.picklist(OVERVIEW_RANGE_NAMES),
  step_seconds: ordinalSchema,
  /** Length of the budget windows whose tokens are counted. */
  window_seconds: ordinalSchema,
  /** Oldest first, without a gap. */
  steps: v.array(
    v.strictObject({
      /** Where the step begins: at a multiple of its length. */
      from: clockSchema,
      runs: countSchema,
      outcomes: outcomeCountsSchema,
      /** Of the budget windows that began in the step, also those that are not over. */
      tokens: countSchema,
      /** Entries that the log grew by, of all keys. */
      log_entries: countSchema,
    }),
  ),
  /** As long a time, right before the first step. */
  previous: v.strictObject({
    from: clockSchema,
    runs: countSchema,
    outcomes: outcomeCountsSchema,
    tokens: countSchema,
  }),
  /** Rules and signatures of the newest policies by which runs were denied in this time; the one with the most runs first. */
  denied_by: v.pipe(
    v.array(v.strictObject({ rule_id: nonEmptySchema, runs: ordinalSchema })),
    v.maxLength(OVERVIEW_MAX_RULES),
  ),
})
/** `GET /admin/overview`. */
export type OverviewAnswer = Shape<typeof overviewAnswerSchema>
