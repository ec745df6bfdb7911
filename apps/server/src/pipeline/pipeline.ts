/**
 * The pipeline on one page: nine stages and five gates, top to bottom. Stages 1–6 come before the log, 7–9 after the
 * run's leaf is in it. FORMATS §2, §4.
 */
import type { KnownTexts } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf } from "@runseal/core/artifacts/anchor"
import type { Sections, SystemProvenanceSection } from "@runseal/core/artifacts/sections"
import type { PreAnchorSections } from "@runseal/core/formulas/leaves"
import { sectionHashes } from "@runseal/core/formulas/leaves"
import type { SealedSections } from "@runseal/core/formulas/manifest"
import type { Moment } from "@runseal/core/formulas/moment"
import { declaredSection, payloadSection } from "@runseal/core/formulas/pre-execution"
import { buildTranscript } from "@runseal/core/formulas/steps"
import { traceViolations } from "@runseal/core/verify/trace"
import type { BaseSections, Draft, DraftFacts, Stop } from "./draft.ts"
import { admissionGate } from "./gates/admission.ts"
import type { AskReview } from "./gates/aivp-t4.ts"
import { aivpT4Gate } from "./gates/aivp-t4.ts"
import { ccvGate } from "./gates/ccv.ts"
import type { Budgets, MakeCharge } from "./gates/macc.ts"
import { maccGate } from "./gates/macc.ts"
import type { PepgContext, PepgPass } from "./gates/pepg.ts"
import { pepgGate } from "./gates/pepg.ts"
import { inStage, StageFailure } from "./stage-failure.ts"
import { dog } from "./stages/1-dog.ts"
import { dtl } from "./stages/2-dtl.ts"
import { dkec } from "./stages/3-dkec.ts"
import { aer } from "./stages/4-aer.ts"
import { zksp } from "./stages/5-zksp.ts"
import { phase4 } from "./stages/6-phase4.ts"
import { ledger } from "./stages/7-ledger.ts"
import { registry } from "./stages/8-registry.ts"
import { dla } from "./stages/9-dla.ts"
import type { Submission } from "./submission.ts"

export type PipelineContext = PepgContext & {
  readonly budgets: Budgets
  readonly system_provenance: SystemProvenanceSection
  readonly makeCharge: MakeCharge
  readonly askReview: AskReview
  /** Told of the cause of every stage failure; the record holds only its sentence. */
  readonly reportFault: (failure: StageFailure) => void
}

/** What the run has sealed so far; a failing stage leaves behind what was completed. */
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
  }
  const base = baseSections(submission, moment, context.system_provenance)
  const journal: Journal = { sections: base }
  try {
    return { ...facts, ...(await walk(submission, moment, context, base, journal)) }
  } catch (error) {
    if (!(error instanceof StageFailure)) throw error
    context.reportFault(error)
    return { ...facts, outcome_kind: "stage_error", sections: journal.sections, fault: error.fault }
  }
}

function baseSections(
  submission: Submission,
  moment: Moment,
  system_provenance: SystemProvenanceSection,
): BaseSections {
  const { declared, origin } = submission
  return {
    payload: payloadSection(submission.payload, submission.ai_output_text),
    attested_context: declaredSection("attested_context", moment, declared.attested_context),
    request_substance: declaredSection("request_substance", moment, declared.request_substance, origin),
    authorization_chain: declaredSection("authorization_chain", moment, declared.authorization_chain),
    regulatory_scaffolding: declaredSection("regulatory_scaffolding", moment, declared.regulatory_scaffolding),
    causal_graph: declaredSection("causal_graph", moment, declared.causal_graph),
    reproducibility_context: declaredSection("reproducibility_context", moment, declared.reproducibility_context),
    system_provenance,
  }
}

type Walked = Omit<Draft, keyof DraftFacts>

async function walk(
  submission: Submission,
  moment: Moment,
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
    return stopRun(stop, pass, journal)
  }

  const { envelope } = done({ envelope: inStage("DOG", () => dog(submission, moment, base, context.region)) })
  const { transport } = done({ transport: inStage("DTL", () => dtl(envelope)) })

  const gap = admissionGate(submission, envelope, context.policy)
  if (gap !== undefined) return stopped(gap)
  const pepg = await pepgGate(submission, envelope, base.payload, context)
  if ("stop" in pepg) return stopped(pepg.stop)
  const { allow_token } = pepg.pass
  const { policy_evaluation } = done({ policy_evaluation: pepg.pass.policy_evaluation })

  const inputs = { base, envelope, transport, policy_evaluation, allow_token }
  const executed = done(inStage("DKEC", () => dkec(inputs)))

  const tokens = submission.declared_tokens
  const overrun = ccvGate(envelope, allow_token, executed.efa, tokens, context.budgets.run_tokens)
  if (overrun !== undefined) return stopped(overrun, pepg.pass)
  const macc = await maccGate(envelope, allow_token, tokens, context.budgets, context.makeCharge)
  if ("stop" in macc) return stopped(macc.stop, pepg.pass)
  const { budget_snapshot } = done({ budget_snapshot: macc.pass })
  const review = await aivpT4Gate(submission, envelope, allow_token, base.payload.ai_output_hash, context.askReview)
  if ("stop" in review) return stopped(review.stop, pepg.pass)
  const { governance_review } = done({ governance_review: review.pass })

  const gated = { envelope, transport, ...executed, allow_token, budget_snapshot, governance_review }
  const record = done({ aer: inStage("AER", () => aer(gated)) })
  const evidence = done(inStage("ZKSP", () => zksp(envelope, base.payload, record.aer)))
  const binding = { envelope, payload: base.payload, aer: record.aer, policy_hash: policy_evaluation.policy_hash }
  done(inStage("PHASE4", () => phase4({ ...binding, zksp_binding: evidence.zksp_binding })))
  done({ transcript: inStage("PHASE4", () => checkedTranscript(journal, "ok", allow_token.hash)) })
  return { outcome_kind: "ok", sections: journal.sections, allow_token }
}

function stopRun(stop: Stop, pass: PepgPass | undefined, journal: Journal): Walked {
  const { outcome, key, receipt } = stop
  const transcript = checkedTranscript(journal, outcome, pass?.allow_token.hash, { [key]: receipt.hash })
  return {
    outcome_kind: outcome,
    sections: { ...journal.sections, transcript },
    ...(pass === undefined ? {} : { allow_token: pass.allow_token }),
    receipt: { key, receipt },
  }
}

/** The transcript of what happened, held against the state machine before anything claims that it was. */
function checkedTranscript(
  { sections }: Journal,
  outcome: Exclude<Draft["outcome_kind"], "stage_error">,
  tokenHash: string | undefined,
  receiptHash: Readonly<Record<string, string>> = {},
): NonNullable<Sections["transcript"]> {
  const token = tokenHash === undefined ? {} : { allow_token: tokenHash }
  const hashes: Readonly<Record<string, string>> = { ...sectionHashes(sections), ...token, ...receiptHash }
  const transcript = buildTranscript(sections.envelope?.envelope_id ?? "", outcome, name => hashes[name])
  const problems = traceViolations(transcript.events, outcome)
  if (problems.length > 0) throw new Error(`the transcript is no path of the pipeline: ${problems.join("; ")}`)
  return transcript
}

/**
 * Stages 7–9, once the run's pre-anchor leaf is in the log.
 * @param known texts that need not be written again
 */
export function runAfterLog(
  sections: PreAnchorSections & Sections,
  token: NonNullable<Draft["allow_token"]>,
  anchor: Anchor<PreAnchorLeaf>,
  known?: KnownTexts,
): SealedSections & Sections {
  const { envelope_id, declared_sections_hash } = sections.envelope
  const pote_proof = inStage("LEDGER", () => ledger(anchor, known))
  const logged = { ...sections, pote_proof }
  const list = inStage("REGISTRY", () => registry(envelope_id, logged, token))
  const listed = { ...logged, registry: list }
  const final_vfa = inStage("DLA", () => dla(envelope_id, listed, list, declared_sections_hash))
  return { ...listed, final_vfa }
}
