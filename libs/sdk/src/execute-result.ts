/** The outcome of `POST /execute`: a value for every state in which a run can end. docs/api.md, "POST /execute". */
import type { JsonObject } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { OUTCOME_KINDS, OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { ENFORCEMENT, type Shape } from "@runseal/core/vocabulary/scalars"
import {
  aivpT4AnswerSchema,
  ccvAnswerSchema,
  denyAnswerSchema,
  gapAnswerSchema,
  maccAnswerSchema,
  OBSERVED_ANSWERS,
  okAnswerSchema,
  stageErrorAnswerSchema,
} from "@runseal/core/wire/execute-answers"
import * as v from "valibot"
import { ProtocolError } from "./client-errors.ts"
import type { Reply } from "./exchange.ts"
import { lenient } from "./lenient.ts"
import { checkShape, objectOrNothing, okObject, refusal } from "./read-reply.ts"

/** The service's answer with the outcome that it reports. */
const ended = <const Kind extends OutcomeKind, const Members extends v.ObjectEntries>(
  kind: Kind,
  answer: v.StrictObjectSchema<Members, undefined>,
) => v.strictObject({ outcome_kind: v.literal(kind), ...answer.entries })

const RESULTS = {
  ok: v.strictObject({ ...okAnswerSchema.entries, outcome_kind: v.literal("ok") }),
  pepg_deny: ended("pepg_deny", denyAnswerSchema),
  ccv_halt: ended("ccv_halt", ccvAnswerSchema),
  macc_halt: ended("macc_halt", maccAnswerSchema),
  aivp_t4_halt: ended("aivp_t4_halt", aivpT4AnswerSchema),
  attestation_gap: ended("attestation_gap", gapAnswerSchema),
  stage_error: ended("stage_error", stageErrorAnswerSchema),
}

const OBSERVED = { ...OBSERVED_ANSWERS, ok: RESULTS.ok }

/**
 * The service's answer with its outcome; `outcome_kind` decides which members there are. `ok` says whether to go on: it is true of an ok
 * run, and of every run that was observed and not enforced, which has `enforcement`.
 */
export type ExecuteResult = Shape<(typeof RESULTS | typeof OBSERVED)[OutcomeKind]>

/** The service recorded a run that did not end ok; `outcome_kind` decides which receipt there is. */
export type RefusedRun = Exclude<ExecuteResult, { readonly outcome_kind: "ok" }>

/** @throws HttpStatusError when the reply reports no outcome, ProtocolError when an outcome has another shape than ours */
export function readExecuteResult(reply: Reply): ExecuteResult {
  const answer = reply.status === 200 ? okObject(reply).document : objectOrNothing(reply)
  const isObserved = reply.status === 200 && textMember(answer, "enforcement") === ENFORCEMENT
  const outcome_kind = isObserved ? observedOutcome(answer) : outcomeOf(reply.status, answer)
  if (outcome_kind === undefined) throw refusal(reply)
  const result: v.GenericSchema<unknown, ExecuteResult> = (isObserved ? OBSERVED : RESULTS)[outcome_kind]
  return checkShape(lenient(result), { ...answer, outcome_kind })
}

/** @throws ProtocolError for an outcome that this release does not know */
function observedOutcome(answer: JsonObject | undefined): OutcomeKind {
  const named = textMember(answer, "outcome_kind")
  const found = OUTCOME_KINDS.find(kind => kind === named)
  if (found === undefined) throw new ProtocolError("it observed a run of an unknown outcome")
  return found
}

/** The status decides first: `AIVP_T4` is a halted run under 422 and a failed one under 500. A failure without a run is no outcome. */
function outcomeOf(status: number, answer: JsonObject | undefined): OutcomeKind | undefined {
  const stage = textMember(answer, "error_stage")
  return OUTCOME_KINDS.find(kind => {
    const { http_status, error_stage } = OUTCOMES[kind]
    if (http_status !== status) return false
    if (kind === "stage_error") return answer?.run_id !== undefined
    return kind === "ok" || error_stage === stage
  })
}
