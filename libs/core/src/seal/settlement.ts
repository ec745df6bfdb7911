/**
 * From the budget to the log: what stages and gates do with a run once its budget is settled. `POST /execute` comes here when its tokens are charged; a permit
 * comes here inside the batch, which holds the lock of its window. docs/pipeline.md.
 */
import type { BudgetSnapshotSection, BudgetWindow } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { buildTranscript } from "../derivation/v2/transcript.ts"
import type { ReviewFacts } from "../formulas/decision.ts"
import type { DecidedRun } from "../formulas/moment.ts"
import type { Tenant } from "../wire/submission.ts"
import type { Draft, PermitTerms } from "./draft.ts"
import { aivpT4Gate } from "./gates/aivp-t4.ts"
import { ccvGate } from "./gates/ccv.ts"
import { maccGate } from "./gates/macc.ts"
import type { PepgResult } from "./gates/pepg.ts"
import { type ClosingRun, closedInputs, permitUse } from "./permits/closing-run.ts"
import type { Reservation, SettledOpening, Settlement } from "./permits/pending.ts"
import { openingDraft } from "./permits/permit-terms.ts"
import { failRun, type Journal, openJournal, type ReceivedRun, snapshotOf, stopRun } from "./received-run.ts"
import { type StageResult, stagesOf, valueOrThrow, type Watch } from "./stage-failure.ts"
import { aer, type DkecInputs, dkec, type Executed, phase4, zksp } from "./stages.ts"

/** A run that passed every gate up to its budgets. */
export type Reached = DecidedRun & DkecInputs & Executed

/** An opening that every gate before the budget admits. */
export type PendingOpening = {
  readonly tenant: Tenant
  readonly run: ReceivedRun
  readonly reached: Reached
  readonly sections: Sections
  readonly terms: PermitTerms
  readonly charge: Reservation
}

/**
 * Ends an opening whose reservation is made, or would reach the cap.
 * @param window after the reservation, with its ordinal; a reservation that reaches the cap is not made: without ordinal, with the total
 *   that it would have led to
 */
export function settleOpening({ run, reached, sections, terms }: PendingOpening, window: BudgetWindow): SettledOpening {
  const { allow_token } = reached
  const halt = maccGate(reached, allow_token, () => snapshotOf(run, reached, window), window, run.facts.texts.seal)
  return halt === undefined
    ? { opening: openingDraft(terms, { ...run, allow_token, sections }, window) }
    : { refused: { ...stopRun(run, openJournal(sections), halt, allow_token), refused_permit: terms } }
}

/** A close with everything decided but its budget. */
export type PendingClose = {
  readonly tenant: Tenant
  readonly permit_id: string
  readonly run: ClosingRun
  readonly policy: StageResult<PepgResult>
  /** What the kernels made under the permit section of that hash; absent where the policy does not admit the close. */
  readonly executed?: { readonly permit_hash: string; readonly made: StageResult<Executed> }
  /** Absent where a gate before it stops the close. */
  readonly review?: StageResult<ReviewFacts>
}

/** What the kernels make of a closed permit. */
export const runKernelsOf = ({ facts: { texts } }: ClosingRun, inputs: DkecInputs, watch: Watch): Executed =>
  stagesOf(watch, texts)("DKEC", () => dkec(inputs, texts.seal))

/** Ends a close whose reservation is settled: whichever way it ends, its record has the budget. A review that MACC makes void is dropped. */
export function settleClose(
  { run, policy, executed, review }: PendingClose,
  { window, redemption }: Settlement,
  watch: Watch,
): Draft {
  const { base, envelope, transport, closing, spending } = run
  const { seal } = run.facts.texts
  const permit = permitUse(run, redemption)
  const budget_snapshot = snapshotOf(run, run, window)
  const budget = (): BudgetSnapshotSection => budget_snapshot
  const journal = openJournal({ ...base, envelope, transport, permit, closing, budget_snapshot })
  try {
    const pepg = valueOrThrow(policy)
    if ("stop" in pepg) return stopRun(run, journal, pepg.stop)
    journal.done(pepg.pass.sections)
    const { allow_token } = pepg.pass
    const inputs = closedInputs(run, permit, pepg.pass)
    const made = executed?.permit_hash === permit.hash ? valueOrThrow(executed.made) : runKernelsOf(run, inputs, watch)
    const reached = { ...inputs, ...journal.done(made) }
    const over = ccvGate(reached, allow_token, reached.efa, spending, budget, seal)
    if (over !== undefined) return stopRun(run, journal, over, allow_token)
    const halt = maccGate(reached, allow_token, budget, window, seal)
    if (halt !== undefined) return stopRun(run, journal, halt, allow_token)
    if (review === undefined) throw new Error("a close that reaches its review was reviewed")
    return toLog(run, { ...reached, budget_snapshot }, valueOrThrow(review), journal, { watch })
  } catch (error) {
    return failRun(run, journal, error)
  }
}

/** The review's decision, and the stages from there to the log. */
export function toLog(
  run: ReceivedRun,
  reached: Reached & { readonly budget_snapshot: BudgetSnapshotSection },
  facts: ReviewFacts,
  journal: Journal,
  { watch }: { readonly watch: Watch },
): Draft {
  const { texts } = run.facts
  const { seal } = texts
  const stage = stagesOf(watch, texts)
  const { done, sections } = journal
  const { payload } = run.base
  const { envelope, allow_token, policy_evaluation, closing } = reached
  const review = aivpT4Gate(reached, allow_token, payload.ai_output_hash, facts, seal)
  if ("stop" in review) return stopRun(run, journal, review.stop, allow_token)
  const { governance_review } = done({ governance_review: review.pass })

  const record = done({ aer: stage("AER", () => seal(aer({ ...reached, governance_review }))) })
  const evidence = done(stage("ZKSP", () => zksp(envelope, payload, record.aer, seal)))
  const { policy_hash } = policy_evaluation
  const binding = { envelope, payload, aer: record.aer, policy_hash, zksp_binding: evidence.zksp_binding, closing }
  // The stage makes all of its sections or none: a record says which stage failed by what it lacks.
  done(
    stage("PHASE4", () => {
      const made = phase4(binding, seal)
      const completed = { ...sections(), ...made }
      return { ...made, transcript: seal(buildTranscript("ok", { sections: completed, allow_token })) }
    }),
  )
  return { ...run.facts, outcome_kind: "ok", sections: sections(), allow_token }
}
