/** What people decide of a request for an approval: judged and written in one transaction, behind the lock of the request's row. */
import { canonicalize } from "@runseal/canonical"
import { APPROVAL_DECISIONS_MAX } from "@runseal/core/artifacts/approvals"
import type { Passkey } from "@runseal/core/artifacts/passkey"
import { type NeededApproval, neededApprovalSchema } from "@runseal/core/artifacts/sealed-sections"
import { commentHash } from "@runseal/core/formulas/moment"
import { approvalsSatisfy, isAsStrong, meetsProof } from "@runseal/core/vocabulary/approvals-satisfy"
import { APPROVER_GROUPS_MAX } from "@runseal/core/vocabulary/decision-codes"
import type { ApprovalState, ApproverDecision } from "@runseal/core/wire/approval-answers"
import { and, eq, ne } from "drizzle-orm"
import * as v from "valibot"
import type { Tx } from "../driver/session.ts"
import { type Acts, type NewAdminEvent, recordAdminEvent } from "./admin-events.ts"
import { api_key } from "./api-keys.ts"
import {
  type ApprovalDecisionRow,
  type ApprovalRow,
  approval,
  approval_decision,
  approvalDecisionOf,
  decisionsOf,
  lockApprovals,
} from "./approvals-table.ts"
import { countsFor, findPasskey } from "./passkeys-table.ts"

/** Who decides, as authentication found it. */
export type Approver = Pick<ApprovalDecisionRow, "subject" | "issuer" | "name" | "key_name" | "proof"> & {
  /** All that are known of the person. */
  readonly groups: readonly string[]
}

export type NewDecision = Pick<NewAdminEvent, "at" | "who"> & {
  readonly approver: Approver
  readonly decision: ApproverDecision
  /** The document that the person was shown. */
  readonly request_digest: string
  /** "" for none, as the salt. */
  readonly comment: string
  /** 64 hex digits. */
  readonly comment_salt: string
  /** What a passkey signed of this decision: its signature was verified. Exactly where the proof is `passkey`. */
  readonly passkey?: { readonly passkey_id: string; readonly signed: Passkey } | undefined
  /** Whether the payload can be shown: nobody approves what nobody can read. */
  readonly isReadable: (request: ApprovalRow) => boolean
}

/**
 * Why nothing was decided: the request is over or another one was shown; the payload cannot be shown any more; this person may not, or only with a
 * passkey; its passkey is not its own, does not count yet or is revoked; as many as are counted have decided; its approval counts as it was.
 */
export type Undecided =
  | "over"
  | "other_document"
  | "unreadable"
  | "not_an_approver"
  | "passkey_required"
  | "passkey_invalid"
  | "too_many"
  | "counted"

const neededList = v.array(neededApprovalSchema)
const names = v.array(v.string())
/** What the rules of a request require. */
export const neededOf = ({ needed }: Pick<ApprovalRow, "needed">): readonly NeededApproval[] =>
  v.parse(neededList, JSON.parse(needed))
/** The groups of a request or of a decision. */
export const groupsOf = ({ groups }: { readonly groups: string }): readonly string[] =>
  v.parse(names, JSON.parse(groups))

/**
 * Of the groups that rules name those by which a person counts, sorted. None: it may not decide. Of more than are sealed, those that the first rules
 * need come first: one for each rule. To reject, a person needs no proof that a rule asks for.
 */
function countedGroups(
  needed: readonly NeededApproval[],
  { groups, proof }: Pick<Approver, "groups" | "proof">,
  decision: ApproverDecision,
): readonly string[] {
  const had = new Set(groups)
  const found = needed
    .filter(({ proof: required }) => decision === "reject" || meetsProof(proof, required))
    .map(({ by }) => by.filter(group => had.has(group)))
  const first = found.flatMap(([one]) => one ?? [])
  return [...new Set([...first, ...found.flat()])].slice(0, APPROVER_GROUPS_MAX).toSorted()
}

/** A person who signed in has a group of a rule, but only with a passkey does it count. */
const needsPasskey = (needed: readonly NeededApproval[], { groups, proof }: Approver): boolean =>
  proof === "idp" && countedGroups(needed, { groups, proof: "passkey" }, "approve").length > 0

/** Whether the passkey, if there is one, signs for this person. */
async function passkeyCounts(tx: Tx, { passkey, approver, at }: NewDecision): Promise<boolean> {
  if (passkey === undefined) return true
  const row = await findPasskey(tx, passkey.passkey_id)
  return row !== undefined && countsFor(row, approver, at)
}

/**
 * Writes a decision, unless the same person made the same one before. While people decide, an approval with a stronger proof takes the place of one
 * with a weaker; a rejection takes that of any approval, and ends the request.
 * @returns why nothing was decided; undefined when the decision is there
 * @throws ActorRefused
 */
export function decideApproval(acts: Acts, approvalId: string, made: NewDecision): Promise<Undecided | undefined> {
  return acts.transaction(async tx => {
    await lockApprovals(tx, [approvalId])
    const [found] = await tx.orm.select().from(approval).where(eq(approval.approval_id, approvalId))
    if (found === undefined) return "over"
    const decided = await decisionsOf(tx, [approvalId])
    const { subject, proof } = made.approver
    const own = decided.find(row => row.subject === subject)
    if (made.request_digest !== found.request_hash) return "other_document"
    const isStronger = own?.decision === "approve" && !isAsStrong(own.proof, proof)
    if (own?.decision === made.decision && !isStronger) return undefined
    if (own?.decision === made.decision && found.state === "approved") return "counted"
    if ((found.state !== "waiting" && found.state !== "approved") || found.expires_at <= made.at) return "over"
    const needed = neededOf(found)
    if (subject === found.end_user_subject || (await isExcluded(tx, found, subject))) return "not_an_approver"
    if (!(await passkeyCounts(tx, made))) return "passkey_invalid"
    const groups = countedGroups(needed, made.approver, made.decision)
    if (groups.length === 0) return needsPasskey(needed, made.approver) ? "passkey_required" : "not_an_approver"
    if (made.decision === "approve" && !made.isReadable(found)) return "unreadable"
    // The last place is for a rejection.
    const most = made.decision === "approve" ? APPROVAL_DECISIONS_MAX - 1 : APPROVAL_DECISIONS_MAX
    if (own === undefined && decided.length >= most) return "too_many"
    const row = decisionRow(approvalId, made, groups, Math.max(made.at, found.requested_at, ...decided.map(timeOf)))
    const all = [...decided.filter(each => each !== own), row]
    await tx.orm
      .delete(approval_decision)
      .where(and(eq(approval_decision.approval_id, approvalId), eq(approval_decision.subject, subject)))
    await tx.orm.insert(approval_decision).values(row)
    await tx.orm
      .update(approval)
      .set({ state: stateAfter(needed, all), decisions: all.length })
      .where(eq(approval.approval_id, approvalId))
    await recordAdminEvent(tx, eventOf(row, made, found))
    return undefined
  })
}

const timeOf = ({ decided_at }: ApprovalDecisionRow): number => decided_at

function stateAfter(needed: readonly NeededApproval[], all: readonly ApprovalDecisionRow[]): ApprovalState {
  const decisions = all.map(approvalDecisionOf)
  if (decisions.some(({ decision }) => decision === "reject")) return "rejected"
  return approvalsSatisfy(needed, decisions) ? "approved" : "waiting"
}

/** Whether the key that asks names the person as one who may not approve. */
async function isExcluded({ orm }: Tx, { owner }: ApprovalRow, subject: string): Promise<boolean> {
  const [key] = await orm.select({ persons: api_key.persons }).from(api_key).where(eq(api_key.key_id, owner))
  return key !== undefined && key.persons !== "" && v.parse(names, JSON.parse(key.persons)).includes(subject)
}

const decisionRow = (
  approval_id: string,
  { approver, decision, comment, comment_salt, passkey }: NewDecision,
  groups: readonly string[],
  decided_at: number,
): ApprovalDecisionRow => ({
  approval_id,
  subject: approver.subject,
  issuer: approver.issuer,
  name: approver.name,
  key_name: approver.key_name,
  groups: canonicalize([...groups]),
  proof: approver.proof,
  decision,
  decided_at,
  comment_hash: comment === "" ? "" : commentHash(comment_salt, comment),
  comment,
  comment_salt,
  passkey: passkey === undefined ? "" : canonicalize(passkey.signed),
})

function eventOf(
  row: ApprovalDecisionRow,
  { at, who, request_digest, passkey }: NewDecision,
  { approval_id }: ApprovalRow,
): NewAdminEvent {
  const { comment_hash } = row
  return {
    at,
    who,
    action: `approval.${row.decision}`,
    subject: { kind: "approval", id: approval_id },
    after: {
      request_digest,
      person: row.subject,
      proof: row.proof,
      ...(comment_hash === "" ? {} : { comment_hash }),
      ...(passkey === undefined ? {} : { passkey_id: passkey.passkey_id }),
    },
  }
}

/**
 * Deletes what people wrote beside their decisions, with the salts: the hashes that are left name nothing then. Nothing happens where there is no comment.
 * @param subject whose comment; undefined: those of all people
 */
export function deleteComments(
  acts: Acts,
  approvalId: string,
  subject: string | undefined,
  act: Pick<NewAdminEvent, "at" | "who">,
): Promise<void> {
  return acts.transaction(async tx => {
    const ofOne = subject === undefined ? undefined : eq(approval_decision.subject, subject)
    const deleted = await tx.orm
      .update(approval_decision)
      .set({ comment: "", comment_salt: "" })
      .where(and(eq(approval_decision.approval_id, approvalId), ne(approval_decision.comment, ""), ofOne))
      .returning({ subject: approval_decision.subject })
    if (deleted.length === 0) return
    const after = { deleted: deleted.length }
    const event = { action: "approval.delete_comments", subject: { kind: "approval", id: approvalId } } as const
    await recordAdminEvent(tx, { ...act, ...event, after })
  })
}
