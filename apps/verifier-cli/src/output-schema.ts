/** The JSON Schema of what `--json` prints, made of the tables that the verifier answers from. `verifier json-schema` prints it. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { APPROVAL_OUTCOMES } from "@runseal/core/artifacts/approvals"
import { END_REASONS } from "@runseal/core/artifacts/permit-end"
import { ACT_FAILURE_CODES, ACT_OUTCOMES } from "@runseal/core/artifacts/permit-sections"
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { KINDS } from "@runseal/core/verify/document"
import { FINDING_IDS, LIMITATION_CODES, REPORT_SIGNATURE_ID, VERDICTS } from "@runseal/core/verify/report"
import { CONTEXT_WORDS } from "@runseal/core/vocabulary/decision-codes"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { ENFORCEMENT } from "@runseal/core/vocabulary/scalars"
import { DECIDED_WORDS, EXPECTATION_IDS, PROVEN_WORDS } from "./judgement.ts"
import { AUDIT_CHECKS } from "./log-failure.ts"
import { SCHEMA_VERSION } from "./verify-text.ts"

const TEXT = { type: "string" }
const COUNT = { type: "integer", minimum: 0 }
const YES_OR_NO = { type: "boolean" }
const ANY_EXIT = { enum: [0, 1, 2] }
const EXIT = { enum: [0, 1] }
const DIGITS = { type: "string", pattern: "^[0-9]+$" }

const oneOf = (values: readonly JsonValue[]): JsonObject => ({ enum: [...values] })
const list = (items: JsonObject): JsonObject => ({ type: "array", items })
const mapOf = (values: JsonObject): JsonObject => ({ type: "object", additionalProperties: values })

/** An object of exactly these members; `optional` ones may be absent. */
const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
})

const LIMITATION = object({ code: oneOf(LIMITATION_CODES), sentence: TEXT, strict: YES_OR_NO })
const CHECK_IDS = [...FINDING_IDS, REPORT_SIGNATURE_ID]
const FACTS = [
  "cause",
  "tenant_id",
  "program_id",
  "route_id",
  "policy_hash",
  "payload_hash",
  "ai_output_hash",
  "declared_output_hash",
]
const ANCHOR = object(
  { slot: TEXT, leaf_version: TEXT, log_index: DIGITS, integrated_time: DIGITS },
  { outside_log: TEXT, timestamp_authority: TEXT, late: { const: true } },
)

/** What a document states of a permit. */
const PERMIT = object(
  { permit_id: TEXT, permitted_at: TEXT, log_index: DIGITS, reserved_tokens: COUNT },
  {
    audience: TEXT,
    expires_at: TEXT,
    close_by: TEXT,
    outcome: oneOf(ACT_OUTCOMES),
    code: oneOf(ACT_FAILURE_CODES),
    redeemed_at: TEXT,
    closed_at: TEXT,
    used_tokens: COUNT,
  },
)
/** How a request for an approval ended, and what each person decided. */
const APPROVALS = object({
  approval_id: TEXT,
  request_hash: TEXT,
  requested_at: TEXT,
  expires_at: TEXT,
  outcome: oneOf(APPROVAL_OUTCOMES),
  decisions: list(
    object(
      {
        decision: TEXT,
        person: object({ subject: TEXT }, { issuer: TEXT, name: TEXT }),
        groups: list(TEXT),
        proof: TEXT,
        decided_at: TEXT,
      },
      { key_name: TEXT, comment_hash: TEXT },
    ),
  ),
})
const EVENT = object(
  { actor: TEXT, action: TEXT, subject: TEXT, done_at: TEXT },
  { name: TEXT, issuer: TEXT, person: TEXT },
)
const ENDED = object({
  reason: oneOf(END_REASONS),
  permits: COUNT,
  released_tokens: COUNT,
  redeemed: COUNT,
  charged_tokens: COUNT,
})

/** Why a gate refused a run. */
const EXPLANATION = object(
  { reason: TEXT },
  {
    rule_id: TEXT,
    description: TEXT,
    matched_in: TEXT,
    needed: { anyOf: [list(TEXT), COUNT] },
    present: { anyOf: [list(TEXT), COUNT] },
    missing: list(TEXT),
    read: list(object({ name: TEXT, value: TEXT, word: oneOf(CONTEXT_WORDS) }, { compared: TEXT })),
  },
)

/** What a document states of its run. */
const RUN_FACTS: JsonObject = {
  run_id: COUNT,
  outcome_kind: oneOf(OUTCOME_KINDS),
  facts: object(
    {},
    {
      ...Object.fromEntries(FACTS.map(name => [name, TEXT])),
      enforcement: { const: ENFORCEMENT },
      permit: PERMIT,
      approvals: APPROVALS,
      ended: ENDED,
      event: EVENT,
    },
  ),
  statement: TEXT,
  explanation: EXPLANATION,
}

/** One document. `file` and `line` say which of several it is. */
const DOCUMENT = object(
  {
    schema_version: { const: SCHEMA_VERSION },
    verdict: oneOf(Object.values(VERDICTS)),
    exit_code: EXIT,
    document: oneOf(KINDS.map(({ document }) => document)),
    checks: list(
      object({ id: oneOf(CHECK_IDS), result: oneOf(["pass", "fail", "absent", "withheld"]), message: TEXT }),
    ),
    limitations: list(LIMITATION),
    withheld: list(TEXT),
    anchors: list(ANCHOR),
  },
  {
    file: TEXT,
    line: COUNT,
    first_failure: oneOf([...CHECK_IDS, ...EXPECTATION_IDS, "strict"]),
    not_trusted: { const: true },
    service: TEXT,
    ...RUN_FACTS,
    claims: object({}, RUN_FACTS),
    expectations: list(
      object(
        { id: oneOf(EXPECTATION_IDS), result: oneOf(["pass", "fail"]), message: TEXT },
        { decided: oneOf(DECIDED_WORDS), proven: oneOf(PROVEN_WORDS) },
      ),
    ),
    key_notes: list(object({ role: oneOf(["service", "log"]), key_id: TEXT, code: TEXT, sentence: TEXT })),
    evidence_summary: mapOf(TEXT),
  },
)

/** One of several that is no document. */
const UNREADABLE = object(
  { schema_version: { const: SCHEMA_VERSION }, exit_code: { const: 2 }, unreadable: TEXT },
  { file: TEXT, line: COUNT },
)

/** With `--decided-by`: how many documents were decided again, by the word for it. */
const DECIDED = object({}, Object.fromEntries(DECIDED_WORDS.map(word => [word, COUNT])))
/** With `--approver-keys`: how many documents passkeys prove, by the word for it. */
const PROVEN = object({}, Object.fromEntries(PROVEN_WORDS.map(word => [word, COUNT])))

/** The last object of several. */
const SUMMARY = object(
  {
    schema_version: { const: SCHEMA_VERSION },
    documents: COUNT,
    passed: COUNT,
    exit_code: ANY_EXIT,
    verdicts: mapOf(COUNT),
    outcomes: mapOf(COUNT),
  },
  { decided_again: DECIDED, proven_by_passkeys: PROVEN },
)

const PROBLEM = object({ sentence: TEXT }, { line: COUNT, tenant_ordinal: COUNT, run_id: COUNT })
const NUMBER = { type: "integer" }
/** A budget window with `--budgets`. */
const WINDOW = object(
  {
    window_seconds: COUNT,
    window_start: TEXT,
    movements: COUNT,
    listed: list(
      object({
        kind: oneOf(["charge", "reserve", "settle", "release"]),
        ordinal: COUNT,
        tokens: NUMBER,
        total_after: COUNT,
        by: TEXT,
      }),
    ),
    holes: list(object({ after_ordinal: COUNT, movements: COUNT, tokens: NUMBER })),
  },
  { exported: object({ last_ordinal: COUNT, total: COUNT }) },
)
/** A policy that decided documents of an export, or an admin event that loaded one: in the order of the file. */
const POLICY_IN_TIME = object({ clock: TEXT }, { policy_hash: TEXT, policy_id: TEXT, event: TEXT, actor: TEXT })
/** An export with `--complete`. */
const EXPORT = object(
  {
    schema_version: { const: SCHEMA_VERSION },
    verdict: oneOf(Object.values(COMPLETENESS_VERDICTS)),
    exit_code: EXIT,
    records: COUNT,
    openings: COUNT,
    ends: COUNT,
    open_permits: COUNT,
    unreported_acts: COUNT,
    documents_outside_time: COUNT,
    problems: list(PROBLEM),
    problem_count: COUNT,
    notes: list(PROBLEM),
    note_count: COUNT,
    limitations: list(LIMITATION),
  },
  {
    not_trusted: { const: true },
    service: TEXT,
    events: COUNT,
    requests: COUNT,
    open_requests: COUNT,
    decided_again: DECIDED,
    policies: list(POLICY_IN_TIME),
    not_decided_again: list(PROBLEM),
    proven_by_passkeys: PROVEN,
    not_proven_by_passkeys: list(PROBLEM),
    refused: list(LIMITATION),
    tenant_id: TEXT,
    export_clock: TEXT,
    from: TEXT,
    to: TEXT,
    first_ordinal: COUNT,
    last_ordinal: COUNT,
    previous_record: TEXT,
    last_record: TEXT,
    head_ordinal: COUNT,
    head: TEXT,
    counts: object(
      { records: COUNT, openings: COUNT, ends: COUNT, open_permits: COUNT },
      { events: COUNT, requests: COUNT },
    ),
    windows: list(WINDOW),
    log_index: DIGITS,
    integrated_time: DIGITS,
  },
)

/** `log audit`. */
const AUDIT = object(
  {
    schema_version: { const: SCHEMA_VERSION },
    verdict: oneOf(["LOG VERIFIED", "LOG EXTENSION VERIFIED", "FAILED"]),
    exit_code: EXIT,
    limitations: list(TEXT),
  },
  {
    first_failure: oneOf(AUDIT_CHECKS),
    message: TEXT,
    service: TEXT,
    origin: TEXT,
    tree_size: COUNT,
    root_hash: TEXT,
    checkpoint: TEXT,
    witnessed: object({
      tree_size: COUNT,
      checkpoint: TEXT,
      witnesses: COUNT,
      needed: COUNT,
      cosigned: list(object({ witness: TEXT, time: COUNT })),
    }),
    rebuilt_from: COUNT,
    checkpoints_seen_before: COUNT,
    contradicts: object({ seen_at: TEXT, checkpoint: TEXT }),
  },
)

/** Of every object that `--json` prints. */
export const JSON_SCHEMA: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: `urn:runseal:verifier-json:v${SCHEMA_VERSION}`,
  title: "An object that verifier --json prints",
  $defs: { document: DOCUMENT, unreadable: UNREADABLE, summary: SUMMARY, export: EXPORT, audit: AUDIT },
  anyOf: ["document", "unreadable", "summary", "export", "audit"].map(name => ({ $ref: `#/$defs/${name}` })),
}
