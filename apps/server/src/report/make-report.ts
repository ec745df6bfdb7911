/**
 * A report as data, made from a sealed bundle. Pure: the same bundle, context and format give the same report.
 * docs/report.md, "What is in each format".
 */
import { canonicalize } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import type { Report } from "@runseal/pdf/block"
import { authorization, realWorldEffect } from "./sections/authorization.ts"
import { gauges, runtimeBudget, tenantBudget, tenantState } from "./sections/budgets.ts"
import { enforcement, howToVerify } from "./sections/callouts.ts"
import { modelAndExecution, requestSubstance } from "./sections/context.ts"
import { cover, verdictOf } from "./sections/cover.ts"
import { course, decision, outcomeSummary, policyEvaluation } from "./sections/decision-part.ts"
import { evidence } from "./sections/evidence-part.ts"
import { legalEvidence } from "./sections/legal.ts"
import { metadata, pipelineHashes } from "./sections/metadata.ts"
import { proof } from "./sections/proof.ts"
import { diagnosis, missingFields, sealedReceipt } from "./sections/receipt-part.ts"
import { riskAssessment } from "./sections/risk.ts"
import { statement } from "./sections/statement-part.ts"
import { executiveSummary } from "./sections/summary.ts"
import { heading } from "./spans.ts"
import type { Part, ReportContext, Subject } from "./subject.ts"
import { bundleFileName, reportFileName, toneOf, wordsOf } from "./subject.ts"

/** Sections of a completed run, in their order. */
const COMPLETED: readonly Part[] = [
  decision,
  outcomeSummary,
  modelAndExecution,
  policyEvaluation,
  authorization,
  riskAssessment,
  requestSubstance,
  runtimeBudget,
  tenantBudget,
  tenantState,
  realWorldEffect,
]
/** Sections of which claims are made. */
const CLAIMED: readonly Part[] = [
  decision,
  policyEvaluation,
  authorization,
  riskAssessment,
  runtimeBudget,
  tenantBudget,
  realWorldEffect,
]
/** Sections of a run that was not completed: the receipt, or what is known of a stage error. */
const ENDED: readonly Part[] = [course, sealedReceipt, missingFields, diagnosis]
/** After them, the request. `ENDED` has the outcome already. */
const REQUESTED: readonly Part[] = COMPLETED.filter(part => part !== outcomeSummary)

/** Sections of the record by format, for a run that was completed and for one that was not. */
const RECORD: Readonly<Record<ReportFormat, Readonly<Record<"completed" | "ended", readonly Part[]>>>> = {
  brief: { completed: [course, gauges], ended: [course, gauges, sealedReceipt, diagnosis] },
  auditor: { completed: COMPLETED, ended: [...ENDED, ...REQUESTED] },
  legal: { completed: [decision, outcomeSummary, ...CLAIMED.slice(1)], ended: [...ENDED, ...CLAIMED] },
  comprehensive: { completed: COMPLETED, ended: [...ENDED, ...REQUESTED] },
}

/** Part 4: the sections of this outcome and format. */
const record: Part = subject => {
  const end = subject.bundle.manifest === undefined ? "ended" : "completed"
  const blocks = RECORD[subject.format][end].flatMap(section => section(subject))
  return [heading(1, wordsOf(subject).record_title), ...blocks]
}

const AUDITED: readonly ReportFormat[] = ["auditor", "comprehensive"]
const CLAIMING: readonly ReportFormat[] = ["legal", "comprehensive"]

/** The parts in their order, with the formats that have them. */
const PARTS: readonly (readonly [part: Part, formats: readonly ReportFormat[]])[] = [
  [cover, REPORT_FORMATS],
  [executiveSummary, REPORT_FORMATS],
  [enforcement, REPORT_FORMATS],
  [howToVerify, REPORT_FORMATS],
  [record, REPORT_FORMATS],
  [proof, REPORT_FORMATS],
  [metadata, REPORT_FORMATS],
  [pipelineHashes, REPORT_FORMATS],
  [evidence, AUDITED],
  [legalEvidence, CLAIMING],
  [statement, REPORT_FORMATS],
]

/**
 * The report of a run. Every statement in it is about this bundle. Declared content is marked as the caller's word.
 * @param context what the bundle does not hold, with the service's own verification of this same bundle
 */
export function makeReport(bundle: Bundle, context: ReportContext, format: ReportFormat): Report {
  const subject: Subject = { bundle, context, format }
  const { run } = bundle
  const { title } = wordsOf(subject)
  const attached = bundleFileName(run.run_id)
  const blocks = PARTS.flatMap(([part, formats]) => (formats.includes(format) ? part(subject) : []))
  return {
    title: `${title}, run ${run.run_id}`,
    subject: `Audit report of run ${run.run_id}, outcome ${run.outcome_kind}, format ${format}`,
    creator: "Runseal",
    density: format === "brief" ? "compact" : "roomy",
    language: "en",
    date: run.created_at,
    key_valid_from: context.key_valid_from,
    running_head: { left: `Run ${run.run_id}, ${title}`, right: verdictOf(subject), tone: toneOf(subject) },
    running_foot: reportFileName(run.run_id, format),
    blocks,
    attachment: {
      name: attached,
      media_type: "application/json",
      description: `The sealed audit bundle of run ${run.run_id}`,
      text: canonicalize(bundle),
    },
  }
}
