/**
 * What persons decided of a request for an approval, and how the request ended: in the opening of a permit, or in a refused run. It can be
 * withheld as the declared sections can; no kernel reads it. docs/formats.md section 2.8.
 */
import * as v from "valibot"
import { DECISION_PROOFS } from "../vocabulary/approvals-satisfy.ts"
import {
  APPROVER_GROUPS_MAX,
  approverGroupSchema,
  type PepgReasonCode,
  type PolicyReasonCode,
} from "../vocabulary/decision-codes.ts"
import { ACTOR_NAME_MAX_LENGTH, clockSchema, lineSchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"
import { endUserTextSchema } from "./end-user.ts"
import { passkeySchema } from "./passkey.ts"

/** `apr-` and 32 hex digits. */
export const approvalIdSchema = v.pipe(v.string(), v.regex(/^apr-[0-9a-f]{32}$/, "must be apr- and 32 hex digits"))

/** How a request can end: approved by enough persons and collected, or one of the four ways in which nothing is permitted. */
export const APPROVAL_OUTCOMES = ["approved", "rejected", "expired", "unused", "withdrawn"] as const
export type ApprovalOutcome = (typeof APPROVAL_OUTCOMES)[number]

/** Reason of a refusal after a request that ended without its approval. */
export const ENDED_REASONS = {
  rejected: "APPROVAL_REJECTED",
  expired: "APPROVAL_EXPIRED",
  unused: "APPROVAL_UNUSED",
  withdrawn: "APPROVAL_WITHDRAWN",
} as const satisfies Record<Exclude<ApprovalOutcome, "approved">, PolicyReasonCode>
const ENDED: readonly string[] = Object.values(ENDED_REASONS)
export const isEndedReason = (code: PepgReasonCode): boolean => ENDED.includes(code)

/** Most persons whose decisions one request holds. */
export const APPROVAL_DECISIONS_MAX = 64
const APPROVALS_KIND = "vfa.approvals.v1"
const kind = v.literal(APPROVALS_KIND)

export const approvalDecisionSchema = v.strictObject({
  decision: v.picklist(["approve", "reject"]),
  person: v.strictObject({
    /** The identity provider; absent where an operator's key names the person. */
    issuer: v.exactOptional(endUserTextSchema),
    subject: endUserTextSchema,
    /** As the identity provider gave it; for people. */
    name: v.exactOptional(lineSchema(ACTOR_NAME_MAX_LENGTH)),
  }),
  /** The API key that decided for the person: its operator's word. */
  key_name: v.exactOptional(lineSchema(ACTOR_NAME_MAX_LENGTH)),
  /** Of the groups that the rules name those that the person had, sorted. */
  groups: v.pipe(v.array(approverGroupSchema), v.minLength(1), v.maxLength(APPROVER_GROUPS_MAX)),
  /** `passkey`: a sign-in at the identity provider, and a signature of the person's own key. `idp`: a sign-in alone. `key`: an API key. */
  proof: v.picklist(DECISION_PROOFS),
  decided_at: clockSchema,
  /** HMAC-SHA-256 of the comment under a salt that is stored beside it. */
  comment_hash: v.exactOptional(sha256Schema),
  /** Whose signature is over this decision and the act. */
  passkey: v.exactOptional(passkeySchema),
})
/** What one person decided. */
export type ApprovalDecision = Shape<typeof approvalDecisionSchema>

const contentEntries = {
  approval_id: approvalIdSchema,
  /** Of the sealed request: what the persons decided on. */
  request_hash: sha256Schema,
  requested_at: clockSchema,
  expires_at: clockSchema,
  outcome: v.picklist(APPROVAL_OUTCOMES),
  /** One a person, in the order in which they were made. */
  decisions: v.pipe(v.array(approvalDecisionSchema), v.maxLength(APPROVAL_DECISIONS_MAX)),
}
const contentSchema = v.strictObject(contentEntries)
/** What the section holds beside kind, salt and hash. */
export type GivenApprovals = Shape<typeof contentSchema>

const shownApprovalsSchema = v.strictObject({
  kind,
  /** Keeps withheld persons from being guessed from the hash: 64 hex, derived from a seed that is never shown. */
  salt: sha256Schema,
  ...contentEntries,
  hash: sha256Schema,
})
const withheldApprovalsSchema = v.strictObject({ kind, withheld: v.literal(true), hash: sha256Schema })

export type ShownApprovals = Shape<typeof shownApprovalsSchema>
export type ApprovalsSection = ShownApprovals | Shape<typeof withheldApprovalsSchema>
export const approvalsSectionSchema: v.GenericSchema<unknown, ApprovalsSection> = v.union([
  shownApprovalsSchema,
  withheldApprovalsSchema,
])

/** The section's shown form; undefined when it is withheld. */
export const shownApprovals = (section: ApprovalsSection): ShownApprovals | undefined =>
  "withheld" in section ? undefined : section

/**
 * Who decided what, when, and how that is proven, as reports and pages show it in one line.
 * @param isInLog whether the document is in a log: a passkey's signature names that log, and of a document in none it was not checked
 */
export function decisionText(
  { decision, person, key_name, groups, proof, decided_at }: ApprovalDecision,
  isInLog: boolean,
): string {
  const who = `${person.subject} (${groups.join(", ")})`
  const how = {
    key: `by the API key ${key_name}, as its operator says`,
    idp: `signed in at ${person.issuer}`,
    passkey: `signed in at ${person.issuer}, and ${isInLog ? "signed with a passkey" : "with a passkey whose signature was not checked"}`,
  }[proof]
  return `${decision === "approve" ? "approved" : "rejected"} by ${who} at ${decided_at}, ${how}`
}
