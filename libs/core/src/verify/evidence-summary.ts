/** A short summary of a bundle or a run statement, for people. Nothing is checked here; the report says what was. */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import { DECLARED_NAMES, isShown } from "../artifacts/declared-sections.ts"
import type { RunStatement } from "../artifacts/run-statement.ts"
import { parseDocument, readDocument } from "./read-document.ts"
import { refusalBeforeFailure } from "./stage-error.ts"

export type EvidenceLine = { readonly label: string; readonly value: string }

const line = (label: string, value: string | number | undefined): readonly EvidenceLine[] =>
  value === undefined ? [] : [{ label, value: `${value}` }]

/** The summary of a text that was verified; empty for other documents. @throws StrictJsonError when it is no JSON */
export function evidenceOf(input: Uint8Array): readonly EvidenceLine[] {
  const read = readDocument(parseDocument(input))
  if ("unreadable" in read) return []
  if (read.document === "run_statement") return statementSummary(read.value.statement)
  return read.document === "bundle" ? evidenceSummary(read.value) : []
}

function statementSummary({ subject, predicate }: RunStatement): readonly EvidenceLine[] {
  const { anchors } = predicate
  return [
    ...line("run", predicate.run_id),
    ...line("outcome", predicate.outcome_kind),
    ...line("created at", predicate.created_at),
    ...line("tenant", predicate.tenant_id),
    ...line("program", predicate.program_id),
    ...line("route", predicate.route_id),
    ...line("region", predicate.execution_region),
    ...line("payload SHA-256", predicate.payload_hash),
    ...line("AI output SHA-256", predicate.ai_output_hash),
    ...line("policy hash", predicate.policy_hash),
    ...line("manifest hash", predicate.manifest_hash),
    ...line("receipt hash", predicate.receipt_hash),
    ...line("log entry", anchors.pre_anchor?.log_index ?? anchors.receipt?.log_index),
    ...line("complete-record entry", anchors.complete_record.log_index),
    ...line("bundle hash", subject[0]?.digest.sha256),
  ]
}

/** Labelled facts of the record in reading order. */
export function evidenceSummary(bundle: Bundle): readonly EvidenceLine[] {
  const { run, sections, manifest, anchors } = bundle
  const found = receiptOf(bundle)
  const findings = sections.efa?.kernels.flatMap(record =>
    record.findings.map(f => `${record.kernel} ${f.code} ×${f.count}`),
  )
  const review = sections.governance_review
  return [
    ...line("run", run.run_id),
    ...line("outcome", run.outcome_kind),
    ...line("failed step", run.outcome_kind === "stage_error" ? run.error_stage : undefined),
    ...line("refused before", refusalBeforeFailure(bundle)),
    ...line("created at", run.created_at),
    ...line("tenant", run.tenant_id),
    ...line("program", run.program_id),
    ...line("route", run.route_id),
    ...line("region", run.execution_region),
    ...line("payload SHA-256", sections.payload.payload_hash),
    ...line("policy rule", sections.policy_evaluation?.fired_rule_id),
    ...line("declared tokens", sections.budget_snapshot?.declared_tokens),
    ...line("window total after", sections.budget_snapshot?.window?.total_after),
    ...line(
      "governance review",
      review === undefined ? undefined : `${review.decision_kind} by ${review.adapter_id} (${review.decision_reason})`,
    ),
    ...line("kernel findings", findings === undefined ? undefined : findings.join(", ") || "none"),
    ...line("declared sections", DECLARED_NAMES.map(name => declaredState(bundle, name)).join(", ")),
    ...line("manifest hash", manifest?.ManifestHash ?? bundle.partial_manifest?.ManifestHash),
    ...line("receipt hash", found?.receipt.hash),
    ...line("log entry", anchors.pre_anchor?.entry.logIndex ?? anchors.receipt?.entry.logIndex),
    ...line("complete-record entry", anchors.complete_record?.entry.logIndex),
    ...line("tenant ordinal", anchors.complete_record?.leaf.tenant_ordinal),
    ...line("bundle hash", bundle.bundle_hash),
  ]
}

function declaredState({ sections }: Bundle, name: (typeof DECLARED_NAMES)[number]): string {
  const section = sections[name]
  if (!isShown(section)) return `${name} withheld`
  return section.declared === undefined ? `${name} –` : `${name} ✓`
}
