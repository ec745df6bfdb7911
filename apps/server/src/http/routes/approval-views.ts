/** What answers show of a request for an approval. docs/api.md, "Approvals". */
import { type AskedApprovalAnswer, approvalPage } from "@runseal/core/wire/approval-answers"
import type { Context } from "hono"
import { storedRequest } from "../../approval-service.ts"
import type { Deps } from "../../deps.ts"
import { type FoundApproval, findApproval } from "../../store/tables/approvals-table.ts"
import { keyCallerOf } from "../access/caller.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchApproval } from "../permit-query.ts"
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
  expires_at: new Date(found.expires_at).toISOString(),
  address: approvalAddress(c, deps, found.approval_id),
  request: storedRequest(found, deps.trust),
})
