/** What answers show of a request for an approval. docs/api.md, "Approvals". */
import { parseStrictJson } from "@runseal/canonical"
import { actSectionSchema, shownAct } from "@runseal/core/artifacts/act-section"
import {
  type ApprovalRecord,
  type ApprovalSummary,
  type AskedApprovalAnswer,
  approvalPage,
} from "@runseal/core/wire/approval-answers"
import type { Context } from "hono"
import * as v from "valibot"
import type { Deps } from "../../deps.ts"
import { storedRequest } from "../../sealing/stored-request.ts"
import { neededOf } from "../../store/tables/approval-decisions.ts"
import type { ListedApproval } from "../../store/tables/approval-lists.ts"
import {
  type ApprovalDecisionRow,
  approvalDecisionOf,
  type FoundApproval,
  findApproval,
} from "../../store/tables/approvals-table.ts"
import { keyCallerOf } from "../access/caller.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchApproval } from "../path-ids.ts"
import { serviceUrl } from "./addresses.ts"

/** The request of this id, of the key that asked for it. @throws HttpError 404 when there is none, also when it is another caller's */
export async function askersApproval(
  c: Context,
  { db, rememberStored }: Pick<Deps, "db" | "rememberStored">,
  approval_id: string,
): Promise<FoundApproval> {
  const found = await findApproval(db, approval_id)
  if (found === undefined || found.owner !== keyCallerOf(c).api_key_id) {
    await rememberStored()
    throw noSuchApproval()
  }
  await roomForAnswer(c, found.request.length)
  return found
}

const timestamp = (ms: number): string => new Date(ms).toISOString()

/** Where people decide on it. */
const approvalAddress = (c: Context, deps: Pick<Deps, "baseUrl">, approval_id: string): string =>
  `${serviceUrl(c, deps)}${approvalPage(approval_id)}`

/** The answer while people decide. */
export const askedAnswer = (
  c: Context,
  deps: Pick<Deps, "baseUrl" | "trust">,
  found: FoundApproval,
): AskedApprovalAnswer => ({
  ok: true,
  approval_id: found.approval_id,
  state: found.state,
  expires_at: timestamp(found.expires_at),
  address: approvalAddress(c, deps, found.approval_id),
  request: storedRequest(found, deps.trust),
})

function shownDecision(row: ApprovalDecisionRow): ApprovalSummary["decisions"][number] {
  const { person, comment_hash: _hash, passkey: _passkey, ...decision } = approvalDecisionOf(row)
  return { ...decision, ...person, ...(row.comment === "" ? {} : { comment: row.comment }) }
}

const withAct = v.object({ sections: v.object({ act: v.exactOptional(actSectionSchema) }) })

/** What was read of the payload, as it was sealed. */
function actOf({ request }: Pick<ListedApproval, "request">): Pick<ApprovalSummary, "act"> {
  const { act } = v.parse(withAct, parseStrictJson(request)).sections
  const read = act && shownAct(act)
  return read === undefined ? {} : { act: { table: read.table, values: read.values } }
}

/** @param decided what people decided of it */
export const approvalSummary = (row: ListedApproval, decided: readonly ApprovalDecisionRow[]): ApprovalSummary => ({
  approval_id: row.approval_id,
  state: row.state,
  requested_at: timestamp(row.requested_at),
  expires_at: timestamp(row.expires_at),
  tenant_id: row.tenant_id,
  program_id: row.program_id,
  route_id: row.route_id,
  audience: row.audience,
  ...(row.asked_by === "" ? {} : { asked_by: row.asked_by }),
  ...actOf(row),
  ...(row.end_user_subject === "" ? {} : { end_user: { issuer: row.end_user_issuer, subject: row.end_user_subject } }),
  needed: [...neededOf(row)],
  decisions: decided.map(shownDecision),
  ...(row.permit_id === "" ? {} : { permit_id: row.permit_id }),
  ...(row.run_id === 0 ? {} : { run_id: row.run_id }),
})

type RecordParts = {
  /** Absent where it is not shown, or not stored any more. */
  readonly payload: string | undefined
  /** Of the same act, the newest first. */
  readonly rejections: readonly ApprovalDecisionRow[]
  /** Absent where there is none, or where the caller does not see it. */
  readonly before: FoundApproval | undefined
}

/** `GET /approvals/{id}`. */
export const approvalRecord = (
  c: Context,
  deps: Pick<Deps, "baseUrl" | "trust">,
  found: FoundApproval,
  { payload, rejections, before }: RecordParts,
): ApprovalRecord => ({
  ok: true,
  ...approvalSummary(found, found.decided),
  request_digest: found.request_hash,
  request: storedRequest(found, deps.trust),
  address: approvalAddress(c, deps, found.approval_id),
  ...(payload === undefined ? {} : { payload }),
  rejections: rejections.map(row => ({ approval_id: row.approval_id, ...shownDecision(row) })),
  ...(before === undefined ? {} : { approved_before: approvedBefore(before) }),
})

const approvedBefore = (found: FoundApproval): NonNullable<ApprovalRecord["approved_before"]> => ({
  approval_id: found.approval_id,
  requested_at: timestamp(found.requested_at),
  ...actOf(found),
  decisions: found.decided.map(shownDecision),
})
