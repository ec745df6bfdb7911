/** A short summary of a record, for people. Nothing is checked here; the report says what was. */
import { shownAct } from "../artifacts/act-section.ts"
import { decisionText, shownApprovals } from "../artifacts/approvals.ts"
import { type Bundle, receiptOf } from "../artifacts/bundle-schema.ts"
import {
  CONTENT_NAMES,
  type ContentName,
  type DeclaredSection,
  type DeclaredSections,
  isShown,
} from "../artifacts/declared-sections.ts"
import { shownEndUser } from "../artifacts/end-user.ts"
import type { Sections } from "../artifacts/sections.ts"
import { MCD_REASON_CODE } from "../vocabulary/decision-codes.ts"
import { isLogged } from "./decisions.ts"
import { type EvidenceLine, line } from "./kind.ts"
import { declaredOutputHash } from "./record-facts.ts"
import { refusalBeforeFailure } from "./stage-error.ts"

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
    ...endUserLines(sections),
    ...actLines(sections),
    ...approvalLines(sections, isLogged(bundle)),
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

/** The person behind the agent, by the identity provider's token. */
export function endUserLines({ end_user: section }: Pick<Sections, "end_user">): readonly EvidenceLine[] {
  if (section === undefined) return []
  const person = shownEndUser(section)
  if (person === undefined) return line("end_user", "withheld")
  return [
    ...line("end_user", person.subject),
    ...line("end_user_issuer", person.issuer),
    ...line("end_user_client", person.client),
    ...line("end_user_groups", person.groups?.join(", ")),
  ]
}

/** How the request for an approval ended, and a line for each person that decided. @param isInLog as for `decisionText` */
export function approvalLines(
  { approvals: section }: Pick<Sections, "approvals">,
  isInLog: boolean,
): readonly EvidenceLine[] {
  if (section === undefined) return []
  const approvals = shownApprovals(section)
  if (approvals === undefined) return line("approval", "withheld")
  const { approval_id, outcome, requested_at, decisions } = approvals
  return [
    ...line("approval", `${approval_id}, ${outcome}`),
    ...line("approval_requested_at", requested_at),
    ...decisions.flatMap(decision => line("approval_decision", decisionText(decision, isInLog))),
  ]
}

/** What was read of the payload: a line for the act, and one for each value. */
export function actLines({ act: section }: Pick<Sections, "act">): readonly EvidenceLine[] {
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
export function signatureMatch({
  mcd_finding: match,
  policy_evaluation: evaluation,
}: Pick<Sections, "mcd_finding" | "policy_evaluation">): string | undefined {
  if (match === undefined) return undefined
  const observed = evaluation?.decision_reason_code !== MCD_REASON_CODE
  return `${match.matched_signature_id} in ${match.matched_in}${observed ? ", observed only" : ""}`
}

type DeclaredOf = DeclaredSections & { readonly closing?: DeclaredSection }

/** Which declared sections are shown, withheld, or empty. */
export const declaredStates = (sections: DeclaredOf): string =>
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
