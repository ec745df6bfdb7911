/**
 * A run statement: an in-toto Statement v1 by which the service's key says of one sealed record what other people's tools ask
 * for. Its subject is the record's `bundle_hash`; the record stays the evidence. docs/formats.md section 14.
 */
import { base64Schema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOME_KINDS } from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  decimalSchema,
  enforcementSchema,
  nonEmptySchema,
  ordinalSchema,
  regionSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import {
  COMPLETE_RECORD_LEAF_VERSION,
  IN_TOTO_STATEMENT_TYPE,
  PRE_ANCHOR_LEAF_VERSIONS,
  RECEIPT_LEAF_VERSIONS,
  RUN_STATEMENT_PREDICATE_TYPE,
} from "../vocabulary/versions.ts"

/** Outcomes of attested runs; the record of a stage_error is no attestation. */
type AttestedKind = Exclude<OutcomeKind, "stage_error">
const ATTESTED_KINDS: readonly AttestedKind[] = OUTCOME_KINDS.filter(kind => kind !== "stage_error")

const LOG_ID_BYTES = 32

/** The log entry of one anchor of the record. */
const placeSchema = <const Versions extends readonly string[]>(versions: Versions) =>
  v.strictObject({
    leaf_version: v.picklist(versions),
    /** Base64 of the log id, as the entry spells it. */
    log_id: base64Schema(LOG_ID_BYTES, LOG_ID_BYTES),
    log_index: decimalSchema,
    /** Unix seconds, decimal. */
    integrated_time: decimalSchema,
  })

const predicateSchema = v.strictObject({
  run_id: ordinalSchema,
  outcome_kind: v.picklist(ATTESTED_KINDS),
  enforcement: v.exactOptional(enforcementSchema),
  tenant_id: tenantIdSchema,
  program_id: sha256Schema,
  route_id: routeIdSchema,
  execution_region: regionSchema,
  created_at: clockSchema,
  payload_hash: sha256Schema,
  ai_output_hash: v.exactOptional(sha256Schema),
  policy_hash: v.exactOptional(sha256Schema),
  /** Of an ok run, as its complete-record leaf has it. */
  manifest_hash: v.exactOptional(sha256Schema),
  /** Of a refused run, as its complete-record leaf has it. */
  receipt_hash: v.exactOptional(sha256Schema),
  anchors: v.strictObject({
    pre_anchor: v.exactOptional(placeSchema(PRE_ANCHOR_LEAF_VERSIONS)),
    receipt: v.exactOptional(placeSchema(RECEIPT_LEAF_VERSIONS)),
    complete_record: placeSchema([COMPLETE_RECORD_LEAF_VERSION]),
  }),
})
/** What the record says of its run. Absent facts are absent keys. */
export type RunPredicate = Shape<typeof predicateSchema>

export const runStatementSchema = v.strictObject({
  _type: v.literal(IN_TOTO_STATEMENT_TYPE),
  /** Exactly one: the record's `bundle_hash`, named by the path of its run. */
  subject: v.pipe(
    v.array(v.strictObject({ name: nonEmptySchema, digest: v.strictObject({ sha256: sha256Schema }) })),
    v.length(1, "must be one subject"),
  ),
  predicateType: v.literal(RUN_STATEMENT_PREDICATE_TYPE),
  predicate: predicateSchema,
})
export type RunStatement = Shape<typeof runStatementSchema>

/** The subject's name of a run's record: the path under which its service has it. */
export const subjectName = (runId: number): string => `runs/${runId}`
