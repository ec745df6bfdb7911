/**
 * The findings of a record: what is odd about a run that no gate stopped it for. They are those that the kernels sealed, and a signature
 * match that was observed only; every verifier computes them again. docs/pipeline.md, "Findings".
 */
import * as v from "valibot"
import { MCD_REASON_CODE } from "../vocabulary/decision-codes.ts"
import { FINDING_CODES } from "../vocabulary/kernel-findings.ts"
import { ordinalSchema, type Shape } from "../vocabulary/scalars.ts"
import type { Sections } from "./sections.ts"

/** The codes of the kernels, and one of the policy gate. */
export const RECORD_FINDING_CODES = ["SIGNATURE_MATCH_OBSERVED", ...FINDING_CODES] as const

const recordFindingSchema = v.strictObject({ code: v.picklist(RECORD_FINDING_CODES), count: ordinalSchema })
export type RecordFinding = Shape<typeof recordFindingSchema>

/** The findings of a record, where an answer has any. */
export const recordFindingsSchema: v.GenericSchema<unknown, RecordFinding[]> = v.pipe(
  v.array(recordFindingSchema),
  v.minLength(1),
  v.maxLength(RECORD_FINDING_CODES.length),
)

type Found = Pick<Sections, "efa" | "mcd_finding" | "policy_evaluation">

export function recordFindings({ efa, mcd_finding, policy_evaluation }: Found): readonly RecordFinding[] {
  const observed = mcd_finding !== undefined && policy_evaluation?.decision_reason_code !== MCD_REASON_CODE
  return [
    ...(observed ? [{ code: "SIGNATURE_MATCH_OBSERVED", count: 1 } as const] : []),
    ...(efa?.kernels.flatMap(({ findings }) => findings) ?? []),
  ]
}
