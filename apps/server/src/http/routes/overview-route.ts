/** What happened lately, in figures: for administrators and auditors. docs/api.md, "The deployment". */
import { parseStrictJson } from "@runseal/canonical"
import { DEFAULT_DENY_RULE_ID } from "@runseal/core/vocabulary/decision-codes"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import {
  OVERVIEW_MAX_RULES,
  OVERVIEW_RANGE_DEFAULT,
  OVERVIEW_RANGES,
  type OverviewAnswer,
} from "@runseal/core/wire/overview-answer"
import type { Deps } from "../../deps.ts"
import {
  countDenied,
  countOutcomesOverTime,
  logSizesAt,
  type StepCount,
  tokensOverTime,
} from "../../store/tables/overview-reads.ts"
import { listPolicies, type PolicyVersionRow } from "../../store/tables/policy-versions.ts"
import { callerOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"

/** Policies whose rules are counted: the newest ones. */
const POLICIES = 20

export function overviewRoutes({ db, nowMs, signatureIds, budgets }: Deps): Handlers {
  return {
    overview: async (c, { query }) => {
      const { range = OVERVIEW_RANGE_DEFAULT } = query()
      const { step_seconds, steps } = OVERVIEW_RANGES[range]
      const owners = callerOf(c).reads
      const at = nowMs()
      const times = timesOf(at, step_seconds, steps)
      const [from = 0, to = 0] = [times[0], times.at(-1)]
      const earlier = from - steps * step_seconds * 1000
      // The first step is the time before the others.
      const compared = [earlier, ...times]
      const counts = await countOutcomesOverTime(db, owners, compared)
      const tokens = await tokensOverTime(db, owners, compared, budgets.window_seconds)
      const figuresOf = (place: number): Figures => ({
        ...outcomesOf(counts.filter(({ step }) => step === place)),
        tokens: tokens.find(({ step }) => step === place)?.tokens ?? 0,
      })
      const sizes = await logSizesAt(
        db,
        times.map(time => time / 1000),
      )
      const rules = await denyingRules({ db, signatureIds })
      const denied = await countDenied(db, owners, [from, to], rules)
      return c.json({
        ok: true,
        at: new Date(at).toISOString(),
        range,
        step_seconds,
        window_seconds: budgets.window_seconds,
        steps: times.slice(0, -1).map((time, step) => ({
          from: new Date(time).toISOString(),
          ...figuresOf(step + 1),
          log_entries: (sizes[step + 1] ?? 0) - (sizes[step] ?? 0),
        })),
        previous: { from: new Date(earlier).toISOString(), ...figuresOf(0) },
        denied_by: denied
          .toSorted((one, other) => other.runs - one.runs || (one.rule_id < other.rule_id ? -1 : 1))
          .slice(0, OVERVIEW_MAX_RULES),
      } satisfies OverviewAnswer)
    },
  }
}

/** Where the steps begin and the last one ends, at multiples of their length; milliseconds since the epoch. */
function timesOf(nowMs: number, step_seconds: number, steps: number): readonly number[] {
  const length = step_seconds * 1000
  const end = (Math.floor(nowMs / length) + 1) * length
  return Array.from({ length: steps + 1 }, (_, i) => end - (steps - i) * length)
}

type Figures = Pick<OverviewAnswer["previous"], "runs" | "outcomes" | "tokens">

/** A run without another outcome is ok. */
function outcomesOf(counts: readonly StepCount[]): Omit<Figures, "tokens"> {
  const of = (kind: StepCount["outcome_kind"]): number =>
    counts.find(({ outcome_kind }) => outcome_kind === kind)?.runs ?? 0
  const runs = of(null)
  const refused = {
    pepg_deny: of("pepg_deny"),
    ccv_halt: of("ccv_halt"),
    macc_halt: of("macc_halt"),
    aivp_t4_halt: of("aivp_t4_halt"),
    attestation_gap: of("attestation_gap"),
    stage_error: of("stage_error"),
  }
  const ok = runs - Object.values(refused).reduce((sum, each) => sum + each, 0)
  return { runs, outcomes: { ok, ...refused } }
}

/** All that may have denied a run under the newest policies. */
export const denyingRules = async ({
  db,
  signatureIds,
}: Pick<Deps, "db" | "signatureIds">): Promise<readonly string[]> =>
  rulesOf(await listPolicies(db, POLICIES), signatureIds)

/** All that may have denied a run under one of these policies. A rule that only ever allowed is left out: its runs are many. */
function rulesOf(policies: readonly PolicyVersionRow[], signatures: ReadonlySet<string>): readonly string[] {
  const denying = policies.flatMap(({ document }) => {
    const policy = parseStrictJson(document)
    const rules = isObject(policy) && Array.isArray(policy.rules) ? policy.rules : []
    return rules.flatMap(rule => (textMember(rule, "effect") === "deny" ? (textMember(rule, "id") ?? []) : []))
  })
  return [...new Set([DEFAULT_DENY_RULE_ID, ...denying, ...signatures])]
}
