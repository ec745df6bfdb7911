/** A run on its way through the pipeline: what was made of it so far, and the two ways in which it ends early. */
import { writtenTexts } from "@runseal/canonical"
import type { DeclaredName, Origin, ShownDeclared } from "../artifacts/declared-sections.ts"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { BudgetSnapshotSection, BudgetWindow, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { buildTranscript } from "../derivation/v2/transcript.ts"
import { budgetSnapshotSection } from "../formulas/decision.ts"
import type { DecidedRun, Moment } from "../formulas/moment.ts"
import { declaredSection, endUserSection, payloadSection } from "../formulas/pre-execution.ts"
import type { Submission } from "../wire/submission.ts"
import type { DecidingPolicy } from "./deciding-policy.ts"
import type { BaseSections, Decided, Draft, DraftFacts, Spending, Stop } from "./draft.ts"
import { StageFailure, type Watch } from "./stage-failure.ts"

/** What is known of a run before its first stage. */
export type ReceivedRun = {
  readonly facts: DraftFacts
  readonly decided: Decided
  readonly spending: Spending
  readonly base: BaseSections
}

type ReceivingContext = {
  readonly region: string
  readonly policy: Pick<DecidingPolicy, "named_groups">
  readonly system_provenance: SystemProvenanceSection
  readonly watch: Pick<Watch, "monotonicMs">
}

/** A request before its first stage. */
export function receive(
  submission: Submission,
  moment: Moment,
  spending: Spending,
  { region, policy, system_provenance, watch }: ReceivingContext,
): ReceivedRun {
  const { payload: _payload, origin, tenant, end_user, ...decided } = submission
  const { program_id, route_id, declared, ai_output_text } = decided
  const texts = writtenTexts()
  const { seal } = texts
  const declare = (name: DeclaredName, seen?: Origin): ShownDeclared =>
    seal(declaredSection(name, moment, declared[name], seen))
  return {
    facts: { moment, tenant, program_id, route_id, execution_region: region, started_ms: watch.monotonicMs(), texts },
    decided,
    spending,
    base: {
      payload: seal(payloadSection(submission.payload, ai_output_text)),
      attested_context: declare("attested_context"),
      request_substance: declare("request_substance", origin),
      authorization_chain: declare("authorization_chain"),
      regulatory_scaffolding: declare("regulatory_scaffolding"),
      causal_graph: declare("causal_graph"),
      reproducibility_context: declare("reproducibility_context"),
      system_provenance,
      ...(end_user && { end_user: seal(endUserSection(moment, end_user, policy.named_groups)) }),
    },
  }
}

/** The sections of a run so far: a stage_error has those that were completed before the failing stage. */
export type Journal = {
  readonly sections: () => Sections
  /** Adds what a stage or gate made, and returns it. */
  readonly done: <Made extends Partial<Sections>>(made: Made) => Made
}

export function openJournal(start: Sections): Journal {
  let sections = start
  return {
    sections: () => sections,
    done: made => {
      sections = { ...sections, ...made }
      return made
    },
  }
}

/** The budgets that a run is held against. @param window after what the run moved in it; absent where nothing moved */
export const snapshotOf = (
  { facts: { texts }, spending: { run_limit, tokens, purpose } }: ReceivedRun,
  { envelope }: Pick<DecidedRun, "envelope">,
  window?: BudgetWindow,
): BudgetSnapshotSection => texts.seal(budgetSnapshotSection(envelope, run_limit, tokens, window, purpose))

/** The draft of a run that a gate stopped. @param token of a run that a gate after the policy stopped */
export function stopRun(
  { facts }: Pick<ReceivedRun, "facts">,
  { done, sections }: Journal,
  { outcome, key, receipt, sections: made }: Stop,
  token?: AllowToken,
): Draft {
  done(made)
  const allowed = token === undefined ? {} : { allow_token: token }
  const refusal = { key, receipt }
  const stopped = buildTranscript(outcome, { sections: sections(), ...allowed }, refusal)
  const transcript = facts.texts.seal(stopped)
  return { ...facts, outcome_kind: outcome, sections: { ...sections(), transcript }, ...allowed, receipt: refusal }
}

/** The draft of a run of which a stage failed. @throws whatever is no stage's failure */
export function failRun({ facts }: Pick<ReceivedRun, "facts">, { sections }: Journal, error: unknown): Draft {
  if (!(error instanceof StageFailure)) throw error
  return { ...facts, outcome_kind: "stage_error", sections: sections(), fault: error.fault, failure: error }
}
