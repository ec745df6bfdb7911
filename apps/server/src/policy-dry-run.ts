/** A candidate policy against stored runs: what would change, by rule and by run. docs/policy-and-review.md, "Tighten a policy without an accident". */

import { setTimeout as sleep } from "node:timers/promises"
import { actFromValues } from "@runseal/core/act/act-from-values"
import type { ActTable } from "@runseal/core/act/act-table"
import { shownAct } from "@runseal/core/artifacts/act-section"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { declaredContent } from "@runseal/core/seal/permits/closing-run"
import { bundleOf } from "@runseal/core/verify/document"
import { MCD_REASON_CODE } from "@runseal/core/vocabulary/decision-codes"
import { declaredTokens } from "@runseal/core/vocabulary/declared-tokens"
import { DRY_RUN_LISTED_MAX, type DryRunAnswer, type Judgement } from "@runseal/core/wire/policy-requests"
import type { CompiledPolicy } from "@runseal/policy/load-policy"
import { type JudgedRun, judgePolicy } from "./policy/judge-policy.ts"
import type { Database } from "./store/driver/database.ts"
import { type NewestRun, newestRuns } from "./store/tables/all-owners.ts"

/** Runs that are read at a time. */
const STEP_RUNS = 25
/** After so long a piece of work, in milliseconds, others are served for as long as it took. */
const SLICE_MS = 10

type Tally = {
  judged: number
  changed: number
  newly_refused: number
  newly_admitted: number
  not_judged: number
  readonly rules: Map<string, { in_force: number; candidate: number }>
  readonly changes: DryRunAnswer["changes"][number][]
  readonly not_judged_runs: DryRunAnswer["not_judged_runs"][number][]
}

/** @param last how many of the newest runs are read */
export async function dryRun(
  db: Pick<Database, "read">,
  in_force: CompiledPolicy,
  candidate: CompiledPolicy,
  last: number,
): Promise<DryRunAnswer> {
  const lists = { changes: [], not_judged_runs: [] }
  const counts = { judged: 0, changed: 0, newly_refused: 0, newly_admitted: 0, not_judged: 0 }
  const tally: Tally = { ...counts, rules: new Map(), ...lists }
  const pause = pauses()
  let [before, left] = [Number.MAX_SAFE_INTEGER, last]
  while (left > 0) {
    const runs = await newestRuns(db, before, Math.min(left, STEP_RUNS))
    for (const run of runs) {
      await pause()
      judgeStored(run, in_force, candidate, tally)
    }
    before = runs.at(-1)?.run_id ?? 0
    left = runs.length < STEP_RUNS ? 0 : left - runs.length
  }
  const { rules, ...answer } = tally
  return {
    ok: true,
    in_force: nameOf(in_force),
    candidate: nameOf(candidate),
    ...answer,
    rules: [...rules].map(([rule_id, decided]) => ({ rule_id, ...decided })).sort(byRule),
  }
}

/** Gives a function that waits as long as was worked since it waited last, once that was a slice. */
function pauses(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    const worked = performance.now() - since
    if (worked < SLICE_MS) return
    await sleep(worked)
    since = performance.now()
  }
}

const nameOf = ({ policy_id, policy_hash }: CompiledPolicy) => ({ policy_id, policy_hash })

const byRule = (a: { readonly rule_id: string }, b: { readonly rule_id: string }): number =>
  a.rule_id < b.rule_id ? -1 : 1

function judgeStored(run: NewestRun, now: CompiledPolicy, then: CompiledPolicy, tally: Tally): void {
  const bundle = bundleOf(run.bundle)
  const notJudged = (reason: string): void => {
    tally.not_judged++
    if (tally.not_judged_runs.length < DRY_RUN_LISTED_MAX) tally.not_judged_runs.push({ run_id: run.run_id, reason })
  }
  const decisions = bundle === undefined ? "its stored record cannot be read" : decisionsOf(bundle, run.asked_tokens)
  if (bundle === undefined || typeof decisions === "string") {
    notJudged(`${decisions}`)
    return
  }
  const { tenant_id, route_id, created_at, outcome_kind } = bundle.run
  const isSealedByNow = bundle.sections.policy_evaluation?.policy_hash === now.policy_hash
  const sealedBy = isSealedByNow
    ? { table: now.readerOf(route_id)?.table, groups: now.named_groups ?? new Set<string>() }
    : undefined
  const [in_force, candidate] = [judged(now, decisions, sealedBy), judged(then, decisions, sealedBy)]
  if (typeof in_force === "string" || typeof candidate === "string") {
    notJudged(typeof in_force === "string" ? in_force : `${candidate}`)
    return
  }
  tally.judged++
  count(tally, "in_force", in_force)
  count(tally, "candidate", candidate)
  if (in_force.decision === candidate.decision) return
  tally.changed++
  if (in_force.decision === "admitted") tally.newly_refused++
  if (candidate.decision === "admitted") tally.newly_admitted++
  if (tally.changes.length < DRY_RUN_LISTED_MAX)
    tally.changes.push({ run_id: run.run_id, tenant_id, route_id, created_at, outcome_kind, in_force, candidate })
}

function count({ rules }: Tally, which: "in_force" | "candidate", { rule_id }: Judgement): void {
  if (rule_id === undefined) return
  const counts = rules.get(rule_id) ?? { in_force: 0, candidate: 0 }
  counts[which]++
  rules.set(rule_id, counts)
}

/** What a policy is asked about a run, in order: of a run that closed a permit first its opening. */
type Decisions = readonly [JudgedRun, ...JudgedRun[]]

/** What the policy that sealed a record read: its act table for the route, and the groups that it names. */
type SealedBy = { readonly table: ActTable | undefined; readonly groups: ReadonlySet<string> }

/** The first decision that does not admit the run, or the last one; a sentence where the record does not have what the policy reads. */
function judged(policy: CompiledPolicy, decisions: Decisions, sealedBy: SealedBy | undefined): Judgement | string {
  let last: Judgement | string = "its record has no decision"
  for (const run of decisions) {
    const seen = seenBy(policy, run, sealedBy)
    if (typeof seen === "string") return seen
    last = judgePolicy(policy, seen)
    if (last.decision !== "admitted") return last
  }
  return last
}

/** What a record gives policies to decide on; a sentence for one that does not give it. @param asked tokens; null: those declared */
function decisionsOf({ sections }: Bundle, asked: number | null): Decisions | string {
  const { closing, ...opening } = sections
  const { envelope, payload, policy_evaluation: evaluation, budget_snapshot } = sections
  if (envelope === undefined) return "it failed in stage 1: its record has no envelope"
  const tokens = asked ?? declaredTokens(declaredContent(sections).request_substance)
  const isMatch = evaluation?.decision_reason_code === MCD_REASON_CODE
  const facts = { ...evaluation?.facts, tokens }
  const last = { sections: { ...sections, envelope }, facts, signature: isMatch ? evaluation.fired_rule_id : undefined }
  if (closing === undefined) return [last]
  const reserved = budget_snapshot?.window?.reserved
  if (reserved === undefined) return "its record does not say what its permit reserved"
  const { ai_output_hash: _hash, ai_output_bytes: _bytes, ...asPermitted } = payload
  return [{ sections: { ...opening, envelope, payload: asPermitted }, facts: { ...facts, tokens: reserved } }, last]
}

/**
 * The run as a policy sees it whose act table may be another than the one that was sealed; a sentence where the record does not have what
 * the policy reads.
 * @param sealedBy undefined where it is not known
 */
function seenBy(policy: CompiledPolicy, run: JudgedRun, sealedBy: SealedBy | undefined): JudgedRun | string {
  const { act: section, ...sections } = run.sections
  const table = policy.readerOf(sections.envelope.route_id)?.table
  if (policy.reads.has("verified.payload_is_json") && run.facts.payload_is_json === undefined)
    return "its record does not say whether its payload is JSON"
  const person = sections.end_user && shownEndUser(sections.end_user)
  if (person !== undefined && ![...(policy.named_groups ?? [])].every(group => sealedBy?.groups.has(group)))
    return "its record does not say all groups of its end user that the policy names"
  if (table === undefined) return { ...run, sections }
  const sealed = section && shownAct(section)
  if (sealed === undefined) return "its record has no act, and the policy reads one"
  if (sealed.unreadable.length > 0) return "its act could not be read, and its payload is not stored"
  const act = actFromValues(table, sealed.values, sealedBy?.table)
  return typeof act === "string"
    ? act
    : { ...run, sections: { ...sections, act: { ...sealed, table: table.name, ...act } } }
}
