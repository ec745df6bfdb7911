/**
 * Requests for an approval, and what people decided. A row is written in the transaction that seals the request. Decisions and withdrawals change
 * it in theirs, and so does the batch that seals how it ended: all hold the lock of the log's head.
 */
import type { ApprovalDecision } from "@runseal/core/artifacts/approvals"
import { passkeySchema } from "@runseal/core/artifacts/passkey"
import type { DecisionProof } from "@runseal/core/vocabulary/approvals-satisfy"
import {
  type ApprovalState,
  type ApproverDecision,
  COMPARED_REQUESTS_MAX,
  REJECTIONS_MAX,
} from "@runseal/core/wire/approval-answers"
import { sql as fragment } from "drizzle-orm"
import { check, index, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import * as v from "valibot"
import { insertRows, type Sink, type Source, type Tx } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import { bytea, number, type RowOf } from "./column-types.ts"

export const approval = pgTable(
  "approval",
  {
    approval_id: text().primaryKey(),
    /** Id of the API key that asks; 0 = anonymous. */
    owner: number(),
    tenant_id: text().notNull(),
    /** Of its sealed document. */
    log_index: number(),
    state: text().$type<ApprovalState>().notNull(),
    /** Milliseconds since the epoch, as are all times here. */
    requested_at: number(),
    /** From then on nobody can approve or collect it. */
    expires_at: number(),
    /** Hash of the sealed document: what a decision names. */
    request_hash: text().notNull(),
    /** Secret from which the salts of its declared sections come, 64 hex digits; never shown. */
    seed: text().notNull(),
    program_id: text().notNull(),
    route_id: text().notNull(),
    /** Who is to act. */
    audience: text().notNull(),
    /** This and the next: "" without an end user. */
    end_user_subject: text().notNull(),
    end_user_issuer: text().notNull(),
    /** What the rules require, as `needed` of the sealed evaluation: a JSON list. */
    needed: text().notNull(),
    /** Every group that one of its rules names, once: a JSON list. */
    groups: text().notNull(),
    /** The same for the same payload, route and tenant. */
    act_digest: text().notNull(),
    /** Encrypted under the key of a day; no bytes once it ended. */
    payload: bytea().notNull(),
    /** That day, in days since the epoch. */
    payload_key_day: number(),
    /** How many persons have decided. */
    decisions: number(),
    /** "" while there is none, and after a refusal. */
    permit_id: text().notNull(),
    /** The run that was refused instead; 0 while there is none. */
    run_id: number(),
    /** When its end was sealed; 0 until then. */
    ended_at: number(),
  },
  table => [
    index("approval_requested").on(table.requested_at, table.approval_id),
    index("approval_owner_requested").on(table.owner, table.requested_at, table.approval_id),
    index("approval_act").on(table.act_digest),
    // The few that have not ended: those that are due, and those that count for a limit.
    index("approval_due").on(table.expires_at).where(fragment`${table.ended_at} = 0`),
    index("approval_open_owner").on(table.owner).where(fragment`${table.ended_at} = 0`),
    index("approval_open_end_user").on(table.end_user_subject).where(fragment`${table.ended_at} = 0`),
    check("approval_ended", fragment`(${table.ended_at} > 0) = (${table.state} in ('collected', 'refused'))`),
    check("approval_payload_gone", fragment`${table.ended_at} = 0 or octet_length(${table.payload}) = 0`),
  ],
)

export type ApprovalRow = RowOf<typeof approval>

/** What one person decided: a person counts once. */
export const approval_decision = pgTable(
  "approval_decision",
  {
    approval_id: text().notNull(),
    /** Of the person, as the identity provider or the key names it. */
    subject: text().notNull(),
    /** Of the person's identity provider; "" for a key, which names a subject alone. */
    issuer: text().notNull(),
    /** "" without one. */
    name: text().notNull(),
    /** Name of the key; "" for a sign-in. */
    key_name: text().notNull(),
    /** Those that a rule of the request names and the person had then: a JSON list. */
    groups: text().notNull(),
    proof: text().$type<DecisionProof>().notNull(),
    decision: text().$type<ApproverDecision>().notNull(),
    /** Milliseconds since the epoch. */
    decided_at: number(),
    /** What is sealed of the comment: a hash under the salt, 64 hex digits; "" without a comment. */
    comment_hash: text().notNull().default(""),
    /** This and the next are "" without a comment, and once it is deleted. */
    comment: text().notNull(),
    /** Of the comment's hash, 64 hex digits. */
    comment_salt: text().notNull(),
    /** What a passkey signed of it, as it is sealed: RFC 8785 text; "" without one. */
    passkey: text().notNull().default(""),
  },
  table => [
    primaryKey({ columns: [table.approval_id, table.subject] }),
    check("approval_decision_decision", fragment`${table.decision} in ('approve', 'reject')`),
  ],
)

export type ApprovalDecisionRow = RowOf<typeof approval_decision>

/** Stores requests that were sealed. */
export const insertApprovals = (tx: Tx, approvals: readonly ApprovalRow[]): Promise<void> =>
  insertRows(tx, approval, approvals)

/** What is judged again behind the lock. */
export type LockedApproval = Pick<ApprovalRow, "approval_id" | "state" | "expires_at" | "decisions">

/** Locks requests until the transaction ends, always in the same order; no statement for none. The ids are an array: see `lockPermits`. */
export async function lockApprovals(
  { sql }: Tx,
  approvalIds: readonly string[],
): Promise<ReadonlyMap<string, LockedApproval>> {
  if (approvalIds.length === 0) return new Map()
  const rows = await sql<LockedApproval[]>`
    select approval_id, state, expires_at, decisions from approval
    where approval_id = any(array(select json_array_elements_text(${JSON.stringify(approvalIds)}::text::json)))
    order by approval_id collate "C"
    for update`
  return new Map(rows.map(row => [row.approval_id, row]))
}

/** How a request ended. */
export type EndedApproval = Pick<ApprovalRow, "approval_id" | "permit_id" | "run_id" | "ended_at"> & {
  readonly state: Extract<ApprovalState, "collected" | "refused">
}

/** Writes how requests ended that this transaction has locked and found not ended. Their payloads are removed; what people wrote stays. */
export async function endApprovals(sink: Sink, ended: readonly EndedApproval[]): Promise<void> {
  if (ended.length === 0) return
  await sink.write(
    ({ sql }) => sql`
      with next as (
        select * from json_to_recordset(${JSON.stringify(ended)}::text::json)
          as ended(approval_id text, state text, permit_id text, run_id bigint, ended_at bigint)
      )
      update approval set state = next.state, permit_id = next.permit_id, run_id = next.run_id, ended_at = next.ended_at,
        payload = ''::bytea
      from next
      where approval.approval_id = next.approval_id and approval.approval_id = any(array(select approval_id from next))`,
  )
}

/** A request whose end is to be sealed. */
export type DueApproval = Pick<ApprovalRow, "approval_id" | "owner" | "tenant_id" | "state" | "expires_at">

/** A place in their order. */
export type DuePlace = Pick<ApprovalRow, "expires_at" | "approval_id">
const FIRST_DUE: DuePlace = { expires_at: -1, approval_id: "" }

/**
 * The requests that are over and have not ended: rejected, withdrawn, or not collected in time; those with the earliest end first.
 * @param place of the last one that was found before: those behind it
 * @param now milliseconds since the epoch; where the log's time is later, that counts: a clock that steps back extends nothing
 */
export function findDueApprovals(
  source: Source,
  now: number,
  limit: number,
  { expires_at: after, approval_id }: DuePlace = FIRST_DUE,
): Promise<readonly DueApproval[]> {
  return source.read(
    async ({ sql }) => sql<DueApproval[]>`
      select approval_id, owner, tenant_id, state, expires_at from approval
      where ended_at = 0 and (state in ('rejected', 'withdrawn')
        or expires_at <= greatest(${now}::bigint, (select log_time * 1000 from log_head)))
        and (expires_at, approval_id collate "C") > (${after}::bigint, ${approval_id}::text collate "C")
      order by expires_at, approval_id collate "C" limit ${limit}::bigint`,
  )
}

/** A request with its sealed document, as RFC 8785 text, and what people decided, the first first. */
export type FoundApproval = ApprovalRow & {
  /** Name of the key that asked; "" for a caller without one. */
  readonly asked_by: string
  readonly request: string
  readonly decided: readonly ApprovalDecisionRow[]
}

/** The request of this id; undefined when there is none. Both statements are one read: a decision may come between them, and is then there. */
export function findApproval(source: Source, approvalId: string): Promise<FoundApproval | undefined> {
  return source.read(async session => {
    const [found] = await session.sql<(Omit<FoundApproval, "request" | "decided"> & { readonly packed: Uint8Array })[]>`
      select approval.*, document.packed, coalesce(api_key.name, '') as asked_by
      from approval join document using (log_index) left join api_key on api_key.key_id = approval.owner
      where approval_id = ${approvalId}::text`
    if (found === undefined) return undefined
    const { packed, ...row } = found
    return { ...row, request: unpackBundle(packed), decided: await decisionsOf(session, [approvalId]) }
  })
}

/**
 * The newest request before this one of the same key and route that people approved and for which a permit was given; undefined where there is none
 * among the last `COMPARED_REQUESTS_MAX` of the key.
 * @param groups only one with a rule that names one of these; undefined: any
 */
export async function approvedBefore(
  source: Source,
  { owner, route_id, requested_at, approval_id }: ApprovalRow,
  groups: readonly string[] | undefined,
): Promise<FoundApproval | undefined> {
  const among = groups === undefined ? "" : JSON.stringify(groups)
  const [before] = await source.read(
    async ({ sql }) => sql<Pick<ApprovalRow, "approval_id">[]>`
      select approval_id from (
        select approval_id, requested_at, route_id, state, groups from approval
        where owner = ${owner}::bigint and (requested_at, approval_id) < (${requested_at}::bigint, ${approval_id}::text)
        order by requested_at desc, approval_id desc limit ${COMPARED_REQUESTS_MAX}
      ) as earlier
      where route_id = ${route_id}::text and state = 'collected' and (${among}::text = ''
        or exists (select from json_array_elements_text(groups::json) as named(name)
          where name in (select json_array_elements_text(nullif(${among}::text, '')::json))))
      order by requested_at desc, approval_id desc limit 1`,
  )
  return before && findApproval(source, before.approval_id)
}

/** What people decided of these requests, the first first; no statement for none. */
export function decisionsOf(source: Source, approvalIds: readonly string[]): Promise<readonly ApprovalDecisionRow[]> {
  if (approvalIds.length === 0) return Promise.resolve([])
  return source.read(
    async ({ sql }) => sql<ApprovalDecisionRow[]>`
      select * from approval_decision
      where approval_id = any(array(select json_array_elements_text(${JSON.stringify(approvalIds)}::text::json)))
      order by approval_id collate "C", decided_at, subject collate "C"`,
  )
}

/** How many requests have not ended. */
export type WaitingApprovals = {
  /** Of the key. */
  readonly key: number
  /** Of the end user, over all keys; 0 without an end user. */
  readonly end_user: number
}

/** @param endUserSubject "" without an end user */
export function countWaiting(source: Source, owner: number, endUserSubject: string): Promise<WaitingApprovals> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<WaitingApprovals[]>`
      select (select count(*) from approval where owner = ${owner}::bigint and ended_at = 0) as key,
        (select count(*) from approval
          where end_user_subject = ${endUserSubject}::text and end_user_subject <> '' and ended_at = 0) as end_user`
    return row ?? { key: 0, end_user: 0 }
  })
}

/** The request that waits for the same act, or that is to be collected; undefined where there is none. */
export function waitingForAct(source: Source, actDigest: string): Promise<string | undefined> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<{ approval_id: string }[]>`
      select approval_id from approval where act_digest = ${actDigest}::text and ended_at = 0 limit 1`
    return row?.approval_id
  })
}

/** Withdraws a request, behind the lock of the log's head. @returns whether it was there and not over */
export async function withdrawApproval({ sql }: Tx, approvalId: string, now: number): Promise<boolean> {
  const rows = await sql`
    update approval set state = 'withdrawn'
    where approval_id = ${approvalId}::text and state in ('waiting', 'approved') and expires_at > ${now}::bigint
    returning approval_id`
  return rows.length > 0
}

/** Withdraws all requests that have not ended: of a key that is revoked, or of all keys where decisions may have been lost. */
export async function withdrawApprovals({ sql }: Tx, owner?: number): Promise<void> {
  await sql`
    update approval set state = 'withdrawn'
    where state in ('waiting', 'approved') and (${owner ?? -1}::bigint = -1 or owner = ${owner ?? -1}::bigint)`
}

/** What one person decided, as it is sealed. */
export function approvalDecisionOf(row: ApprovalDecisionRow): ApprovalDecision {
  const { decision, issuer, subject, name, key_name, groups, proof, decided_at, comment_hash, passkey } = row
  return {
    decision,
    person: { ...(issuer === "" ? {} : { issuer }), subject, ...(name === "" ? {} : { name }) },
    ...(key_name === "" ? {} : { key_name }),
    groups: v.parse(v.array(v.string()), JSON.parse(groups)).toSorted(),
    proof,
    decided_at: new Date(decided_at).toISOString(),
    ...(comment_hash === "" ? {} : { comment_hash }),
    ...(passkey === "" ? {} : { passkey: v.parse(passkeySchema, JSON.parse(passkey)) }),
  }
}

/** The newest rejections of an act that came at this time or later, the newest first. @param since milliseconds since the epoch */
export function rejectedSince(
  source: Source,
  actDigest: string,
  since: number,
): Promise<readonly ApprovalDecisionRow[]> {
  return source.read(
    async ({ sql }) => sql<ApprovalDecisionRow[]>`
      select approval_decision.* from approval join approval_decision using (approval_id)
      where act_digest = ${actDigest}::text and decision = 'reject' and decided_at >= ${since}::bigint
      order by decided_at desc, approval_id collate "C" limit ${REJECTIONS_MAX}`,
  )
}
