/**
 * The pipeline on one page: nine stages and five gates, top to bottom. Stages 1–6 come before the log, 7–9 after the run's leaf is in it.
 * `POST /execute` takes a run through all of them. A permit is opened by the steps up to the budget; once the act is done, its close takes
 * those from the policy on. docs/pipeline.md.
 */
import type { WrittenTexts } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf } from "../artifacts/anchor.ts"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { BudgetSnapshotSection, BudgetWindow, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { buildTranscript } from "../derivation/v2/transcript.ts"
import type { ReviewFacts } from "../formulas/decision.ts"
import type { PreAnchorSections } from "../formulas/leaves.ts"
import type { CompletedSections } from "../formulas/manifest-sections.ts"
import type { DecidedRun, Moment } from "../formulas/moment.ts"
import type { Enforcement } from "../vocabulary/scalars.ts"
import type { Submission, Tenant } from "../wire/submission.ts"
import type { Draft, PermitTerms, Stop } from "./draft.ts"
import { admissionGate } from "./gates/admission.ts"
import { type AskReview, aivpT4Gate } from "./gates/aivp-t4.ts"
import { ccvGate } from "./gates/ccv.ts"
import { type Budgets, chargeWindow, type MakeCharge, maccGate, reservationOf } from "./gates/macc.ts"
import {
  closingGrounds,
  type Grounds,
  type PepgContext,
  type PepgResult,
  payloadAsked,
  pepgGate,
  requestGrounds,
} from "./gates/pepg.ts"
import { closingTexts, requestTexts, type ScannedText } from "./gates/scanned-texts.ts"
import { type Closing, type ClosingRun, closedInputs, closingRun, permitUse } from "./permits/closing-run.ts"
import type { Reservation, SettledOpening, Settlement } from "./permits/pending.ts"
import { type AskedPermit, openingDraft, termsOf } from "./permits/permit-terms.ts"
import {
  askedOf,
  type EndedRequest,
  type RequestDraft,
  requestDraft,
  requestedGrounds,
  requestedRun,
  requestedScan,
} from "./permits/requested-run.ts"
import { failRun, type Journal, openJournal, type ReceivedRun, receive, snapshotOf, stopRun } from "./received-run.ts"
import { type RunStage, type StageResult, stageResult, stagesOf, valueOrThrow, type Watch } from "./stage-failure.ts"
import { aer, type DkecInputs, dkec, dla, dog, dtl, type Executed, ledger, phase4, registry, zksp } from "./stages.ts"

export type PipelineContext = PepgContext & {
  /** Present where the service observes: it enforces no run. */
  readonly enforcement?: Enforcement | undefined
  readonly budgets: Budgets
  readonly system_provenance: SystemProvenanceSection
  readonly makeCharge: MakeCharge
  readonly askReview: AskReview
  readonly watch: Watch
}
/** Of a permit: its budget moves when it is sealed. */
export type PermitContext = Omit<PipelineContext, "makeCharge">

/** What a run is held against, and its record seals: the budgets of its key, and the deployment's where the key has none. */
const budgetsOf = (submission: Submission, { budgets }: Pick<PipelineContext, "budgets">): Budgets => ({
  ...budgets,
  ...submission.budgets,
})

/** Takes a submission through stages 1–6 and every gate. Store failures reject; a failing stage is a stage_error draft. */
export async function runToLog(submission: Submission, moment: Moment, context: PipelineContext): Promise<Draft> {
  const { makeCharge, askReview } = context
  const { declared_tokens: tokens } = submission
  const budgets = budgetsOf(submission, context)
  const run = receive(submission, moment, { tokens, run_limit: budgets.run_tokens }, context)
  const journal = openJournal(run.base)
  const { seal } = run.facts.texts
  try {
    const judged = requestJudged(submission, undefined, run, context)
    const reached = await toBudget(run, submission, judged, journal, context)
    if ("outcome_kind" in reached) return reached
    const { envelope, allow_token } = reached
    const window = await chargeWindow(envelope, tokens, budgets, makeCharge)
    const budget_snapshot = snapshotOf(run, reached, window)
    const halt = maccGate(reached, allow_token, () => budget_snapshot, window, seal)
    if (halt !== undefined) return stopRun(run, journal, halt, allow_token)
    journal.done({ budget_snapshot })
    return toLog(run, { ...reached, budget_snapshot }, await askReview(run.decided), journal, context)
  } catch (error) {
    return failRun(run, journal, error)
  }
}

/** An opening that every gate before the budget admits. */
export type PendingOpening = {
  readonly tenant: Tenant
  readonly run: ReceivedRun
  readonly reached: Reached
  readonly sections: Sections
  readonly terms: PermitTerms
  readonly charge: Reservation
}

/** An opening that the policy leaves to persons. */
export type PendingRequest = {
  readonly tenant: Tenant
  readonly run: ReceivedRun
  readonly request: RequestDraft
  /** The run that it is refused as where nobody is to be asked. */
  readonly refused: Draft
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

/**
 * Takes the opening of a permit up to its budget. The draft is of a run that was refused, or failed, before that. What needs an approval is
 * always to be redeemed, since one approval is one act: it is judged so, and asked for so.
 * @returns what is decided once the tokens are reserved, or what persons decide
 */
export async function openPermit(
  submission: Submission,
  asked: AskedPermit,
  moment: Moment,
  context: PermitContext,
): Promise<PendingOpening | PendingRequest | Draft> {
  const budgets = budgetsOf(submission, context)
  const run = receive(submission, moment, reserving(asked, budgets), context)
  const opened = await openRun(
    run,
    submission,
    { asked, budgets },
    requestJudged(submission, asked, run, context),
    context,
  )
  if (!("outcome_kind" in opened)) return opened
  const request = requestDraft(opened, asked)
  if (request === undefined) return opened
  if (!asked.redeem_required) return openPermit(submission, { ...asked, redeem_required: true }, moment, context)
  return { tenant: run.facts.tenant, run, request, refused: opened }
}

/**
 * Ends a request for an approval: takes the opening of its permit up to its budget where it was approved. The draft is of a run that was
 * refused, or failed.
 * @param budgets of the caller's key
 * @param context its policy is that of the request; of a request that was not approved any: it is denied
 */
export async function openRequested(
  ended: EndedRequest,
  key: Pick<Submission, "budgets">,
  moment: Moment,
  context: PermitContext,
): Promise<PendingOpening | Draft> {
  const budgets = { ...context.budgets, ...key.budgets }
  const asked = askedOf(ended.request)
  const run = requestedRun(ended, moment, reserving(asked, budgets), context)
  const { program_id, route_id, registry_record_hash } = ended.request.sections.envelope
  const admitted = { program_id, route_id, registry_record_hash, tenant: ended.tenant }
  const scan = requestedScan(ended.request, run, context)
  const judged = async (): Promise<Judged> => ({ texts: scan.texts, grounds: requestedGrounds(ended, run) })
  return openRun(run, admitted, { asked, budgets }, judged, scan.context)
}

const reserving = ({ reserve_tokens }: AskedPermit, { run_tokens }: Budgets) =>
  ({ tokens: reserve_tokens, run_limit: run_tokens, purpose: "reservation" }) as const

/** The opening of a permit, from its first stage up to its budget. */
async function openRun(
  run: ReceivedRun,
  admitted: Admitted,
  { asked, budgets }: { readonly asked: AskedPermit; readonly budgets: Budgets },
  judged: () => Promise<Judged>,
  context: PermitContext,
): Promise<PendingOpening | Draft> {
  const journal = openJournal(run.base)
  const refused = (draft: Draft): Draft => {
    const { envelope } = draft.sections
    return envelope === undefined ? draft : { ...draft, refused_permit: termsOf(envelope, asked) }
  }
  try {
    const reached = await toBudget(run, admitted, judged, journal, context)
    if ("outcome_kind" in reached) return refused(reached)
    const { envelope } = reached
    const charge = reservationOf(envelope, asked.reserve_tokens, budgets)
    const { tenant } = run.facts
    return { tenant, run, reached, sections: journal.sections(), terms: termsOf(envelope, asked), charge }
  } catch (error) {
    return refused(failRun(run, journal, error))
  }
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

/** Decides of a close all that does not depend on its budget. Its first stages and its admission are those of the opening. */
export async function closePermit(close: Closing, context: PermitContext): Promise<PendingClose> {
  const run = closingRun(close, context.watch)
  const { base, envelope, closing, decided, spending, facts, opened } = run
  const { seal } = facts.texts
  const permit = permitUse(run, close.redemption)
  const texts = closingTexts(decided, closing, context)
  const grounds = closingGrounds(opened, spending.tokens)
  const policy = await stageResult(() =>
    pepgGate({ envelope, permit }, { ...base, closing }, grounds, texts, context, seal),
  )
  const pending = { tenant: facts.tenant, permit_id: opened.permit_id, run, policy }
  const pass = "value" in policy && "pass" in policy.value ? policy.value.pass : undefined
  if (pass === undefined) return pending
  // Here, because the batch that settles holds the lock of the log's head. They run again only after a redemption meanwhile.
  const made = await stageResult(() => runKernelsOf(run, closedInputs(run, permit, pass), context.watch))
  const executed = { permit_hash: permit.hash, made }
  if (spending.tokens > spending.run_limit) return { ...pending, executed }
  return { ...pending, executed, review: await stageResult(() => context.askReview(decided)) }
}

const runKernelsOf = ({ facts: { texts } }: ClosingRun, inputs: DkecInputs, watch: Watch): Executed =>
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

/** A run that passed every gate up to its budgets. */
type Reached = DecidedRun & DkecInputs & Executed

/** What the first stage seals of a request. */
type Admitted = Parameters<typeof dog>[0]
/** What the policy gate is given: texts to search, and grounds to decide on. */
type Judged = { readonly texts: readonly ScannedText[]; readonly grounds: Grounds }

/** Of a request that was just received. @param asked present exactly for the opening of a permit */
const requestJudged =
  (submission: Submission, asked: AskedPermit | undefined, { base, facts }: ReceivedRun, context: PermitContext) =>
  async (): Promise<Judged> => {
    const texts = requestTexts(submission, base, context)
    const sees = payloadAsked(context.policy, submission.route_id)
    const seen = sees && (await context.readPayload(submission.payload, sees.table))
    const grounds = requestGrounds(submission, { asked, seen }, facts.moment, context.policy, facts.texts.seal)
    return { texts, grounds }
  }

/** Stages and gates of a request up to the budget of its tenant. The draft is of a run that a gate stopped. */
async function toBudget(
  run: ReceivedRun,
  admitted: Admitted,
  judged: () => Promise<Judged>,
  { done, ...journal }: Journal,
  context: PermitContext,
): Promise<Reached | Draft> {
  const { base, decided, spending, facts } = run
  const { moment } = facts
  const { seal } = facts.texts
  const stage = stagesOf(context.watch, facts.texts)
  const stop = (made: Stop, token?: AllowToken): Draft => stopRun(run, { done, ...journal }, made, token)

  const { envelope } = done({ envelope: stage("DOG", () => seal(dog(admitted, moment, base, context))) })
  const { transport } = done({ transport: stage("DTL", () => seal(dtl(envelope))) })

  const gap = admissionGate({ envelope }, decided, context.policy, seal)
  if (gap !== undefined) return stop(gap)
  const { texts, grounds } = await judged()
  const pepg = await pepgGate({ envelope }, base, grounds, texts, context, seal)
  if ("stop" in pepg) return stop(pepg.stop)
  const { allow_token } = pepg.pass
  const { policy_evaluation, act } = done(pepg.pass.sections)

  const inputs = { base, envelope, transport, policy_evaluation, allow_token, ...(act === undefined ? {} : { act }) }
  const executed = done(stage("DKEC", () => dkec(inputs, seal)))

  const budget = (): BudgetSnapshotSection => snapshotOf(run, { envelope })
  const over = ccvGate({ envelope }, allow_token, executed.efa, spending, budget, seal)
  return over === undefined ? { ...inputs, ...executed } : stop(over, allow_token)
}

/** The review's decision, and the stages from there to the log. */
function toLog(
  run: ReceivedRun,
  reached: Reached & { readonly budget_snapshot: BudgetSnapshotSection },
  facts: ReviewFacts,
  journal: Journal,
  { watch }: Pick<PipelineContext, "watch">,
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

/**
 * Stages 7–9, once the run's pre-anchor leaf is in the log.
 * @param texts of the run
 */
export function runAfterLog(
  sections: PreAnchorSections & Sections,
  token: AllowToken,
  anchor: Anchor<PreAnchorLeaf>,
  texts: WrittenTexts,
  stage: RunStage,
): CompletedSections & Sections {
  const pote_proof = stage("LEDGER", () => texts.seal(ledger(anchor, texts)))
  const logged = { ...sections, pote_proof }
  const list = stage("REGISTRY", () => texts.seal(registry(sections.envelope, logged, token)))
  const listed = { ...logged, registry: list }
  const final_vfa = stage("DLA", () => texts.seal(dla(sections.envelope, list)))
  return { ...listed, final_vfa }
}
