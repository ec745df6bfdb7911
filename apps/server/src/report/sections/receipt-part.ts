/** Part 4 of a run that was not completed: the sealed receipt, or what is known of a stage error. */
import type { JsonValue } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { refusalBeforeFailure } from "@runseal/core/verify/stage-error"
import { STEP_LABELS } from "@runseal/core/vocabulary/pipeline-path"
import type { Line } from "@runseal/pdf/block"
import { declaredIn, joined, valueLine } from "../declared.ts"
import type { Fact } from "../spans.ts"
import { count, fact, facts, fieldLabel, line, mono, muted, quote, remark, table, timeOr } from "../spans.ts"
import type { Part } from "../subject.ts"

/** The receipt as it is sealed, field by field; `hash` last, which covers the others. No block without a receipt. */
export const sealedReceipt: Part = ({ bundle }) => {
  const found = receiptOf(bundle)
  if (found === undefined) return []
  const { hash, ...fields } = found.receipt
  const rows = Object.entries<JsonValue | undefined>(fields)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): Fact => ({ label: fieldLabel(name), value: fieldLine(value) }))
  return [
    remark("Every field of the receipt, as sealed. The hash covers all of them."),
    ...facts([...rows, fact("Hash", mono(hash))]),
  ]
}

/** Facts without those that the sealed receipt of the same report shows. */
export function rowsBeside(bundle: Bundle, rows: readonly Fact[]): readonly Fact[] {
  const shown = Object.values<JsonValue | undefined>(receiptOf(bundle)?.receipt ?? {})
  return rows.filter(({ value }) => !value.some(({ text }) => shown.includes(text.trim())))
}

/** Texts of a receipt are identifiers, codes, times and hashes of the service. */
const fieldLine = (value: JsonValue | undefined): Line => {
  if (typeof value === "number") return line(count(value))
  if (Array.isArray(value)) return joined(value.map(valueLine), ", ")
  return typeof value === "string" && value !== "" ? timeOr(value) : valueLine(value)
}

const SAYS_NOTHING = ": declared, and its value says nothing"

/** The attested fields of an attestation gap. */
export const missingFields: Part = ({ bundle }) => {
  const { attestation_gap_receipt: gap } = bundle
  if (gap === undefined) return []
  const declared = declaredIn(bundle, "attested_context") ?? {}
  const columns = [
    { title: "Attested field", share: 60 },
    { title: "In the request", share: 40 },
  ]
  const rows = gap.required_fields.map(name => [
    quote(name),
    gap.missing_fields.includes(name)
      ? line({ text: "missing", style: "bold", tone: "bad" }, Object.hasOwn(declared, name) ? SAYS_NOTHING : [])
      : line("declared"),
  ])
  return table("Attested fields that the policy requires", columns, rows)
}

/** What is known of a stage error: the failed step, the error message, the completed sections. */
export const diagnosis: Part = ({ bundle }) => {
  const { run, sections } = bundle
  if (run.outcome_kind !== "stage_error") return []
  const stage = run.error_stage
  const refusal = refusalBeforeFailure(bundle)
  return facts([
    ...(refusal === undefined ? [] : [fact("Decided before", quote(refusal))]),
    fact("Failed step", stage === undefined ? muted("not named") : line(mono(stage), ` (${STEP_LABELS[stage]})`)),
    fact("Error message", run.error_message === undefined ? muted("nothing") : quote(run.error_message)),
    fact("The cause", "is in the operator's process log, which is no part of this record"),
    fact("Sections made", mono(Object.keys(sections).sort().join(", "))),
  ])
}
