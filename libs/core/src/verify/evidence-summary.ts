/** A short summary of a bundle or a run statement, for people. Nothing is checked here; the report says what was. */

import { canonicalize } from "@runseal/canonical"
import { shownAct } from "../artifacts/act-section.ts"
import type { AdminEvent } from "../artifacts/admin-event.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import {
  CONTENT_NAMES,
  type ContentName,
  type DeclaredSection,
  type DeclaredSections,
  isShown,
} from "../artifacts/declared-sections.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { PermitEnd } from "../artifacts/permit-end.ts"
import type { RunStatement } from "../artifacts/run-statement.ts"
import type { Sections } from "../artifacts/sections.ts"
import { MCD_REASON_CODE } from "../vocabulary/decision-codes.ts"
import { parseDocument, readDocument } from "./read-document.ts"
import { declaredOutputHash, endFacts } from "./record-facts.ts"
import { refusalBeforeFailure } from "./stage-error.ts"

/** A fact: `label` for people, `key` for programs. */
export type EvidenceLine = { readonly key: string; readonly label: string; readonly value: string }

const LABELS: Readonly<Record<string, string>> = {
  payload_hash: "payload SHA-256",
  ai_output_hash: "AI output SHA-256",
  declared_output_hash: "output SHA-256 as declared",
  complete_record_entry: "complete-record entry",
}
const line = (key: string, value: string | number | undefined): readonly EvidenceLine[] =>
  value === undefined ? [] : [{ key, label: LABELS[key] ?? key.replaceAll("_", " "), value: `${value}` }]

/** The summary of a text that was verified; empty for other documents. @throws StrictJsonError when it is no JSON */
export function evidenceOf(input: Uint8Array): readonly EvidenceLine[] {
  const read = readDocument(parseDocument(input))
  if ("unreadable" in read) return []
  if (read.document === "run_statement") return statementSummary(read.value.statement)
  if (read.document === "opening") return openingSummary(read.value)
  if (read.document === "permit_end") return endSummary(read.value)
  if (read.document === "admin_event") return eventSummary(read.value)
  return read.document === "bundle" ? evidenceSummary(read.value.bundle) : []
}

function statementSummary({ subject, predicate }: RunStatement): readonly EvidenceLine[] {
  const { anchors } = predicate
  return [
    ...line("run", predicate.run_id),
    ...line("outcome", predicate.outcome_kind),
    ...line("enforcement", predicate.enforcement),
    ...line("created_at", predicate.created_at),
    ...line("tenant", predicate.tenant_id),
    ...line("program", predicate.program_id),
    ...line("route", predicate.route_id),
    ...line("region", predicate.execution_region),
    ...line("payload_hash", predicate.payload_hash),
    ...line("ai_output_hash", predicate.ai_output_hash),
    ...line("policy_hash", predicate.policy_hash),
    ...line("manifest_hash", predicate.manifest_hash),
    ...line("receipt_hash", predicate.receipt_hash),
    ...line("log_entry", anchors.pre_anchor?.log_index ?? anchors.receipt?.log_index),
    ...line("complete_record_entry", anchors.complete_record.log_index),
    ...line("bundle_hash", subject[0]?.digest.sha256),
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
    ...line("enforcement", sections.envelope?.enforcement),
    ...line("failed_step", run.outcome_kind === "stage_error" ? run.error_stage : undefined),
    ...line("refused_before", refusalBeforeFailure(bundle)),
    ...line("created_at", run.created_at),
    ...line("tenant", run.tenant_id),
    ...line("program", run.program_id),
    ...line("route", run.route_id),
    ...line("region", run.execution_region),
    ...line("payload_hash", sections.payload.payload_hash),
    ...line("declared_output_hash", declaredOutputHash(sections)),
    ...line("policy_rule", sections.policy_evaluation?.fired_rule_id),
    ...actLines(sections),
    ...line("signature_match", signatureMatch(sections)),
    ...line("declared_tokens", sections.budget_snapshot?.declared_tokens),
    ...permitSummary(bundle),
    ...line("window_total_after", sections.budget_snapshot?.window?.total_after),
    ...line(
      "governance_review",
      review === undefined ? undefined : `${review.decision_kind} by ${review.adapter_id} (${review.decision_reason})`,
    ),
    ...line("kernel_findings", findings === undefined ? undefined : findings.join(", ") || "none"),
    ...line("declared_sections", declaredStates(sections)),
    ...line("manifest_hash", manifest?.ManifestHash ?? bundle.partial_manifest?.ManifestHash),
    ...line("receipt_hash", found?.receipt.hash),
    ...line("log_entry", anchors.pre_anchor?.entry.logIndex ?? anchors.receipt?.entry.logIndex),
    ...line("complete_record_entry", anchors.complete_record?.entry.logIndex),
    ...line("tenant_ordinal", anchors.complete_record?.leaf.tenant_ordinal),
    ...line("bundle_hash", bundle.bundle_hash),
  ]
}

/** What was read of the payload: a line for the act, and one for each value. */
function actLines({ act: section }: Pick<Sections, "act">): readonly EvidenceLine[] {
  if (section === undefined) return []
  const act = shownAct(section)
  if (act === undefined) return line("act_table", "withheld")
  return [
    ...line("act_table", act.table),
    ...act.values.flatMap(({ name, value }) => line(`act.${name}`, `${value}`)),
    ...act.unreadable.flatMap(fault =>
      line(
        "act_unreadable",
        "name" in fault ? `${fault.name} (${fault.problem})` : `${fault.at || "payload"} (${fault.problem})`,
      ),
    ),
  ]
}

/** Which signature matched and where; beside a run that the match did not deny, that it was observed only. */
function signatureMatch({
  mcd_finding: match,
  policy_evaluation: evaluation,
}: Pick<Sections, "mcd_finding" | "policy_evaluation">): string | undefined {
  if (match === undefined) return undefined
  const observed = evaluation?.decision_reason_code !== MCD_REASON_CODE
  return `${match.matched_signature_id} in ${match.matched_in}${observed ? ", observed only" : ""}`
}

type DeclaredOf = DeclaredSections & { readonly closing?: DeclaredSection }

const declaredStates = (sections: DeclaredOf): string =>
  CONTENT_NAMES.flatMap(name => {
    const section = sections[name]
    return section === undefined ? [] : [declaredState(section, name)]
  }).join(", ")

function declaredState(section: DeclaredSection, name: ContentName): string {
  if (!isShown(section)) return `${name} withheld`
  return section.declared === undefined ? `${name} –` : `${name} ✓`
}

/** What the record of a close says of its permit. */
function permitSummary({ sections: { permit, envelope, budget_snapshot } }: Bundle): readonly EvidenceLine[] {
  if (permit === undefined) return []
  return [
    ...line("permit", permit.permit_id),
    ...line("permitted_at", envelope?.admission_clock),
    ...line("opening_entry", permit.opening_log_index),
    ...line("redeemed_at", permit.redemption?.redeemed_clock),
    ...line("redemption_entry", permit.redemption?.entry.logIndex),
    ...line("act", permit.code === undefined ? permit.outcome : `${permit.outcome} (${permit.code})`),
    ...line("closed_at", permit.closed_clock),
    ...line("reserved_tokens", budget_snapshot?.window?.reserved),
  ]
}

function openingSummary({ sections, reservation, leaf, entry, ...opening }: Opening): readonly EvidenceLine[] {
  const { envelope, payload, policy_evaluation, mcd_finding } = sections
  return [
    ...line("permit", opening.permit_id),
    ...line("permitted_at", envelope.admission_clock),
    ...line("enforcement", envelope.enforcement),
    ...line("audience", opening.audience),
    ...line("expires_at", opening.expires_at),
    ...line("close_by", opening.close_by),
    ...line("redeem_required", opening.redeem_required === true ? "yes" : undefined),
    ...line("tenant", opening.tenant_id),
    ...line("program", envelope.program_id),
    ...line("route", envelope.route_id),
    ...line("region", envelope.execution_region),
    ...line("payload_hash", payload.payload_hash),
    ...line("policy_rule", policy_evaluation.fired_rule_id),
    ...line("signature_match", signatureMatch({ policy_evaluation, ...(mcd_finding && { mcd_finding }) })),
    ...line("reserved_tokens", reservation.tokens),
    ...line("window_total_after", reservation.total_after),
    ...line("declared_sections", declaredStates(sections)),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("opening_hash", opening.opening_hash),
  ]
}

function endSummary(end: PermitEnd): readonly EvidenceLine[] {
  const { tenant_id, reason, end_clock, openings, end_hash, leaf, entry } = end
  const { ended } = endFacts(end)
  return [
    ...line("ended_at", end_clock),
    ...line("reason", reason),
    ...line("tenant", tenant_id),
    ...line("permits", openings.length),
    ...line("released_tokens", ended.released_tokens),
    ...(ended.redeemed === 0
      ? []
      : [...line("redeemed_and_not_closed", ended.redeemed), ...line("charged_tokens", ended.charged_tokens)]),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("end_hash", end_hash),
  ]
}

const eventSummary = ({ who, subject, leaf, entry, ...event }: AdminEvent): readonly EvidenceLine[] => [
  ...line("done_at", event.event_clock),
  ...line("action", event.action),
  ...line("actor", who.name === undefined ? who.actor : `${who.actor} (${who.name})`),
  ...line("subject", `${subject.kind} ${subject.id}`),
  ...line("before", event.before && canonicalize(event.before)),
  ...line("after", event.after && canonicalize(event.after)),
  ...line("sealed_at", event.seal_clock),
  ...line("log_entry", entry.logIndex),
  ...line("tenant_ordinal", leaf.tenant_ordinal),
  ...line("event_hash", event.event_hash),
]
