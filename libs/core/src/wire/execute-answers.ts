/** Schemas of what `POST /execute` answers, one for each state. docs/api.md, "POST /execute". */
import * as v from "valibot"
import { explanationSchema } from "../artifacts/explanation.ts"
import { manifestSchema, partialManifestSchema } from "../artifacts/manifest.ts"
import { recordFindingsSchema } from "../artifacts/record-findings.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "../artifacts/sealed-artifacts.ts"
import { GATES, type OutcomeKind, STAGES } from "../vocabulary/outcomes.ts"
import { countSchema, enforcementSchema, nonEmptySchema, ordinalSchema } from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"
import { errorAnswerSchema } from "./service-answers.ts"

/** `findings` is absent when the record has none, `ignored` when every member of the body is known. */
const answered = {
  run_id: ordinalSchema,
  duration_ms: countSchema,
  findings: v.exactOptional(recordFindingsSchema),
  ignored: ignoredSchema,
}
const refused = { ok: v.literal(false), ...answered, error: nonEmptySchema }
/** Of every run that a gate refused; a failed stage has none. */
const explained = { ...refused, explanation: explanationSchema }
const halted = { ...explained, partial_manifest: partialManifestSchema }

/** Status 200. */
export const okAnswerSchema = v.strictObject({
  ok: v.literal(true),
  ...answered,
  /** Both of a run that was observed and not enforced, and of no other. */
  enforcement: v.exactOptional(enforcementSchema),
  outcome_kind: v.exactOptional(v.literal("ok")),
  manifest: manifestSchema,
  allow_token: allowTokenSchema,
})

export const denyAnswerSchema = v.strictObject({
  ...halted,
  error_stage: v.literal("PEPG"),
  deny_receipt: RECEIPT_SCHEMAS.deny_receipt,
})

export const ccvAnswerSchema = v.strictObject({
  ...halted,
  error_stage: v.literal("CCV"),
  ccv_halt_receipt: RECEIPT_SCHEMAS.ccv_halt_receipt,
})

export const maccAnswerSchema = v.strictObject({
  ...halted,
  error_stage: v.literal("MACC"),
  macc_halt_receipt: RECEIPT_SCHEMAS.macc_halt_receipt,
})

export const aivpT4AnswerSchema = v.strictObject({
  ...halted,
  error_stage: v.literal("AIVP_T4"),
  aivp_t4_halt_receipt: RECEIPT_SCHEMAS.aivp_t4_halt_receipt,
})

export const gapAnswerSchema = v.strictObject({
  ...explained,
  error_stage: v.literal("PEPG_ADMISSION"),
  attestation_gap_receipt: RECEIPT_SCHEMAS.attestation_gap_receipt,
})

/** Status 422: a denied, halted or not admitted run with its receipt. */
export const refusedAnswerSchema = v.union([
  denyAnswerSchema,
  ccvAnswerSchema,
  maccAnswerSchema,
  aivpT4AnswerSchema,
  gapAnswerSchema,
])

/** Status 500: the run failed in a stage; it is recorded and no artifact was sealed. */
export const stageErrorAnswerSchema = v.strictObject({
  ...refused,
  error_stage: v.picklist([...STAGES, ...GATES]),
})

/** Status 500: a run that failed in a stage, or a fault of the server. */
export const failedAnswerSchema = v.union([stageErrorAnswerSchema, errorAnswerSchema])

/** A run that was observed: its answer is that of enforcement, but `ok` is true and nothing was stopped. */
const observed = <const Kind extends OutcomeKind, const Members extends v.ObjectEntries>(
  kind: Kind,
  { entries }: v.StrictObjectSchema<Members, undefined>,
) =>
  v.strictObject({
    ...entries,
    ok: v.literal(true),
    enforcement: enforcementSchema,
    outcome_kind: v.literal(kind),
  })

/** One for each outcome that enforcement answers with 422 or 500. */
export const OBSERVED_ANSWERS = {
  pepg_deny: observed("pepg_deny", denyAnswerSchema),
  ccv_halt: observed("ccv_halt", ccvAnswerSchema),
  macc_halt: observed("macc_halt", maccAnswerSchema),
  aivp_t4_halt: observed("aivp_t4_halt", aivpT4AnswerSchema),
  attestation_gap: observed("attestation_gap", gapAnswerSchema),
  stage_error: observed("stage_error", stageErrorAnswerSchema),
}

/** Status 200: a run that would have been refused, or that failed, and was only observed. */
export const observedAnswerSchema = v.union([
  OBSERVED_ANSWERS.pepg_deny,
  OBSERVED_ANSWERS.ccv_halt,
  OBSERVED_ANSWERS.macc_halt,
  OBSERVED_ANSWERS.aivp_t4_halt,
  OBSERVED_ANSWERS.attestation_gap,
  OBSERVED_ANSWERS.stage_error,
])

/** Status 200 of `POST /execute` and of the close of a permit. */
export const executeAnswerSchema = v.union([okAnswerSchema, observedAnswerSchema])
