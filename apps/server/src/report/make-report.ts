/**
 * A report as data, made from a sealed bundle. Pure: the same bundle, context and format give the same report.
 * docs/report.md, "What is in each format".
 */
import { canonicalize } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { reduce } from "@runseal/core/derivation/derive"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import type { Report } from "@runseal/pdf/block"
import { proof } from "./sections/anchors.ts"
import { budgets, gauges, runtimeBudget, tenantBudget, tenantState } from "./sections/budget-part.ts"
import { enforcement, howToVerify } from "./sections/callouts.ts"
import { kernels, modelAndExecution, requestAndTenant, requestSubstance } from "./sections/context.ts"
import { cover, verdictOf } from "./sections/cover.ts"
import { course, decision, policyEvaluation } from "./sections/decision-part.ts"
import { declaredByCaller, declaredPart } from "./sections/declared-content.ts"
import { evidence } from "./sections/evidence-part.ts"
import { legalEvidence } from "./sections/legal.ts"
import { metadata, pipelineHashes } from "./sections/metadata.ts"
import { permitPart } from "./sections/permit-part.ts"
import { diagnosis, missingFields, sealedReceipt } from "./sections/receipt-part.ts"
import { governanceReview, riskAssessment, signatureMatch } from "./sections/risk.ts"
import { statement } from "./sections/statement-part.ts"
import { executiveSummary } from "./sections/summary.ts"
import { heading } from "./spans.ts"
import {
  bundleFileName,
  type Part,
  type ReportContext,
  reportFileName,
  type Subject,
  toneOf,
  wordsOf,
} from "./subject.ts"

/** A section of the record under its title, in these formats. One that gives no blocks is left out, with its title. */
type Section = readonly [title: string, part: Part, formats: readonly ReportFormat[]]

const WHOLE: readonly ReportFormat[] = ["auditor", "comprehensive"]
const CLAIMED: readonly ReportFormat[] = [...WHOLE, "legal"]
const BRIEF: readonly ReportFormat[] = ["brief"]

/** The record of a completed run. */
const COMPLETED: readonly Section[] = [
  ["", course, BRIEF],
  ["", gauges, BRIEF],
  ["Permit", permitPart, REPORT_FORMATS],
  ["Decision", decision, CLAIMED],
  ["Outcome Summary", course, CLAIMED],
  ["Model and Execution Context", modelAndExecution, WHOLE],
  ["Policy Evaluation", policyEvaluation, CLAIMED],
  ["Kernels", kernels, ["legal"]],
  ["Authorization and Approval Chain", declaredPart("authorization_chain"), CLAIMED],
  ["Risk Assessment", riskAssessment, CLAIMED],
  ["Request Substance", requestSubstance, WHOLE],
  ["Runtime Budget State", runtimeBudget, CLAIMED],
  ["Tenant Budget Snapshot", tenantBudget, CLAIMED],
  ["At-Execution Tenant State", tenantState, WHOLE],
  ["Real-World Effect", declaredPart("causal_graph"), CLAIMED],
]

/** The record of any other run: how far it came, its receipt or what failed, and what both rest on. */
const ENDED: readonly Section[] = [
  ["", course, REPORT_FORMATS],
  ["", gauges, BRIEF],
  ["Permit", permitPart, REPORT_FORMATS],
  ["Sealed receipt", sealedReceipt, REPORT_FORMATS],
  ["Required attested fields", missingFields, CLAIMED],
  ["What failed", diagnosis, REPORT_FORMATS],
  ["Signature match", signatureMatch, REPORT_FORMATS],
  ["Policy Evaluation", policyEvaluation, CLAIMED],
  ["Kernels", kernels, CLAIMED],
  ["Budgets", budgets, CLAIMED],
  ["Governance review", governanceReview, CLAIMED],
  ["Declared by the caller", declaredByCaller, CLAIMED],
  ["Request, tenant and service", requestAndTenant, WHOLE],
]

/** Part 4: the sections of this outcome and format. */
const record: Part = subject => {
  const sections = isCompleted(subject) ? COMPLETED : ENDED
  const blocks = sections.flatMap(([title, part, formats]) => {
    const content = formats.includes(subject.format) ? part(subject) : []
    return title === "" || content.length === 0 ? content : [heading(2, title), ...content]
  })
  return [heading(1, wordsOf(subject).record_title), ...blocks]
}

const isCompleted = ({ bundle }: Subject): boolean => bundle.manifest !== undefined

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
  [evidence, WHOLE],
  [legalEvidence, ["legal", "comprehensive"]],
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
    density: format === "brief" || !isCompleted(subject) ? "compact" : "roomy",
    language: "en",
    date: run.created_at,
    key_valid_from: context.key_valid_from,
    running_head: { left: `Run ${run.run_id}, ${title}`, right: verdictOf(subject), tone: toneOf(subject) },
    running_foot: reportFileName(run.run_id, format),
    blocks,
    attachment: {
      name: attached,
      description: `The sealed audit bundle of run ${run.run_id}`,
      text: canonicalize(reduce(bundle)),
    },
  }
}
