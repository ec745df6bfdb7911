/**
 * Events: what the service says to other systems of a sealed document, one row a kind of document. They hold ids, codes and hashes, and no declared text.
 * A kind without a row has no events. docs/events.md.
 */
import type { WantedMembers } from "@runseal/canonical"
import * as v from "valibot"
import { permitEndSchema } from "../artifacts/permit-end.ts"
import { ACT_FAILURE_CODES, ACT_OUTCOMES } from "../artifacts/permit-sections.ts"
import { OUTCOME_KINDS } from "../vocabulary/outcomes.ts"
import { DEPLOYMENT_TENANT, type Enforcement, enforcementSchema } from "../vocabulary/scalars.ts"
import { approvalPage } from "../wire/approval-answers.ts"
import type { RunEventData, SealedEvent } from "../wire/event-messages.ts"
import {
  type Asked,
  type Decision,
  type EventAccount,
  type EventRow,
  eventRow,
  type RunEvent,
  type SentEvent,
  type StoredDocument,
  type Weight,
} from "./sent-event.ts"

const opt = v.optional
const text = v.string()
const mark = { enforcement: opt(enforcementSchema) }
const payload = v.object({ payload_hash: text })
const policy = v.object({ policy_hash: text, fired_rule_id: text, decision_reason_code: text })
const approvals = v.object({ approval_id: text })
const receipt = v.object({
  decision_reason_code: opt(text),
  halt_reason_code: opt(text),
})

type EventOf<Type extends SealedEvent["type"]> = Extract<SealedEvent, { type: Type }>

const recordSchema = v.object({
  run: v.object({
    run_id: v.number(),
    outcome_kind: v.picklist(OUTCOME_KINDS),
    error_stage: opt(text),
    tenant_id: text,
    program_id: text,
    route_id: text,
    execution_region: text,
    created_at: text,
    duration_us: v.number(),
  }),
  sections: v.object({
    payload,
    envelope: opt(v.object(mark)),
    policy_evaluation: opt(policy),
    approvals: opt(approvals),
    permit: opt(
      v.object({
        permit_id: text,
        outcome: v.picklist(ACT_OUTCOMES),
        code: opt(v.picklist(ACT_FAILURE_CODES)),
        closed_clock: text,
      }),
    ),
  }),
  deny_receipt: opt(receipt),
  ccv_halt_receipt: opt(receipt),
  macc_halt_receipt: opt(receipt),
  aivp_t4_halt_receipt: opt(receipt),
  attestation_gap_receipt: opt(receipt),
  bundle_hash: text,
})
type StoredRecord = v.InferOutput<typeof recordSchema>

/** Where those members are. What callers declare is in none of them. */
const RECORD_MEMBERS: WantedMembers = {
  run: true,
  sections: { payload: true, envelope: true, policy_evaluation: true, approvals: true, permit: true },
  deny_receipt: true,
  ccv_halt_receipt: true,
  macc_halt_receipt: true,
  aivp_t4_halt_receipt: true,
  attestation_gap_receipt: true,
  bundle_hash: true,
}

const RECORD = eventRow<StoredRecord, RunEvent>({
  document: "bundle",
  members: RECORD_MEMBERS,
  stored: recordSchema,
  types: ["run.sealed", "permit.closed"],
  event: (record, place, document) => {
    const { permit } = record.sections
    return {
      ...place.event,
      type: permit === undefined ? "run.sealed" : "permit.closed",
      timestamp: permit?.closed_clock ?? record.run.created_at,
      data: { ...place.data, ...runData(record, document) },
    }
  },
  account: event =>
    event.type === "run.sealed"
      ? { ...runAccount(event, "Run"), activity: "create", operation: "execute" }
      : { ...runAccount(event, "Permitted run"), activity: "update", operation: "permit.close" },
})

const requestSchema = v.object({
  tenant_id: text,
  approval_id: text,
  expires_at: text,
  sections: v.object({
    payload,
    envelope: v.object({ program_id: text, route_id: text, admission_clock: text }),
    policy_evaluation: policy,
  }),
  request_hash: text,
})

const REQUEST = eventRow<v.InferOutput<typeof requestSchema>, EventOf<"approval.requested">>({
  document: "approval_request",
  members: {
    tenant_id: true,
    approval_id: true,
    expires_at: true,
    sections: { payload: true, envelope: true, policy_evaluation: true },
    request_hash: true,
  },
  stored: requestSchema,
  types: ["approval.requested"],
  event: (request, place) => {
    const { payload, envelope, policy_evaluation } = request.sections
    const data = {
      ...place.data,
      tenant_id: request.tenant_id,
      approval_id: request.approval_id,
      program_id: envelope.program_id,
      route_id: envelope.route_id,
      payload_hash: payload.payload_hash,
      ...decision(policy_evaluation),
      expires_at: request.expires_at,
      address: approvalPage(request.approval_id),
      request_hash: request.request_hash,
    }
    return { ...place.event, type: "approval.requested", timestamp: envelope.admission_clock, data }
  },
  account: ({ data }) => ({
    ...askedFor(data),
    weight: "low",
    sentence: "Approval of people requested",
    hash: data.request_hash,
    activity: "create",
    operation: "approval.request",
    failed: false,
  }),
})

const openingSchema = v.object({
  tenant_id: text,
  permit_id: text,
  expires_at: text,
  close_by: text,
  sections: v.object({
    payload,
    envelope: v.object({ ...mark, program_id: text, route_id: text, admission_clock: text }),
    policy_evaluation: policy,
    approvals: opt(approvals),
  }),
  reservation: v.object({ tokens: v.number() }),
  opening_hash: text,
})

const OPENING = eventRow<v.InferOutput<typeof openingSchema>, EventOf<"permit.opened">>({
  document: "opening",
  members: {
    tenant_id: true,
    permit_id: true,
    expires_at: true,
    close_by: true,
    sections: { payload: true, envelope: true, policy_evaluation: true, approvals: true },
    reservation: true,
    opening_hash: true,
  },
  stored: openingSchema,
  types: ["permit.opened"],
  event: (opening, place) => {
    const { payload, envelope, policy_evaluation } = opening.sections
    const data = {
      ...place.data,
      tenant_id: opening.tenant_id,
      permit_id: opening.permit_id,
      ...endedApproval(opening.sections),
      ...marked(envelope),
      program_id: envelope.program_id,
      route_id: envelope.route_id,
      payload_hash: payload.payload_hash,
      ...decision(policy_evaluation),
      reserved_tokens: opening.reservation.tokens,
      expires_at: opening.expires_at,
      close_by: opening.close_by,
      opening_hash: opening.opening_hash,
    }
    return { ...place.event, type: "permit.opened", timestamp: envelope.admission_clock, data }
  },
  account: ({ data }) => ({
    ...askedFor(data),
    weight: "informational",
    sentence: "Permit opened",
    hash: data.opening_hash,
    activity: "create",
    operation: "permit.open",
    failed: false,
    decision: "allowed",
  }),
})

const endSchema = v.object(
  v.pick(permitEndSchema, ["tenant_id", "reason", "end_clock", "openings", "end_hash"]).entries,
)

const PERMIT_END = eventRow<v.InferOutput<typeof endSchema>, EventOf<"permit.ended">>({
  document: "permit_end",
  stored: endSchema,
  types: ["permit.ended"],
  event: ({ tenant_id, reason, end_clock, openings, end_hash }, place) => {
    const permits = openings.map(({ permit_id, ...ended }) =>
      "released" in ended
        ? { permit_id, released_tokens: ended.released }
        : { permit_id, charged_tokens: ended.charged, redeemed_at: ended.redemption.redeemed_clock },
    )
    const data = { ...place.data, tenant_id, reason, permits, end_hash }
    return { ...place.event, type: "permit.ended", timestamp: end_clock, data }
  },
  account: ({ data: { tenant_id, reason, permits, end_hash } }) => ({
    weight: "low",
    sentence: `Permits ended without a close: ${reason}`,
    hash: end_hash,
    activity: "update",
    operation: "permit.end",
    failed: true,
    who: { name: tenant_id, role: "tenant" },
    reason,
    resources: permits.map(({ permit_id }) => ({ type: "permit", uid: permit_id })),
  }),
})

const adminEventSchema = v.object({
  tenant_id: v.literal(DEPLOYMENT_TENANT),
  seal_clock: text,
  who: v.object({ actor: text }),
  action: text,
  subject: v.object({ kind: text, id: text }),
  event_hash: text,
})

const ADMIN_EVENT = eventRow<v.InferOutput<typeof adminEventSchema>, EventOf<"admin.event">>({
  document: "admin_event",
  stored: adminEventSchema,
  types: ["admin.event"],
  event: ({ tenant_id, seal_clock, who, action, subject, event_hash }, place) => {
    const data = { ...place.data, tenant_id, actor: who.actor, action, subject, event_hash }
    return { ...place.event, type: "admin.event", timestamp: seal_clock, data }
  },
  account: ({ data: { actor, action, subject, event_hash } }) => ({
    weight: "low",
    sentence: `Administrator: ${action}`,
    hash: event_hash,
    activity: "other",
    operation: action,
    failed: false,
    who: { name: actor, role: "administrator" },
    resources: [{ type: subject.kind, uid: subject.id }],
  }),
})

/** One row a kind of document that has events. */
export const EVENTS: readonly EventRow[] = [RECORD, REQUEST, OPENING, PERMIT_END, ADMIN_EVENT]

/** What every form says of an event. @param rows of which one has its type */
export function accountOf(event: SentEvent, rows: readonly EventRow[] = EVENTS): EventAccount {
  if (!("position" in event)) return TEST
  for (const row of rows) {
    const account = row.accountOf(event)
    if (account !== undefined) return account
  }
  throw new Error("an event has the type of a row")
}

const TEST: EventAccount = {
  weight: "informational",
  sentence: "Test of a destination",
  activity: "other",
  operation: "test",
  failed: false,
  who: { name: "runseal", role: "service" },
}

type RunFacts = Omit<RunEventData, "key_id" | "tenant_ordinal" | "leaf_digest">

function runData(record: StoredRecord, { findings, manifest_hash }: StoredDocument): RunFacts {
  const { run, sections, bundle_hash } = record
  const { payload, envelope, policy_evaluation, permit } = sections
  const { run_id, tenant_id, outcome_kind, error_stage, program_id, route_id, execution_region, duration_us } = run
  const halted = haltCode(record)
  return {
    tenant_id,
    run_id,
    ...marked(envelope),
    outcome: outcome_kind,
    ...(error_stage === undefined ? {} : { error_stage }),
    program_id,
    route_id,
    payload_hash: payload.payload_hash,
    ...(policy_evaluation === undefined ? {} : decision(policy_evaluation)),
    ...(halted === undefined ? {} : { reason_code: halted }),
    execution_region,
    duration_us,
    ...(findings === "" ? {} : { findings: findings.split(" ").map(findingOf) }),
    ...(manifest_hash === "" ? {} : { manifest_hash }),
    bundle_hash,
    ...(permit === undefined ? endedApproval(sections) : {}),
    ...(permit === undefined
      ? {}
      : {
          permit_id: permit.permit_id,
          act_outcome: permit.outcome,
          ...(permit.code === undefined ? {} : { act_code: permit.code }),
        }),
  }
}

/** The request for an approval that a document ended. */
const endedApproval = ({ approvals: given }: { readonly approvals?: { readonly approval_id: string } | undefined }) =>
  given === undefined ? {} : { approval_id: given.approval_id }

const marked = (envelope: { readonly enforcement?: Enforcement | undefined } | undefined) =>
  envelope?.enforcement === undefined ? {} : { enforcement: envelope.enforcement }

/** What refused the run after its policy had decided, or before. */
function haltCode(record: StoredRecord): string | undefined {
  const { deny_receipt, ccv_halt_receipt, macc_halt_receipt, aivp_t4_halt_receipt, attestation_gap_receipt } = record
  const found = deny_receipt ?? ccv_halt_receipt ?? macc_halt_receipt ?? aivp_t4_halt_receipt ?? attestation_gap_receipt
  return found?.halt_reason_code ?? found?.decision_reason_code
}

const decision = ({ policy_hash, fired_rule_id, decision_reason_code }: v.InferOutput<typeof policy>) => ({
  policy_hash,
  ...(fired_rule_id === "" ? {} : { rule_id: fired_rule_id }),
  reason_code: decision_reason_code,
})

/** `CODE:count`, as the column of a run holds it. */
function findingOf(finding: string): { readonly code: string; readonly count: number } {
  const [code = "", count = ""] = finding.split(":")
  return { code, count: Number(count) }
}

function runAccount({ data }: RunEvent, what: string): Omit<EventAccount, "activity" | "operation"> {
  const { run_id, outcome, act_outcome, bundle_hash } = data
  const decision = decisionOf(data)
  const observed = decision === "observed" ? " (observed: nothing was stopped)" : ""
  return {
    ...askedFor(data),
    weight: weightOf(data),
    sentence: `${what} ${run_id} ended as ${outcome}${observed}`,
    hash: bundle_hash,
    failed: outcome !== "ok" || act_outcome === "failed",
    ...(decision === undefined ? {} : { decision }),
    outcome,
  }
}

const askedFor = (asked: Asked): Pick<EventAccount, "who" | "reason" | "resources" | "asked"> => ({
  who: { name: asked.tenant_id, role: "tenant" },
  ...(asked.reason_code === undefined ? {} : { reason: asked.reason_code }),
  resources: [{ type: "route", uid: asked.route_id }],
  asked,
})

function decisionOf({ outcome, enforcement }: RunEvent["data"]): Decision | undefined {
  if (outcome === "stage_error") return undefined
  if (outcome === "ok") return "allowed"
  return enforcement === undefined ? "denied" : "observed"
}

function weightOf({ outcome, act_outcome }: RunEvent["data"]): Weight {
  if (outcome === "stage_error") return "high"
  if (outcome !== "ok") return "medium"
  return act_outcome === "failed" ? "low" : "informational"
}
