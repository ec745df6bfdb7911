/** What needs somebody's attention now. docs/api.md, "What needs attention". Nothing in it is well: what is well is left out. */
import * as v from "valibot"
import { approvalIdSchema } from "../artifacts/approvals.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  routeIdSchema,
  type Shape,
} from "../vocabulary/scalars.ts"
import { DELIVERY_FAULTS } from "./delivery-messages.ts"
import { OUTSIDE_FAULTS, WITNESS_FAULTS } from "./log-answers.ts"
import { UNWITNESSED_REASONS } from "./log-troubles.ts"

const opt = v.exactOptional

/** Items of a kind that are shown, the most urgent first. */
export const ATTENTION_ITEMS_MAX = 5
/** Permits and requests for an approval are counted up to this number. */
export const ATTENTION_COUNT_MAX = 1000
/** Longest wait of one request, in seconds. */
export const ATTENTION_WAIT_MAX = 20
/** A window is nearly full from this share of its cap on. */
export const NEAR_SHARE = 0.8
/** A rule denies far more often when the last day has so many times the denials of an average day of the week before, and at least so many. */
export const DENYING_TIMES = 10
export const DENYING_LEAST = 10

const several = <Item extends v.GenericSchema>(item: Item) =>
  opt(v.strictObject({ count: ordinalSchema, first: v.pipe(v.array(item), v.maxLength(ATTENTION_ITEMS_MAX)) }))

const budget = v.strictObject({
  /** 0 = open mode. */
  key_id: countSchema,
  name: nonEmptySchema,
  /** Tokens charged and reserved in the window of now. */
  total: countSchema,
  cap: countSchema,
  ends_at: clockSchema,
})
const permit = v.strictObject({
  permit_id: permitIdSchema,
  key_id: countSchema,
  route_id: routeIdSchema,
  close_by: clockSchema,
  /** Whether the act was started. */
  redeemed: v.boolean(),
})
const approval = v.strictObject({ approval_id: approvalIdSchema, route_id: routeIdSchema, expires_at: clockSchema })

const found = {
  /** Witnesses that signed another history of the log. */
  contradicting_witnesses: several(v.strictObject({ name: nonEmptySchema })),
  /** No record can be sealed now. */
  not_ready: several(v.strictObject({ error: nonEmptySchema })),
  /** By how many seconds the clock of this machine is behind the log, or behind what a witness signed. */
  clock_behind: several(v.strictObject({ by: nonEmptySchema, seconds: ordinalSchema })),
  /** That the caller may decide on and has not. */
  approvals_for_you: several(approval),
  failing_receivers: several(
    v.strictObject({
      id: ordinalSchema,
      name: v.string(),
      fault: v.picklist(DELIVERY_FAULTS),
      failing_since: clockSchema,
      backlog: countSchema,
    }),
  ),
  full_budgets: several(budget),
  /** Ended in the last day, without a report of the act. */
  unreported_permits: several(permit),
  /** Open, with less than a quarter of their time left. */
  ending_permits: several(permit),
  denying_rules: several(
    v.strictObject({
      rule_id: nonEmptySchema,
      /** Runs that it denied in the last day. */
      runs: ordinalSchema,
      /** In the seven days before. */
      runs_before: countSchema,
    }),
  ),
  /** Of all people, in the whole deployment. */
  waiting_approvals: several(approval),
  /** Of other people, for an administrator who may confirm them. */
  waiting_passkeys: several(v.strictObject({ subject: nonEmptySchema })),
  /** Why the log is not witnessed as it should be. */
  not_witnessed: several(
    v.strictObject({
      why: v.picklist(UNWITNESSED_REASONS),
      /** Of a witness that was removed. */
      name: opt(nonEmptySchema),
      /** Of `too_few`: how many have to sign. */
      needed: opt(ordinalSchema),
    }),
  ),
  silent_witnesses: several(
    v.strictObject({
      name: nonEmptySchema,
      cosigned_at: opt(clockSchema),
      fault: opt(v.picklist(WITNESS_FAULTS)),
    }),
  ),
  failing_outside_logs: several(
    v.strictObject({ host: nonEmptySchema, fault: v.picklist(OUTSIDE_FAULTS), failing_seconds: countSchema }),
  ),
  /** An entry has waited for them for more than ten minutes, though nothing failed. */
  late_outside_logs: several(v.strictObject({ host: nonEmptySchema, seconds: ordinalSchema })),
  near_budgets: several(budget),
}
/** The most urgent kind first. */
export const ATTENTION_KINDS = [
  "contradicting_witnesses",
  "not_ready",
  "clock_behind",
  "approvals_for_you",
  "failing_receivers",
  "full_budgets",
  "unreported_permits",
  "ending_permits",
  "denying_rules",
  "waiting_approvals",
  "waiting_passkeys",
  "not_witnessed",
  "silent_witnesses",
  "failing_outside_logs",
  "late_outside_logs",
  "near_budgets",
] as const satisfies readonly (keyof typeof found)[]
export type AttentionKind = (typeof ATTENTION_KINDS)[number]

/** What is wrong with the log and with what it depends on. */
export const LOG_ATTENTION_KINDS: readonly AttentionKind[] = [
  "contradicting_witnesses",
  "not_ready",
  "clock_behind",
  "not_witnessed",
  "silent_witnesses",
  "failing_outside_logs",
  "late_outside_logs",
]

export const attentionAnswerSchema = v.strictObject({
  ok: v.literal(true),
  at: clockSchema,
  /** Entries of the log. Everything that is sealed makes it grow. */
  log_size: countSchema,
  /** The kinds that were looked for: those of what the caller sees. */
  asked: v.pipe(v.array(v.picklist(ATTENTION_KINDS)), v.maxLength(ATTENTION_KINDS.length)),
  found: v.strictObject(found),
})
/** `GET /attention`. */
export type AttentionAnswer = Shape<typeof attentionAnswerSchema>
