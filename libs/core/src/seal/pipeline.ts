/**
 * The ways of a run up to its budget, top to bottom: that of `POST /execute`, the opening of a permit, and its close, which begins at the policy. The
 * budget is charged and the review is asked for here. `settlement.ts` has what follows, up to the log; `record.ts` has the stages after it. docs/pipeline.md.
 */
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { BudgetSnapshotSection, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import type { Moment } from "../formulas/moment.ts"
import type { Enforcement } from "../vocabulary/scalars.ts"
import type { Submission, Tenant } from "../wire/submission.ts"
import type { Draft, Stop } from "./draft.ts"
import { admissionGate } from "./gates/admission.ts"
import type { AskReview } from "./gates/aivp-t4.ts"
import { ccvGate } from "./gates/ccv.ts"
import { type Budgets, chargeWindow, type MakeCharge, maccGate, reservationOf } from "./gates/macc.ts"
import { closingGrounds, type Grounds, type PepgContext, payloadAsked, pepgGate, requestGrounds } from "./gates/pepg.ts"
import { closingTexts, requestTexts, type ScannedText } from "./gates/scanned-texts.ts"
import { type Closing, closedInputs, closingRun, permitUse } from "./permits/closing-run.ts"
import { type AskedPermit, termsOf } from "./permits/permit-terms.ts"
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
import { type PendingClose, type PendingOpening, type Reached, runKernelsOf, toLog } from "./settlement.ts"
import { stageResult, stagesOf, type Watch } from "./stage-failure.ts"
import { dkec, dog, dtl } from "./stages.ts"

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

/** An opening that the policy leaves to persons. */
export type PendingRequest = {
  readonly tenant: Tenant
  readonly run: ReceivedRun
  readonly request: RequestDraft
  /** The run that it is refused as where nobody is to be asked. */
  readonly refused: Draft
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
