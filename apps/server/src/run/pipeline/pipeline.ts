/**
 * The pipeline on one page: nine stages and five gates, top to bottom. Stages 1–6 come before the log, 7–9 after the
 * run's leaf is in it. docs/pipeline.md.
 */
import { type WrittenTexts, writtenTexts } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf } from "@runseal/core/artifacts/anchor"
import type { DeclaredName, Origin, ShownDeclared } from "@runseal/core/artifacts/declared-sections"
import type { SystemProvenanceSection } from "@runseal/core/artifacts/sealed-sections"
import type { Sections } from "@runseal/core/artifacts/sections"
import { buildTranscript } from "@runseal/core/derivation/v1/transcript"
import type { PreAnchorSections } from "@runseal/core/formulas/leaves"
import type { CompletedSections } from "@runseal/core/formulas/manifest-sections"
import type { Moment } from "@runseal/core/formulas/moment"
import { declaredSection, payloadSection } from "@runseal/core/formulas/pre-execution"
import type { Seal } from "@runseal/core/formulas/seal"
import type { Submission } from "@runseal/core/wire/submission"
import type { BaseSections, Draft, DraftFacts, Stop } from "./draft.ts"
import { admissionGate } from "./gates/admission.ts"
import type { AskReview } from "./gates/aivp-t4.ts"
import { aivpT4Gate } from "./gates/aivp-t4.ts"
import { ccvGate } from "./gates/ccv.ts"
import type { Budgets, MakeCharge } from "./gates/macc.ts"
import { maccGate } from "./gates/macc.ts"
import type { PepgContext, PepgPass } from "./gates/pepg.ts"
import { pepgGate } from "./gates/pepg.ts"
import { inStage, type ReportFault, StageFailure } from "./stage-failure.ts"
import { aer, dkec, dla, dog, dtl, ledger, phase4, registry, zksp } from "./stages.ts"

export type PipelineContext = PepgContext & {
  readonly budgets: Budgets
  readonly system_provenance: SystemProvenanceSection
  readonly makeCharge: MakeCharge
  readonly askReview: AskReview
  /** Logs the cause of a stage failure; the record holds only its sentence. */
  readonly reportFault: ReportFault
}

/** The sections of the run so far: a stage_error records those that were completed before the failing stage. */
type Journal = { sections: Sections }

/** Takes a submission through stages 1–6 and every gate. Store failures reject; a failing stage is a stage_error draft. */
export async function runToLog(submission: Submission, moment: Moment, context: PipelineContext): Promise<Draft> {
  const facts: DraftFacts = {
    moment,
    tenant: submission.tenant,
    program_id: submission.program_id,
    route_id: submission.route_id,
    execution_region: context.region,
    started_ms: performance.now(),
    texts: writtenTexts(),
  }
  const base = baseSections(submission, facts, context.system_provenance)
  const journal: Journal = { sections: base }
  try {
    return { ...facts, ...(await walk(submission, facts, context, base, journal)) }
  } catch (error) {
    if (!(error instanceof StageFailure)) throw error
    context.reportFault(error)
    return { ...facts, outcome_kind: "stage_error", sections: journal.sections, fault: error.fault }
  }
}

function baseSections(
  submission: Submission,
  { moment, texts: { seal } }: DraftFacts,
  system_provenance: SystemProvenanceSection,
): BaseSections {
  const { declared } = submission
  const declare = (name: DeclaredName, origin?: Origin): ShownDeclared =>
    seal(declaredSection(name, moment, declared[name], origin))
  return {
    payload: seal(payloadSection(submission.payload, submission.ai_output_text)),
    attested_context: declare("attested_context"),
    request_substance: declare("request_substance", submission.origin),
    authorization_chain: declare("authorization_chain"),
    regulatory_scaffolding: declare("regulatory_scaffolding"),
    causal_graph: declare("causal_graph"),
    reproducibility_context: declare("reproducibility_context"),
    system_provenance,
  }
}

type Walked = Omit<Draft, keyof DraftFacts>

async function walk(
  submission: Submission,
  { moment, texts: { seal } }: DraftFacts,
  context: PipelineContext,
  base: BaseSections,
  journal: Journal,
): Promise<Walked> {
  const done = <Made extends Partial<Sections>>(made: Made): Made => {
    journal.sections = { ...journal.sections, ...made }
    return made
  }
  const stopped = (stop: Stop, pass?: PepgPass): Walked => {
    done(stop.sections)
    return stopRun(stop, pass, journal, seal)
  }

  const { envelope } = done({ envelope: inStage("DOG", () => seal(dog(submission, moment, base, context.region))) })
  const { transport } = done({ transport: inStage("DTL", () => seal(dtl(envelope))) })

  const gap = admissionGate(submission, envelope, context.policy, seal)
  if (gap !== undefined) return stopped(gap)
  const pepg = await pepgGate(submission, envelope, base, context, seal)
  if ("stop" in pepg) return stopped(pepg.stop)
  const { allow_token } = pepg.pass
  const { policy_evaluation } = done(pepg.pass.sections)

  const inputs = { base, envelope, transport, policy_evaluation, allow_token }
  const executed = done(inStage("DKEC", () => dkec(inputs, seal)))

  const tokens = submission.declared_tokens
  const overrun = ccvGate(envelope, allow_token, executed.efa, tokens, context.budgets.run_tokens, seal)
  if (overrun !== undefined) return stopped(overrun, pepg.pass)
  const macc = await maccGate(envelope, allow_token, tokens, context.budgets, context.makeCharge, seal)
  if ("stop" in macc) return stopped(macc.stop, pepg.pass)
  const { budget_snapshot } = done({ budget_snapshot: macc.pass })
  const { ai_output_hash } = base.payload
  const review = await aivpT4Gate(submission, envelope, allow_token, ai_output_hash, context.askReview, seal)
  if ("stop" in review) return stopped(review.stop, pepg.pass)
  const { governance_review } = done({ governance_review: review.pass })

  const gated = { envelope, transport, ...executed, allow_token, budget_snapshot, governance_review }
  const record = done({ aer: inStage("AER", () => seal(aer(gated))) })
  const evidence = done(inStage("ZKSP", () => zksp(envelope, base.payload, record.aer, seal)))
  const binding = { envelope, payload: base.payload, aer: record.aer, policy_hash: policy_evaluation.policy_hash }
  // The stage makes all of its sections or none: a record says which stage failed by what it lacks.
  done(
    inStage("PHASE4", () => {
      const made = phase4({ ...binding, zksp_binding: evidence.zksp_binding }, seal)
      const sections = { ...journal.sections, ...made }
      return { ...made, transcript: seal(buildTranscript("ok", { sections, allow_token })) }
    }),
  )
  return { outcome_kind: "ok", sections: journal.sections, allow_token }
}

function stopRun(
  { outcome, key, receipt }: Stop,
  pass: PepgPass | undefined,
  { sections }: Journal,
  seal: Seal,
): Walked {
  const token = pass === undefined ? {} : { allow_token: pass.allow_token }
  const refusal = { key, receipt }
  const transcript = seal(buildTranscript(outcome, { sections, ...token }, refusal))
  return { outcome_kind: outcome, sections: { ...sections, transcript }, ...token, receipt: refusal }
}

/**
 * Stages 7–9, once the run's pre-anchor leaf is in the log.
 * @param texts of the run
 */
export function runAfterLog(
  sections: PreAnchorSections & Sections,
  token: NonNullable<Draft["allow_token"]>,
  anchor: Anchor<PreAnchorLeaf>,
  texts: WrittenTexts,
): CompletedSections & Sections {
  const pote_proof = inStage("LEDGER", () => texts.seal(ledger(anchor, texts)))
  const logged = { ...sections, pote_proof }
  const list = inStage("REGISTRY", () => texts.seal(registry(sections.envelope, logged, token)))
  const listed = { ...logged, registry: list }
  const final_vfa = inStage("DLA", () => texts.seal(dla(sections.envelope, list)))
  return { ...listed, final_vfa }
}
