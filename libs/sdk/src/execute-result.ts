/** The outcome of `POST /execute`: a value for every state a run can end in. docs/api.md, "POST /execute". */
import type { JsonObject } from "@runseal/canonical"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "@runseal/core/artifacts/sealed-artifacts"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { GATES, OUTCOME_KINDS, OUTCOMES, type OutcomeKind, STAGES } from "@runseal/core/vocabulary/outcomes"
import { countSchema, ordinalSchema } from "@runseal/core/vocabulary/scalars"
import type {
  AivpT4Answer,
  CcvAnswer,
  DenyAnswer,
  GapAnswer,
  MaccAnswer,
  OkAnswer,
  StageErrorAnswer,
} from "@runseal/core/wire/execute"
import * as v from "valibot"
import { checkShape, objectOrNothing, okObject, refusal } from "./answer.ts"
import type { Reply } from "./exchange.ts"

type Outcome<Kind extends OutcomeKind> = { readonly outcome_kind: Kind }

/** The service's answer, with the state it stands for; `outcome_kind` tells which members there are. */
export type ExecuteResult =
  | (Outcome<"ok"> & OkAnswer)
  | (Outcome<"pepg_deny"> & DenyAnswer)
  | (Outcome<"ccv_halt"> & CcvAnswer)
  | (Outcome<"macc_halt"> & MaccAnswer)
  | (Outcome<"aivp_t4_halt"> & AivpT4Answer)
  | (Outcome<"attestation_gap"> & GapAnswer)
  | (Outcome<"stage_error"> & StageErrorAnswer)

const base = { run_id: ordinalSchema, duration_ms: countSchema }
const refused = { ok: v.literal(false), ...base, error: v.string() }
const halted = { ...refused, partial_manifest: partialManifestSchema }

const executeResultSchema: v.GenericSchema<unknown, ExecuteResult> = v.variant("outcome_kind", [
  v.object({
    outcome_kind: v.literal("ok"),
    ok: v.literal(true),
    ...base,
    manifest: manifestSchema,
    allow_token: allowTokenSchema,
  }),
  v.object({
    outcome_kind: v.literal("pepg_deny"),
    ...halted,
    error_stage: v.literal("PEPG"),
    deny_receipt: RECEIPT_SCHEMAS.deny_receipt,
  }),
  v.object({
    outcome_kind: v.literal("ccv_halt"),
    ...halted,
    error_stage: v.literal("CCV"),
    ccv_halt_receipt: RECEIPT_SCHEMAS.ccv_halt_receipt,
  }),
  v.object({
    outcome_kind: v.literal("macc_halt"),
    ...halted,
    error_stage: v.literal("MACC"),
    macc_halt_receipt: RECEIPT_SCHEMAS.macc_halt_receipt,
  }),
  v.object({
    outcome_kind: v.literal("aivp_t4_halt"),
    ...halted,
    error_stage: v.literal("AIVP_T4"),
    aivp_t4_halt_receipt: RECEIPT_SCHEMAS.aivp_t4_halt_receipt,
  }),
  v.object({
    outcome_kind: v.literal("attestation_gap"),
    ...refused,
    error_stage: v.literal("PEPG_ADMISSION"),
    attestation_gap_receipt: RECEIPT_SCHEMAS.attestation_gap_receipt,
  }),
  v.object({
    outcome_kind: v.literal("stage_error"),
    ...refused,
    error_stage: v.picklist([...STAGES, ...GATES]),
  }),
])

/** @throws HttpStatusError when the reply is no outcome, ProtocolError when it is one of a shape that is not ours */
export function readExecuteResult(reply: Reply): ExecuteResult {
  const answer = reply.status === 200 ? okObject(reply).document : objectOrNothing(reply)
  const outcome_kind = outcomeOf(reply.status, answer)
  if (outcome_kind === undefined) throw refusal(reply)
  return checkShape(executeResultSchema, { ...answer, outcome_kind })
}

/** The status decides first: `AIVP_T4` halted a run under 422 and failed one under 500. Failures without a run are none. */
function outcomeOf(status: number, answer: JsonObject | undefined): OutcomeKind | undefined {
  const stage = textMember(answer, "error_stage")
  return OUTCOME_KINDS.find(kind => {
    const { http_status, error_stage } = OUTCOMES[kind]
    if (http_status !== status) return false
    if (kind === "stage_error") return answer?.run_id !== undefined
    return kind === "ok" || error_stage === stage
  })
}
