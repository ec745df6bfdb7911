/** Events: what the service tells other systems of a sealed document. They hold ids, codes and hashes, and no declared text. docs/events.md. */

import { parseStrictJson } from "@runseal/canonical"
import { permitEndSchema } from "@runseal/core/artifacts/permit-end"
import { ACT_FAILURE_CODES, ACT_OUTCOMES } from "@runseal/core/artifacts/permit-sections"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { DEPLOYMENT_TENANT, type Enforcement, enforcementSchema } from "@runseal/core/vocabulary/scalars"
import { approvalPage } from "@runseal/core/wire/approval-answers"
import type { RunEventData, SealedEvent } from "@runseal/core/wire/event-messages"
import * as v from "valibot"
import { StoreError } from "../store/driver/store-errors.ts"
import type { StreamDocument } from "../store/tables/stream-reads.ts"

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

/** The members of a stored record that an event shows. The record was verified when it was sealed. */
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

const OPENING_MEMBERS: WantedMembers = {
  tenant_id: true,
  permit_id: true,
  expires_at: true,
  close_by: true,
  sections: { payload: true, envelope: true, policy_evaluation: true, approvals: true },
  reservation: true,
  opening_hash: true,
}

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

const REQUEST_MEMBERS: WantedMembers = {
  tenant_id: true,
  approval_id: true,
  expires_at: true,
  sections: { payload: true, envelope: true, policy_evaluation: true },
  request_hash: true,
}

const endSchema = v.pick(permitEndSchema, ["tenant_id", "reason", "end_clock", "openings", "end_hash"])
const looseEndSchema = v.object(endSchema.entries)

const adminEventSchema = v.object({
  tenant_id: v.literal(DEPLOYMENT_TENANT),
  seal_clock: text,
  who: v.object({ actor: text }),
  action: text,
  subject: v.object({ kind: text, id: text }),
  event_hash: text,
})

/** @throws StoreError "corrupt" for a text that this service has not sealed */
function read<Schema extends v.GenericSchema>(schema: Schema, document: string): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, parseStrictJson(document))
  if (!parsed.success) throw new StoreError("corrupt")
  return parsed.output
}

/** Where a document is, as every event says it. */
type Sealed = Pick<RunEventData, "key_id" | "tenant_ordinal" | "leaf_digest">
/** An event without its place in the log. */
type Content = DistributiveOmit<SealedEvent, "id" | "position">
type DistributiveOmit<Union, Name extends PropertyKey> = Union extends unknown ? Omit<Union, Name> : never

/** What an event says of a document, one row a kind. There are no events of other kinds. */
const EVENTS: Readonly<Record<string, (document: StreamDocument, sealed: Sealed) => Content>> = {
  bundle: (document, sealed) => {
    const record = read(recordSchema, onlyMembers(document.text, RECORD_MEMBERS))
    const { permit } = record.sections
    return {
      type: permit === undefined ? "run.sealed" : "permit.closed",
      timestamp: permit?.closed_clock ?? record.run.created_at,
      data: { ...sealed, ...runData(record, document) },
    }
  },
  approval_request: ({ text }, sealed) => {
    const request = read(requestSchema, onlyMembers(text, REQUEST_MEMBERS))
    const { payload, envelope, policy_evaluation } = request.sections
    const data = {
      ...sealed,
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
    return { type: "approval.requested", timestamp: envelope.admission_clock, data }
  },
  opening: ({ text }, sealed) => {
    const opening = read(openingSchema, onlyMembers(text, OPENING_MEMBERS))
    const { payload, envelope, policy_evaluation } = opening.sections
    const data = {
      ...sealed,
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
    return { type: "permit.opened", timestamp: envelope.admission_clock, data }
  },
  permit_end: ({ text }, sealed) => {
    const { tenant_id, reason, end_clock, openings, end_hash } = read(looseEndSchema, text)
    const permits = openings.map(({ permit_id, ...ended }) =>
      "released" in ended
        ? { permit_id, released_tokens: ended.released }
        : { permit_id, charged_tokens: ended.charged, redeemed_at: ended.redemption.redeemed_clock },
    )
    return { type: "permit.ended", timestamp: end_clock, data: { ...sealed, tenant_id, reason, permits, end_hash } }
  },
  admin_event: ({ text }, sealed) => {
    const { tenant_id, seal_clock, who, action, subject, event_hash } = read(adminEventSchema, text)
    const data = { ...sealed, tenant_id, actor: who.actor, action, subject, event_hash }
    return { type: "admin.event", timestamp: seal_clock, data }
  },
}

/** The events of documents, in their order; none for a kind without a row. @throws StoreError "corrupt" */
export const eventsOf = (documents: readonly StreamDocument[], rows = EVENTS): readonly SealedEvent[] =>
  documents.flatMap(document => {
    const { kind, log_index, leaf_digest, owner, chain_ordinal } = document
    const row = Object.hasOwn(rows, kind) ? rows[kind] : undefined
    if (row === undefined) return []
    const place = { id: `evt_${leaf_digest.slice(0, 32)}`, position: log_index }
    return [{ ...place, ...row(document, { key_id: owner, tenant_ordinal: chain_ordinal, leaf_digest }) }]
  })

type RunFacts = Omit<RunEventData, "key_id" | "tenant_ordinal" | "leaf_digest">

function runData(record: StoredRecord, { findings, manifest_hash }: StreamDocument): RunFacts {
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

// A sealed document without the members that nobody asks for. What a caller declares is up to a mebibyte, and takes hundreds of milliseconds to
// read as values; an event has nothing of it.

/** The members that stay: whole, or of each some members. Their names are ASCII. */
export type WantedMembers = { readonly [name: string]: true | WantedMembers }

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * An object with the wanted members that it has, in linear time.
 * @param text of an object in RFC 8785 form. Of any other text it makes one of which nothing is known
 */
export function onlyMembers(text: string, wanted: WantedMembers): string {
  const members: string[] = []
  let missing = Object.keys(wanted).length
  for (let at = 1; missing > 0 && text.charCodeAt(at) === QUOTE; ) {
    const colon = stringEnd(text, at)
    const end = valueEnd(text, colon + 1)
    const name = text.slice(at + 1, colon - 1)
    const inner = Object.hasOwn(wanted, name) ? wanted[name] : undefined
    if (inner !== undefined) {
      const value = text.slice(colon + 1, end)
      members.push(`"${name}":${inner === true ? value : onlyMembers(value, inner)}`)
      missing -= 1
    }
    at = end + 1
  }
  return `{${members.join(",")}}`
}

/** Where the string ends that begins at a place: behind its closing quote. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((quote - before) % 2 === 1) return quote + 1
  }
  return text.length
}

/** Where the value ends that begins at a place: at the comma or the bracket behind it. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (depth === 0 && (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET)) return at
    if (code === QUOTE) at = stringEnd(text, at)
    else {
      if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
      if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1
      at += 1
    }
  }
  return at
}
